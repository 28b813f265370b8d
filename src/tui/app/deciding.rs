//! What can be decided where the operator is, since when it is on the screen, and what was typed for it.

use super::asked::{Answer, Asked};
use super::place::Place;
use super::{ARMING_MS, MAX_ASKED, MAX_DRAFTS, Model};
use crate::ledger::read::{DriftRow, OverruleRow, SpinRow};
use crate::model::{ApprovalId, Seq};
use crate::tui::amend::Proposal;

impl Model {
    /// The difference under the cursor.
    pub fn difference(&self) -> Option<&DriftRow> {
        let list = self.list();
        let target = list.target()?;
        self.snapshot
            .drift
            .iter()
            .find(|row| row.item.as_str() == target)
    }

    /// The changed goal file shown, once it was read and is an amendment.
    pub fn proposal(&self) -> Option<&Proposal> {
        match &self.amendment.as_ref()?.read {
            Some(Ok(proposal)) => Some(proposal),
            _ => None,
        }
    }

    /// The alarm of spinning that an alert tells of: the two are written one after the other.
    pub fn spin_of(&self, alert: Seq) -> Option<&SpinRow> {
        let row = self.snapshot.alerts.iter().find(|row| row.seq == alert)?;
        let mut spins = self.snapshot.spins.iter();
        (row.rule == "spin")
            .then(|| spins.find(|one| one.job == row.job && one.seq < row.seq))
            .flatten()
    }

    /// The word in force that such an alarm is none.
    pub fn overrule_of(&self, spin: &SpinRow) -> Option<&OverruleRow> {
        self.snapshot.overrules.iter().find(|one| {
            one.ended_at.is_none()
                && one.rule == spin.rule
                && (one.job.is_none() || one.job == spin.job)
        })
    }

    /// What the decision keys of this view would decide, as it is now; when it changes they die again.
    pub fn deciding(&self) -> Option<String> {
        match self.stack.last()? {
            Place::Card(_) => {
                let request = self.request()?;
                Some(format!("{} {}", request.approval, request.digest.0))
            }
            Place::Drift => {
                let open = self.snapshot.drift.iter().filter(|row| row.state == "open");
                let open: Vec<&str> = open.map(|row| row.item.as_str()).collect();
                (!open.is_empty()).then(|| open.join(" "))
            }
            Place::Amendment => {
                let proposal = self.proposal()?;
                Some(format!("{} {:?}", proposal.base.0, proposal.act))
            }
            _ => None,
        }
    }

    /// Milliseconds until the decision keys live; `None` when they do.
    pub fn arming_left(&self) -> Option<u64> {
        let deciding = self.deciding()?;
        let since = match &self.drawn {
            Some((what, since)) if *what == deciding => *since,
            _ => return Some(ARMING_MS),
        };
        let left = (since + ARMING_MS).saturating_sub(self.now.ms);
        (left > 0).then_some(left)
    }

    /// The last thing asked here about a request that was not refused.
    pub fn asked_about(&self, approval: &ApprovalId) -> Option<&Asked> {
        self.asked.iter().rev().find(|asked| {
            asked.approval.as_ref() == Some(approval) && !matches!(asked.answer, Answer::Refused(_))
        })
    }

    /// Keeps what was typed for something, until it is asked for again; an empty text forgets it.
    pub fn keep_draft(&mut self, what: &str, text: &str) {
        self.drafts.retain(|(known, _)| known != what);
        if !text.trim().is_empty() {
            self.drafts.push((what.to_owned(), text.to_owned()));
        }
        let extra = self.drafts.len().saturating_sub(MAX_DRAFTS);
        self.drafts.drain(..extra);
    }

    /// What was typed for something before.
    pub fn draft(&self, what: &str) -> &str {
        let found = self.drafts.iter().find(|(known, _)| known == what);
        found.map_or("", |(_, text)| text)
    }

    /// Remembers something asked.
    pub(super) fn remember(
        &mut self,
        what: String,
        approval: Option<ApprovalId>,
        typed: Option<(String, String)>,
    ) -> u64 {
        let local = self.next_local;
        self.next_local += 1;
        self.asked.push(Asked {
            local,
            id: None,
            what,
            approval,
            typed,
            answer: Answer::Pending,
            at_ms: self.now.ms,
        });
        let extra = self.asked.len().saturating_sub(MAX_ASKED);
        self.asked.drain(..extra);
        local
    }
}
