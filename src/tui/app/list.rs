//! A cursor that holds an identity, never a row number.

use crate::model::JobId;

/// The identities of a list, in the order shown.
#[derive(Debug, Clone)]
pub enum Ids<'a> {
    /// Jobs, as the ledger gave them; perhaps 100,000.
    Jobs(&'a [JobId]),
    /// Anything else.
    Own(Vec<String>),
}

impl Ids<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Jobs(ids) => ids.len(),
            Self::Own(ids) => ids.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The identity in a row.
    pub fn at(&self, row: usize) -> Option<&str> {
        match self {
            Self::Jobs(ids) => ids.get(row).map(JobId::as_str),
            Self::Own(ids) => ids.get(row).map(String::as_str),
        }
    }

    fn find(&self, id: &str, hint: usize) -> Option<usize> {
        if self.at(hint) == Some(id) {
            return Some(hint);
        }
        match self {
            Self::Jobs(ids) => ids.iter().position(|one| one.as_str() == id),
            Self::Own(ids) => ids.iter().position(|one| one == id),
        }
    }
}

/// Cursor and window of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListState {
    /// What is under the cursor, by identity.
    pub selected: Option<String>,
    /// Where that was last seen; where the cursor goes on from when it is gone.
    pub row: usize,
    /// First row shown.
    pub offset: usize,
    /// The selected identity is no longer in the list.
    pub gone: bool,
    /// The cursor stays at the end as the list grows.
    pub follow: bool,
}

impl ListState {
    /// Fits the cursor to a list that may have changed, and the window to the cursor.
    pub fn settle(&mut self, ids: &Ids<'_>, height: usize) {
        if self.follow && !ids.is_empty() {
            self.select_row(ids, ids.len() - 1);
        }
        match self.selected.as_deref() {
            None => {
                if !ids.is_empty() {
                    self.select_row(ids, self.row.min(ids.len() - 1));
                }
            }
            Some(id) => match ids.find(id, self.row) {
                Some(row) => {
                    self.row = row;
                    self.gone = false;
                }
                None => self.gone = true,
            },
        }
        self.row = self.row.min(ids.len().saturating_sub(1));
        let height = height.max(1);
        if self.row < self.offset {
            self.offset = self.row;
        } else if self.row >= self.offset + height {
            self.offset = self.row + 1 - height;
        }
        self.offset = self.offset.min(ids.len().saturating_sub(height));
    }

    /// Moves the cursor by rows. From an identity that is gone, it takes the row where that was.
    pub fn step(&mut self, ids: &Ids<'_>, by: isize) {
        if ids.is_empty() {
            return;
        }
        let last = ids.len() - 1;
        let from = self.row.min(last) as isize;
        let to = if self.gone && by > 0 {
            from + by - 1
        } else {
            from + by
        };
        self.follow = false;
        self.select_row(ids, to.clamp(0, last as isize) as usize);
    }

    /// Puts the cursor on a row's identity.
    pub fn select_row(&mut self, ids: &Ids<'_>, row: usize) {
        if let Some(id) = ids.at(row) {
            self.selected = Some(id.to_owned());
            self.row = row;
            self.gone = false;
        }
    }

    /// Puts the cursor on an identity; where it stands is found by the next settling.
    pub fn select(&mut self, id: &str) {
        self.selected = Some(id.to_owned());
        self.gone = false;
        self.follow = false;
    }

    /// What an action would hit: nothing when the selected identity is gone.
    pub fn target(&self) -> Option<&str> {
        if self.gone {
            return None;
        }
        self.selected.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Happening {
        Shuffle(u64),
        Insert(usize, u16),
        Delete(usize),
        Move(i8),
    }

    fn happening() -> impl Strategy<Value = Happening> {
        prop_oneof![
            any::<u64>().prop_map(Happening::Shuffle),
            (0..40_usize, 100..999_u16).prop_map(|(at, id)| Happening::Insert(at, id)),
            (0..40_usize).prop_map(Happening::Delete),
            (-9..9_i8).prop_map(Happening::Move),
        ]
    }

    proptest! {
        /// Requirement 5.
        #[test]
        fn requirement_05_between_keys_the_target_stays_or_is_said_to_be_gone(
            steps in proptest::collection::vec(happening(), 1..40),
            height in 1..12_usize,
        ) {
            let mut ids: Vec<String> = (0..20).map(|n| format!("job{n}")).collect();
            let mut list = ListState::default();
            list.settle(&Ids::Own(ids.clone()), height);
            for step in steps {
                let before = list.target().map(str::to_owned);
                let moved = matches!(step, Happening::Move(_));
                match step {
                    Happening::Shuffle(seed) => ids.sort_by_key(|id| {
                        crate::model::digest_bytes(format!("{seed}{id}").as_bytes())
                    }),
                    Happening::Insert(at, id) => {
                        let id = format!("new{id}");
                        if !ids.contains(&id) {
                            ids.insert(at.min(ids.len()), id);
                        }
                    }
                    Happening::Delete(at) if !ids.is_empty() => {
                        ids.remove(at % ids.len());
                    }
                    Happening::Delete(_) => {}
                    Happening::Move(by) => list.step(&Ids::Own(ids.clone()), by.into()),
                }
                list.settle(&Ids::Own(ids.clone()), height);
                if !moved && let Some(before) = before {
                    match list.target() {
                        Some(now) => prop_assert_eq!(now, &before),
                        None => prop_assert!(list.gone && !ids.contains(&before)),
                    }
                }
                if let Some(target) = list.target() {
                    prop_assert_eq!(&ids[list.row], target);
                    prop_assert!(list.row >= list.offset && list.row < list.offset + height);
                }
            }
        }
    }

    #[test]
    fn a_cursor_on_something_gone_has_no_target_until_it_moves() {
        let mut list = ListState::default();
        let ids = Ids::Own(vec!["a".into(), "b".into(), "c".into()]);
        list.settle(&ids, 5);
        list.step(&ids, 1);
        let less = Ids::Own(vec!["a".into(), "c".into()]);
        list.settle(&less, 5);
        assert_eq!((list.target(), list.gone), (None, true));
        list.step(&less, 1);
        assert_eq!(list.target(), Some("c"));
    }
}
