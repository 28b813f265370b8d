//! People: they decide through a ledger handle of their own, as another process would.

use super::dice::Dice;
use super::goal::{GOAL, OWNER, STRANGER};
use super::law::Law;
use super::scenario::{ActKind, ActPlan, Scenario};
use super::world::{SimWorld, reference};
use crate::contract::Goal;
use crate::ledger::read::{ApprovalRow, JobQuery, JobRow, OperationRow};
use crate::ledger::{Act, Batch, Ledger, LedgerError, decide};
use crate::model::{
    Account, Digest, DriftKind, GoalId, JobId, JobState, TimeMs, Verdict, WaitKind, digest_bytes,
};
use std::collections::BTreeMap;

/// Who decides.
#[derive(Debug)]
pub(super) struct People {
    pub(super) goal: GoalId,
    dice: Dice,
    seen: Vec<ApprovalRow>,
    /// Keeps decisions apart.
    salt: i64,
    pub(super) scenario: Scenario,
    /// The contract's versions so far and those that were asked for, by digest.
    pub(super) laws: BTreeMap<Digest, Law>,
    /// Versions asked for since somebody took them from here.
    pub(super) drafts: Vec<(Law, Goal)>,
    /// How often each kind of act really asked for something.
    pub(super) asked: BTreeMap<&'static str, u64>,
}

impl People {
    pub(super) fn new(scenario: &Scenario, first: (Digest, Law)) -> Self {
        Self {
            goal: GoalId::from(GOAL),
            dice: Dice::new(scenario.seed),
            scenario: scenario.clone(),
            laws: BTreeMap::from([first]),
            drafts: Vec::new(),
            seen: Vec::new(),
            salt: 0,
            asked: BTreeMap::new(),
        }
    }

