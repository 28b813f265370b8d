//! People who amend the contract, make room in a budget, or overrule an alarm.

use super::goal::{self, OWNER, STRANGER};
use super::law::{Change, Law};
use super::people::People;
use crate::ledger::{Act, Ledger, LedgerError};
use crate::model::{Digest, JobId, Seq, TimeMs, WaitKind, digest_bytes};

impl People {
    /// Amends: mostly as the owner and upon the version in force.
    pub(super) fn amend_some(
        &mut self,
        change: Change,
        pick: u64,
        office: &mut Ledger,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let Some(law) = self.law_in_force(office)? else {
            return Ok(());
        };
        let new = law.changed(change, pick, &self.scenario);
        if new == law {
            return Ok(());
        }
        match pick % 10 {
            0 => self.amend(office, "amend as a stranger", new, STRANGER, false, at),
            1 => self.amend(office, "amend what was", new, OWNER, true, at),
            _ => self.amend(office, name(change), new, OWNER, false, at),
        }
    }

    fn law_in_force(&self, office: &Ledger) -> Result<Option<Law>, LedgerError> {
        let row = office.read().contract(&self.goal)?;
        Ok(row.and_then(|row| self.laws.get(&row.digest).cloned()))
    }

    fn amend(
        &mut self,
        office: &mut Ledger,
        act: &'static str,
        law: Law,
        who: &str,
        stale: bool,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let Some(row) = office.read().contract(&self.goal)? else {
            return Ok(());
        };
        let text = goal::text(&self.scenario, &law);
        let goal = goal::parse(&text)
            .map_err(|error| LedgerError::Refused(format!("an amendment is no goal: {error}")))?;
        let digest = digest_bytes(text.as_bytes());
        let amend = Act::Amend {
            from: row.version,
            base: match stale {
                true => Digest("0".repeat(64)),
                false => row.digest,
            },
            contract: goal.contract.digest.clone(),
            text: digest.clone(),
            base_dir: goal.base_dir.display().to_string(),
            overrides: Vec::new(),
            answers: Vec::new(),
            why: "because the simulation says so".to_owned(),
        };
        self.laws.insert(goal.contract.digest.clone(), law.clone());
        self.drafts.push((law, goal));
        let bodies = vec![(digest, text.into_bytes())];
        self.submit_with(office, (act, &JobId::from(""), amend, who), bodies, at)
    }

    /// The owner makes room where a total keeps jobs back.
    pub(super) fn make_room(&mut self, office: &mut Ledger, at: TimeMs) -> Result<(), LedgerError> {
        let waits = self.rows(office)?.iter().any(|row| {
            row.wait
                .as_ref()
                .is_some_and(|wait| wait.kind == WaitKind::Budget)
        });
        match self.law_in_force(office)? {
            Some(law) if waits && law.raised() != law => {
                self.amend(office, "make room", law.raised(), OWNER, false, at)
            }
            _ => Ok(()),
        }
    }

    /// Says that an alarm is no spinning, or takes that back.
    pub(super) fn overrule(
        &mut self,
        pick: u64,
        office: &mut Ledger,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let open = office.read().overrules(&self.goal)?;
        let open = open.iter().find(|one| one.ended_at.is_none());
        if let Some(own) = open.filter(|_| pick.is_multiple_of(3)) {
            let job = own.job.clone();
            let act = Act::EnforceSpin { overrule: own.seq };
            return self.say(office, "enforce", job, act, at);
        }
        let spins = office.read().spins(&self.goal)?;
        let index = pick.checked_rem(spins.len() as u64).unwrap_or(0) as usize;
        match spins.get(index) {
            Some(row) => {
                let act = no_spinning(row.seq, pick.is_multiple_of(2));
                self.say(office, "overrule", row.job.clone(), act, at)
            }
            None => Ok(()),
        }
    }

    /// A goal that is held for going round in circles is let go on.
    pub(super) fn let_go_on(&mut self, office: &mut Ledger, at: TimeMs) -> Result<(), LedgerError> {
        if office.read().progress(&self.goal)?.held.is_empty() {
            return Ok(());
        }
        let spins = office.read().spins(&self.goal)?;
        match spins.iter().find(|row| row.job.is_none()) {
            Some(row) => self.say(office, "let go on", None, no_spinning(row.seq, true), at),
            None => Ok(()),
        }
    }

    /// Decisions on alarms name a job, also those on the goal's.
    fn say(
        &mut self,
        office: &mut Ledger,
        name: &'static str,
        job: Option<JobId>,
        act: Act,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let first = self.rows(office)?.first().map(|row| row.job.clone());
        match job.or(first) {
            Some(job) => self.submit(office, (name, &job, act, OWNER), at),
            None => Ok(()),
        }
    }
}

fn no_spinning(spin: Seq, everywhere: bool) -> Act {
    Act::OverruleSpin {
        spin,
        everywhere,
        reason: "the simulation says that it is none".to_owned(),
    }
}

fn name(change: Change) -> &'static str {
    match change {
        Change::Retire => "amend: retire",
        Change::AddClause => "amend: add a clause",
        Change::ChangeClause => "amend: change a clause",
        Change::Queries => "amend: queries a day",
        Change::Actions => "amend: side effects a day",
        Change::ActionsInAll => "amend: side effects in all",
    }
}
