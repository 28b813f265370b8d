//! A line diff, for configs.

/// One line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// In both.
    Same(String),
    /// Only in the old text.
    Removed(String),
    /// Only in the new text.
    Added(String),
}

/// Cells of the comparison table at most; larger texts are shown as replaced as a whole.
const MAX_CELLS: usize = 4_000_000;

/// The shortest list of changes that turns `old` into `new`, line by line.
pub fn lines(old: &str, new: &str) -> Vec<Change> {
    let a: Vec<&str> = old.lines().collect();
    let b: Vec<&str> = new.lines().collect();
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let room = a.len().min(b.len()) - head;
    let tail = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take(room)
        .take_while(|(x, y)| x == y)
        .count();
    let middle_a = a.get(head..a.len() - tail).unwrap_or(&[]);
    let middle_b = b.get(head..b.len() - tail).unwrap_or(&[]);
    let same = |text: &&str| Change::Same((*text).to_owned());
    let mut out: Vec<Change> = a.iter().take(head).map(same).collect();
    out.extend(between(middle_a, middle_b));
    out.extend(a.iter().skip(a.len() - tail).map(same));
    out
}

fn between(a: &[&str], b: &[&str]) -> Vec<Change> {
    let removed = |text: &&str| Change::Removed((*text).to_owned());
    let added = |text: &&str| Change::Added((*text).to_owned());
    if a.is_empty() || b.is_empty() || a.len().saturating_mul(b.len()) > MAX_CELLS {
        return a.iter().map(removed).chain(b.iter().map(added)).collect();
    }
    // common[i][j]: longest common run of a[i..] and b[j..].
    let columns = b.len() + 1;
    let mut common = vec![0_u32; (a.len() + 1) * columns];
    let cell = |i: usize, j: usize| i * columns + j;
    let get = |table: &[u32], i, j| table.get(cell(i, j)).copied().unwrap_or(0);
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            let value = if x == y {
                get(&common, i + 1, j + 1) + 1
            } else {
                get(&common, i + 1, j).max(get(&common, i, j + 1))
            };
            if let Some(slot) = common.get_mut(cell(i, j)) {
                *slot = value;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x == y {
            out.push(Change::Same((*x).to_owned()));
            i += 1;
            j += 1;
        } else if get(&common, i + 1, j) >= get(&common, i, j + 1) {
            out.push(removed(x));
            i += 1;
        } else {
            out.push(added(y));
            j += 1;
        }
    }
    out.extend(a.iter().skip(i).map(removed));
    out.extend(b.iter().skip(j).map(added));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_old_side_and_the_new_side_can_be_read_back(
            old in proptest::collection::vec("[ab]{0,2}", 0..12),
            new in proptest::collection::vec("[ab]{0,2}", 0..12),
        ) {
            let changes = lines(&old.join("\n"), &new.join("\n"));
            let side = |skip_added: bool| -> Vec<String> {
                changes.iter().filter_map(|change| match change {
                    Change::Same(text) => Some(text.clone()),
                    Change::Removed(text) => skip_added.then(|| text.clone()),
                    Change::Added(text) => (!skip_added).then(|| text.clone()),
                }).collect()
            };
            let lines_of = |all: &[String]| all.join("\n").lines().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(side(true), lines_of(&old));
            prop_assert_eq!(side(false), lines_of(&new));
        }
    }

    #[test]
    fn an_unchanged_line_stays() {
        assert_eq!(
            lines("a\nb\nc", "a\nx\nc"),
            [
                Change::Same("a".into()),
                Change::Removed("b".into()),
                Change::Added("x".into()),
                Change::Same("c".into())
            ]
        );
    }
}