    pub(super) fn submit(
        &mut self,
        office: &mut Ledger,
        what: (&'static str, &JobId, Act, &str),
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        self.submit_with(office, what, Vec::new(), at)
    }

    pub(super) fn submit_with(
        &mut self,
        office: &mut Ledger,
        what: (&'static str, &JobId, Act, &str),
        blobs: Vec<(Digest, Vec<u8>)>,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let (name, job, act, who) = what;
        self.salt += 1;
        *self.asked.entry(name).or_default() += 1;
        let account = Account(who.to_owned());
        let entry = decide::entry(&self.goal, job, act, &account, "", at, TimeMs(self.salt));
        let batch = Batch {
            entries: vec![entry],
            blobs,
        };
        office.append(&batch).map(drop)
    }

    /// Does one act.
    pub(super) fn act(
        &mut self,
        plan: &ActPlan,
        office: &mut Ledger,
        world: &SimWorld,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let jobs = office.read().job_ids(&self.goal, &JobQuery::default())?;
        let picked = jobs
            .get(plan.pick.checked_rem(jobs.len() as u64).unwrap_or(0) as usize)
            .cloned();
        let Some(job) = picked else { return Ok(()) };
        let words = || "because the simulation says so".to_owned();
        match plan.kind {
            ActKind::Session => self.session(plan.pick, office, at),
            ActKind::Look => {
                self.seen = office.read().open_approvals(&self.goal)?;
                Ok(())
            }
            ActKind::Late => {
                for row in std::mem::take(&mut self.seen) {
                    self.approve(office, "late", &row, row.digest.clone(), OWNER, at)?;
                }
                Ok(())
            }
            ActKind::Pause => self.submit(office, ("pause", &job, Act::Pause, OWNER), at),
            ActKind::Resume => self.resume(office, at),
            ActKind::Retry => self.retry(plan.pick, office, world, at),
            ActKind::Rule => self.rule(office, world, at),
            ActKind::LookAgain => {
                for row in office.read().unsettled(&self.goal)? {
                    let act = Act::LookAgain {
                        operation: row.operation,
                    };
                    self.submit(office, ("look again", &row.job, act, OWNER), at)?;
                }
                Ok(())
            }
            ActKind::Comment => {
                let act = Act::Comment { text: words() };
                self.submit(office, ("comment", &job, act, OWNER), at)
            }
            ActKind::HandOver => {
                let act = Act::HandOver { reason: words() };
                self.submit(office, ("hand over", &job, act, OWNER), at)
            }
            ActKind::Consent => {
                if plan.pick.is_multiple_of(4) {
                    let items = vec!["d0000000".into()];
                    let act = Act::AcceptDrift { items };
                    self.submit(office, ("consent to nothing", &job, act, OWNER), at)?;
                }
                let who = match plan.pick % 5 {
                    0 => STRANGER,
                    _ => OWNER,
                };
                self.consent(office, world, who, at)
            }
            ActKind::Nonsense => self.nonsense(&job, office, at),
            ActKind::Amend(change) => self.amend_some(change, plan.pick, office, at),
            ActKind::Overrule => self.overrule(plan.pick, office, at),
        }
    }

    fn approve(
        &mut self,
        office: &mut Ledger,
        name: &'static str,
        row: &ApprovalRow,
        digest: Digest,
        who: &str,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let act = Act::Approve {
            approval: row.approval.clone(),
            digest,
        };
        self.submit(office, (name, &row.job, act, who), at)
    }

    /// Goes through the open requests.
    fn session(&mut self, pick: u64, office: &mut Ledger, at: TimeMs) -> Result<(), LedgerError> {
        for row in office.read().open_approvals(&self.goal)? {
            let digest = row.digest.clone();
            let key = ["session", row.approval.as_str()];
            match self.dice.below(100, &key, pick) {
                0..=64 => self.approve(office, "approve", &row, digest, OWNER, at)?,
                65..=70 => {
                    let act = Act::Reject {
                        approval: row.approval.clone(),
                        digest,
                        reason: "not now".to_owned(),
                    };
                    self.submit(office, ("reject", &row.job, act, OWNER), at)?;
                }
                71..=77 => self.approve(office, "stranger", &row, digest, STRANGER, at)?,
                78..=85 => {
                    let other = digest_bytes(b"what was on the screen yesterday");
                    self.approve(office, "stale", &row, other, OWNER, at)?;
                }
                86..=91 => {
                    self.approve(office, "twice", &row, digest.clone(), OWNER, at)?;
                    self.approve(office, "twice", &row, digest, OWNER, at)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn rows(&self, office: &Ledger) -> Result<Vec<JobRow>, LedgerError> {
        let ids = office.read().job_ids(&self.goal, &JobQuery::default())?;
        office.read().job_rows(&self.goal, &ids)
    }

    fn resume(&mut self, office: &mut Ledger, at: TimeMs) -> Result<(), LedgerError> {
        for row in self.rows(office)? {
            if row.paused {
                self.submit(office, ("resume", &row.job, Act::Resume, OWNER), at)?;
            }
        }
        Ok(())
    }

    fn retry(
        &mut self,
        pick: u64,
        office: &mut Ledger,
        world: &SimWorld,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        for row in self.rows(office)? {
            let chosen = self.dice.happens(500, &["retry", row.job.as_str()], pick);
            // Whoever tries again looks first whether it is not in production already.
            let free = !world.produces(&row.job);
            if row.state == JobState::HandedOver && chosen && free {
                self.submit(office, ("retry", &row.job, Act::Retry, OWNER), at)?;
            }
        }
        Ok(())
    }

    /// Looks into the world by hand, and accepts what is really so; what is not is compared again.
    fn consent(
        &mut self,
        office: &mut Ledger,
        world: &SimWorld,
        who: &str,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        if office.read().drift_open(&self.goal)? == 0 {
            return Ok(());
        }
        let none = JobId::from("");
        let mut items = Vec::new();
        let mut again = false;
        for row in office.read().drift(&self.goal)? {
            let missing = matches!(row.kind, DriftKind::RunMissing | DriftKind::CutOverMissing);
            if row.state != "open" {
                continue;
            }
            if missing && world.shows(&row.ledger_says) {
                again = true;
            } else {
                items.push(row.item);
            }
        }
        if !items.is_empty() {
            let act = Act::AcceptDrift { items };
            self.submit(office, ("consent", &none, act, who), at)?;
        }
        if again {
            let act = Act::CompareAgain;
            self.submit(office, ("compare again", &none, act, who), at)?;
        }
        Ok(())
    }

    /// Looks into the world by hand and says what is true.
    fn rule(
        &mut self,
        office: &mut Ledger,
        world: &SimWorld,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let open: Vec<OperationRow> = office.read().unsettled(&self.goal)?;
        for row in open.into_iter().filter(|row| row.to_verify) {
            let happened = {
                let state = world.state();
                let mut made = state.made.iter();
                made.any(|one| one.operation == row.operation && !one.gone)
            };
            let key = ["undo", row.operation.as_str()];
            if happened && self.dice.happens(250, &key, 0) {
                world.undo(&row.operation);
                let act = Act::Compensate {
                    operation: row.operation,
                    reason: "taken out by hand".to_owned(),
                };
                self.submit(office, ("undo", &row.job, act, OWNER), at)?;
                continue;
            }
            let act = Act::Rule {
                reference: if happened {
                    reference(&row.operation)
                } else {
                    String::new()
                },
                operation: row.operation,
                happened,
                reason: "seen in the target's own list".to_owned(),
            };
            self.submit(office, ("rule", &row.job, act, OWNER), at)?;
        }
        Ok(())
    }

    fn nonsense(
        &mut self,
        job: &JobId,
        office: &mut Ledger,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        let nobody = JobId::from("job-of-nobody");
        self.submit(office, ("nonsense", &nobody, Act::Pause, OWNER), at)?;
        let act = Act::Rule {
            operation: "0123456789abcdef".into(),
            happened: true,
            reference: "run-of-nobody".to_owned(),
            reason: "wishful thinking".to_owned(),
        };
        self.submit(office, ("nonsense", job, act, OWNER), at)?;
        let act = Act::Approve {
            approval: "a-nothing".into(),
            digest: digest_bytes(b"nothing"),
        };
        self.submit(office, ("nonsense", job, act, OWNER), at)
    }

    /// Everything that only people can do, done right; whether there was anything.
    pub(super) fn do_their_duty(
        &mut self,
        office: &mut Ledger,
        world: &SimWorld,
        at: TimeMs,
    ) -> Result<(), LedgerError> {
        self.consent(office, world, OWNER, at)?;
        for row in office.read().open_approvals(&self.goal)? {
            self.approve(office, "approve", &row, row.digest.clone(), OWNER, at)?;
        }
        self.resume(office, at)?;
        self.make_room(office, at)?;
        self.let_go_on(office, at)?;
        self.reverify(office, at)?;
        self.rule(office, world, at)
    }

    /// The owner's choice for what is in production and fails: a waiver, or a person's hands.
    fn reverify(&mut self, office: &mut Ledger, at: TimeMs) -> Result<(), LedgerError> {
        for facts in office.read().all_facts(&self.goal)? {
            let waits = facts
                .wait
                .as_ref()
                .is_some_and(|one| one.kind == WaitKind::Person);
            if facts.state != JobState::Reverify || !waits {
                continue;
            }
            let failed = facts
                .evidence
                .iter()
                .filter(|(_, own)| own.verdict != Verdict::Pass)
                .map(|(clause, _)| clause.clone());
            let reason = "because the simulation says so".to_owned();
            let pick = facts.last_progress.0.unsigned_abs();
            let waive = self.dice.happens(500, &["waive", facts.id.as_str()], pick);
            match failed.into_iter().next().filter(|_| waive) {
                Some(clause) => {
                    let act = Act::Waive { clause, reason };
                    self.submit(office, ("waive", &facts.id, act, OWNER), at)?;
                }
                None => {
                    let act = Act::HandOver { reason };
                    self.submit(office, ("hand over", &facts.id, act, OWNER), at)?;
                }
            }
        }
        Ok(())
    }
}
