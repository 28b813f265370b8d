//! The product's vocabulary: everything that is ever written down.

mod chat;
mod entry;
mod plan;
mod sample;

pub use chat::{
    CallRef, ChatEnded, CheckpointWritten, DriftSeen, QueryStarted, QuestionAnswered,
    QuestionAsked, ToolCalled, TurnEnded, TurnStarted, TurnUnknown,
};
pub use entry::{Act, Actor, Entry, GoalWords};
pub use plan::{JobReplanned, PlanRevised};
pub use sample::SampleAsked;

use crate::model::{
    Account, Action, Amounts, ApprovalId, ClauseId, ContractVersion, DecisionId, Digest, DriftId,
    DriftKind, EvidenceKind, FailureClass, JobId, JobState, LogicalDate, OperationId, Seq, SpendId,
    SpinKind, StrategyId, TimeMs, Verdict, WaitKind, Wake, WorldPart,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that can be written down. The stored kind is the serde name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body")]
pub enum Event {
    /// The owner adopted a contract version.
    #[serde(rename = "goal.adopted")]
    GoalAdopted {
        /// From 1.
        version: ContractVersion,
        /// The contract's digest.
        contract_digest: Digest,
        /// Blob of the goal file's text, as adopted.
        text: Digest,
        /// Where its relative paths start.
        base_dir: String,
        /// `--set` overrides it was adopted with.
        overrides: Vec<String>,
        /// What `@me` means.
        me: Account,
        /// The goal's sentence.
        objective: String,
        /// Who may amend.
        owner: Account,
        /// When it must be done.
        deadline: Option<TimeMs>,
        /// What was asked at adoption and who agreed, one sentence each.
        answers: Vec<String>,
    },
    /// The owner amended the contract: from now on this version holds.
    #[serde(rename = "goal.amended")]
    GoalAmended {
        /// The version before, and one more.
        version: ContractVersion,
        /// The new contract's digest.
        contract_digest: Digest,
        /// Blob of the goal file's text.
        text: Digest,
        /// Where its relative paths start.
        base_dir: String,
        /// `--set` overrides.
        overrides: Vec<String>,
        /// What `@me` means: the same account as before.
        me: Account,
        /// The goal's sentence.
        objective: String,
        /// Who may amend from now on.
        owner: Account,
        /// When it must be done.
        deadline: Option<TimeMs>,
        /// What was asked and who agreed, one sentence each.
        answers: Vec<String>,
        /// The owner's reason.
        why: String,
        /// What changed, one line each.
        changes: Vec<String>,
        /// What it meant when it was taken over, in one sentence.
        impact: String,
        /// Blob of the whole impact, as JSON.
        impact_detail: Digest,
    },
    /// The source's list was read to its end.
    #[serde(rename = "goal.listed")]
    GoalListed {
        /// Jobs in all.
        jobs: u64,
    },
    /// Every job has ended, and what that means.
    #[serde(rename = "goal.ended")]
    GoalEnded {
        /// One sentence with the counts.
        summary: String,
    },
    /// A job of the source.
    #[serde(rename = "job.added")]
    JobAdded {
        /// Place in the source's order, from 0.
        position: u64,
        /// One line for people.
        title: String,
        /// Words that clauses can name.
        tags: Vec<String>,
        /// Jobs upstream.
        depends_on: Vec<JobId>,
        /// Where the definition stands.
        origin: String,
        /// Blob of the old definition; its digest is the job's digest while it stays on the old side.
        definition: Digest,
        /// The table it writes, as JSON, if any.
        output: Option<Value>,
        /// What keeps it from being migrated as it stands, as JSON, if anything.
        hold: Option<Value>,
        /// Whether the contract marks it high risk.
        high_risk: bool,
        /// Clauses that apply to it.
        clauses: Vec<ClauseId>,
    },
    /// Another contract version applies to the job otherwise than the one before.
    #[serde(rename = "job.rescoped")]
    JobRescoped {
        /// Under which version.
        version: ContractVersion,
        /// Clauses that apply to it now, with their digests.
        clauses: Vec<(ClauseId, Digest)>,
        /// Whether the contract marks it high risk.
        high_risk: bool,
    },
    /// What the job's evidence in production was won upon has changed: it must be staged and judged anew.
    #[serde(rename = "job.outdated")]
    JobOutdated {
        /// What changed, one sentence.
        why: String,
    },
    /// The owner accepts a job in production although a clause does not pass.
    #[serde(rename = "clause.waived")]
    ClauseWaived {
        /// The clause.
        clause: ClauseId,
        /// Its digest: a changed clause is not waived.
        clause_digest: Digest,
        /// The config in production: another one is not waived.
        config: Digest,
        /// Who.
        by: Account,
        /// Why.
        reason: String,
    },
    /// A worker holds a clause to be wrong. It changes nothing.
    #[serde(rename = "claim.filed")]
    ClaimFiled {
        /// The clause, as the worker names it.
        clause: String,
        /// Its words.
        why: String,
    },
    /// The job moved to another state.
    #[serde(rename = "job.state")]
    JobMoved {
        /// The new state.
        state: JobState,
        /// Why, one sentence.
        reason: String,
    },
    /// One short loop over the job began.
    #[serde(rename = "attempt.started")]
    AttemptStarted {
        /// By which strategy.
        strategy: StrategyId,
        /// Its place in the plan, from 0.
        strategy_index: u32,
        /// Words about the whole goal that this attempt is the job's first to be given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<GoalWords>,
        /// The revision of the plan; 0 is what was adopted.
        #[serde(default)]
        plan: u32,
    },
    /// The plan is another one from now on.
    #[serde(rename = "plan.revised")]
    PlanRevised(PlanRevised),
    /// What a revised plan means for a job.
    #[serde(rename = "job.replanned")]
    JobReplanned(JobReplanned),
    /// The loop ended.
    #[serde(rename = "attempt.ended")]
    AttemptEnded {
        /// `passed`, `failed`, `handed_over`.
        outcome: String,
        /// Why, one sentence.
        reason: String,
    },
    /// A worker proposed a config.
    #[serde(rename = "config.proposed")]
    ConfigProposed {
        /// Blob of the config; its digest is the config's digest.
        config: Digest,
        /// The worker's own words: a remark, never evidence.
        remark: String,
        /// Digests of what it changes, normalised: against the old definition, and against the config
        /// before.
        #[serde(default)]
        changes: Vec<Digest>,
    },
    /// A worker gave no config.
    #[serde(rename = "prepare.failed")]
    PrepareFailed {
        /// Whose failure.
        class: FailureClass,
        /// One sentence.
        why: String,
        /// No other try before this.
        retry_at: Option<TimeMs>,
    },
    /// A turn of a chat worker is about to be asked for.
    #[serde(rename = "turn.started")]
    TurnStarted(TurnStarted),
    /// A turn was answered, or failed.
    #[serde(rename = "turn.ended")]
    TurnEnded(TurnEnded),
    /// Nobody knows what became of a turn.
    #[serde(rename = "turn.unknown")]
    TurnUnknown(TurnUnknown),
    /// A tool is about to query the warehouse.
    #[serde(rename = "query.started")]
    QueryStarted(QueryStarted),
    /// A tool call and its answer.
    #[serde(rename = "tool.called")]
    ToolCalled(ToolCalled),
    /// The model believes that it works on something else.
    #[serde(rename = "drift.seen")]
    DriftSeen(DriftSeen),
    /// A model asks a person.
    #[serde(rename = "question.asked")]
    QuestionAsked(QuestionAsked),
    /// A person answered.
    #[serde(rename = "question.answered")]
    QuestionAnswered(QuestionAnswered),
    /// A chat worker's loop is over.
    #[serde(rename = "chat.ended")]
    ChatEnded(ChatEnded),
    /// What the next attempt must know was put together.
    #[serde(rename = "checkpoint.written")]
    CheckpointWritten(CheckpointWritten),
    /// A side effect is about to be asked for.
    #[serde(rename = "op.intended")]
    OpIntended {
        /// Its id.
        operation: OperationId,
        /// What.
        action: Action,
        /// Which config.
        config: Digest,
        /// The how-manieth deliberate run of the same thing, from 1.
        ordinal: u32,
        /// What it is built upon, as JSON.
        upstream: Value,
        /// The approval it uses, for production.
        approval: Option<ApprovalId>,
        /// The day that it counts for as an external action, `YYYY-MM-DD` in the goal's zone.
        #[serde(default)]
        day: String,
    },
    /// The same id is sent again, under a valid proof.
    #[serde(rename = "op.sent_again")]
    OpSentAgain {
        /// Its id.
        operation: OperationId,
        /// The proof, one sentence.
        proof: String,
    },
    /// The environment did it.
    #[serde(rename = "op.applied")]
    OpApplied {
        /// Its id.
        operation: OperationId,
        /// How the target names it.
        reference: String,
        /// What it set off.
        observed: String,
        /// `reply`, `look_up` or `ruling`.
        how: String,
    },
    /// The environment said no.
    #[serde(rename = "op.refused")]
    OpRefused {
        /// Its id.
        operation: OperationId,
        /// Why.
        why: String,
        /// Whose failure.
        class: FailureClass,
        /// No other try before this.
        retry_at: Option<TimeMs>,
    },
    /// Sent, and nobody knows.
    #[serde(rename = "op.unknown")]
    OpUnknown {
        /// Its id.
        operation: OperationId,
        /// What was seen.
        why: String,
        /// When it is looked up.
        next_look: TimeMs,
    },
    /// Looked up without learning the outcome.
    #[serde(rename = "op.looked_up")]
    OpLookedUp {
        /// Its id.
        operation: OperationId,
        /// `absent` or `cannot_tell`.
        answer: String,
        /// What was seen.
        why: String,
        /// When it is looked up again.
        next_look: TimeMs,
        /// Whether it now needs a person.
        to_verify: bool,
    },
    /// It happened, and a person undid its effect by hand.
    #[serde(rename = "op.undone")]
    OpUndone {
        /// Its id.
        operation: OperationId,
        /// Who undid it, and how.
        why: String,
    },
    /// The ledger held it as applied, and the world does not show it so: the world wins.
    #[serde(rename = "op.overturned")]
    OpOverturned {
        /// Its id.
        operation: OperationId,
        /// What the world shows, and who accepted that.
        why: String,
    },
    /// The staging run exited well.
    #[serde(rename = "run.succeeded")]
    RunSucceeded {
        /// The operation that started it.
        operation: OperationId,
        /// Blob of the log.
        log: Digest,
    },
    /// The staging run failed.
    #[serde(rename = "run.failed")]
    RunFailed {
        /// The operation that started it.
        operation: OperationId,
        /// Whose failure.
        class: FailureClass,
        /// One line.
        why: String,
        /// Blob of the log.
        log: Digest,
        /// No other try before this.
        retry_at: Option<TimeMs>,
    },
    /// A clause found nothing to compare: the job is staged for another logical date, or stays as it is
    /// because there is none.
    #[serde(rename = "date.chosen")]
    DateChosen {
        /// The clause.
        clause: ClauseId,
        /// The date; absent when none is left.
        date: Option<LogicalDate>,
        /// What was found on the date before.
        why: String,
    },
    /// A clause is about to be judged; its queries are reserved.
    #[serde(rename = "check.started")]
    CheckStarted {
        /// The clause.
        clause: ClauseId,
        /// Queries reserved.
        reserved: u64,
        /// The day they count for, `YYYY-MM-DD` in the goal's zone.
        day: String,
    },
    /// A checker's word.
    #[serde(rename = "evidence.recorded")]
    EvidenceRecorded {
        /// The clause.
        clause: ClauseId,
        /// Digest of the clause.
        clause_digest: Digest,
        /// Digest of the config judged.
        config: Digest,
        /// Digest of the lineage judged under.
        lineage: Digest,
        /// Digest of the checker.
        checker: Digest,
        /// The staging run judged.
        operation: OperationId,
        /// Whose word it is. A person's is written in that person's name.
        #[serde(default)]
        by: EvidenceKind,
        /// The verdict.
        verdict: Verdict,
        /// One sentence.
        summary: String,
        /// Blob of the whole evidence: numbers and queries.
        detail: Digest,
        /// Queries spent; the rest of the reservation is given back.
        spent: u64,
        /// Queries that were reserved.
        reserved: u64,
        /// The day they count for.
        day: String,
    },
    /// A person is asked to look at chosen rows.
    #[serde(rename = "sample.asked")]
    SampleAsked(SampleAsked),
    /// A check did not end in a verdict. Its reservation counts as spent.
    #[serde(rename = "check.failed")]
    CheckFailed {
        /// The clause.
        clause: ClauseId,
        /// Why.
        why: String,
        /// Whose failure.
        class: FailureClass,
        /// No other try before this.
        retry_at: Option<TimeMs>,
        /// Queries that were reserved.
        reserved: u64,
        /// The day they count for.
        day: String,
    },
    /// Amounts of budgets are set aside before they are spent.
    #[serde(rename = "budget.reserved")]
    BudgetReserved {
        /// The spender's name for it.
        id: SpendId,
        /// How much, at most as far as is known.
        amounts: Amounts,
        /// The day that it counts for, `YYYY-MM-DD` in the goal's zone.
        day: String,
    },
    /// What a reservation really cost.
    #[serde(rename = "budget.settled")]
    BudgetSettled {
        /// The reservation.
        id: SpendId,
        /// What was spent; the rest is given back.
        spent: Amounts,
        /// False when it may have cost less: a reply was lost, or the engine was.
        sure: bool,
    },
    /// What a budget's owner is given when work ends before the goal does.
    #[serde(rename = "handoff.written")]
    HandoffWritten {
        /// Why, one sentence.
        why: String,
        /// Blob of the package for programs.
        json: Digest,
        /// Blob of the package for people.
        markdown: Digest,
    },
    /// What is still needed against what is left, when it has changed.
    #[serde(rename = "forecast.made")]
    ForecastMade {
        /// The outlook, as JSON.
        outlook: Value,
    },
    /// A budget ended the work: what was going on is over, and nothing new begins.
    #[serde(rename = "work.stopped")]
    WorkStopped {
        /// Why, one sentence.
        why: String,
    },
    /// The owner made room, and work goes on.
    #[serde(rename = "work.resumed")]
    WorkResumed {
        /// Why, one sentence.
        why: String,
    },
    /// The config failed for good; the next attempt learns why.
    #[serde(rename = "config.failed")]
    ConfigFailed {
        /// One sentence each.
        failures: Vec<String>,
    },
    /// A request lies before the approver.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// Its id.
        approval: ApprovalId,
        /// What a yes starts.
        action: Action,
        /// Digest over all parts.
        digest: Digest,
        /// What was digested, by name: contract, config, run, evidence, lineage, checkers.
        parts: Value,
        /// What a cutover would set off, one sentence each.
        consequences: Vec<String>,
        /// When it expires.
        expires_at: Option<TimeMs>,
    },
    /// The named approver decided, or the contract needs none.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// Its id.
        approval: ApprovalId,
        /// Yes or no.
        approved: bool,
        /// Who.
        by: Account,
        /// Why, where one was asked for.
        reason: String,
    },
    /// The request means nothing any more.
    #[serde(rename = "approval.voided")]
    ApprovalVoided {
        /// Its id.
        approval: ApprovalId,
        /// Which part changed, or that it expired.
        why: String,
    },
    /// A person asks that a cut-over job goes back to the old side; an approver decides.
    #[serde(rename = "rollback.asked")]
    RollbackAsked {
        /// Why.
        reason: String,
    },
    /// It does not go back.
    #[serde(rename = "rollback.dropped")]
    RollbackDropped {
        /// Why: who rejected it, or what the target said.
        why: String,
    },
    /// The job waits.
    #[serde(rename = "wait.started")]
    WaitStarted {
        /// For what.
        wait: WaitKind,
        /// One sentence.
        reason: String,
        /// What would end it.
        wakes: Vec<Wake>,
        /// When it is looked at again in any case.
        next_check: TimeMs,
        /// When it counts as stalled.
        overdue: TimeMs,
    },
    /// The source's definition of the job is another one now.
    #[serde(rename = "job.redefined")]
    JobRedefined {
        /// Blob of the new definition.
        definition: Digest,
    },
    /// After an unclean stop the ledger was compared with the world.
    #[serde(rename = "drift.checked")]
    DriftChecked {
        /// What was compared: jobs of the source, jobs in production, staging runs.
        compared: u64,
        /// Questions that the world did not answer; what they are about counts as not different.
        unanswered: u64,
        /// Differences that wait to be accepted.
        differences: u64,
        /// What follows, one sentence.
        outcome: String,
    },
    /// The ledger says one thing and the world another.
    #[serde(rename = "drift.found")]
    DriftFound {
        /// Its id: the same difference has the same id.
        item: DriftId,
        /// In what they differ.
        differs: DriftKind,
        /// The job it is about; empty when it is about none.
        about: String,
        /// What the ledger says, one sentence.
        ledger_says: String,
        /// What the world says, one sentence.
        world_says: String,
        /// What accepting it does, one sentence.
        accepting: String,
    },
    /// The difference was accepted; what corrects the ledger follows.
    #[serde(rename = "drift.accepted")]
    DriftAccepted {
        /// Which.
        item: DriftId,
        /// Who accepted, or which rule.
        how: String,
    },
    /// The difference is not seen any more.
    #[serde(rename = "drift.gone")]
    DriftGone {
        /// Which.
        item: DriftId,
    },
    /// Some process asks for something in a person's name.
    #[serde(rename = "decision.submitted")]
    DecisionSubmitted {
        /// Its id.
        decision: DecisionId,
        /// What.
        act: Act,
        /// Where from: `SSH_CONNECTION` if there is one, else the terminal's name.
        from: String,
    },
    /// The engine's one answer.
    #[serde(rename = "decision.answered")]
    DecisionAnswered {
        /// Its id.
        decision: DecisionId,
        /// Done or refused.
        accepted: bool,
        /// Why not; or what was done.
        why: String,
    },
    /// Nothing new is started for the job.
    #[serde(rename = "job.paused")]
    JobPaused {},
    /// The pause is over.
    #[serde(rename = "job.resumed")]
    JobResumed {},
    /// The job begins again from the first strategy.
    #[serde(rename = "job.retried")]
    JobRetried {},
    /// Words for the next attempt.
    #[serde(rename = "job.commented")]
    JobCommented {
        /// The words.
        text: String,
    },
    /// Words for the next attempt of each job.
    #[serde(rename = "goal.commented")]
    GoalCommented(GoalWords),
    /// An engine took the ledger.
    #[serde(rename = "engine.started")]
    EngineStarted {
        /// Its process.
        pid: u32,
        /// Its host.
        host: String,
        /// Its version.
        version: String,
        /// Whether the one before had said goodbye.
        after_clean_stop: bool,
    },
    /// The engine said goodbye.
    #[serde(rename = "engine.stopped")]
    EngineStopped {
        /// Why.
        why: String,
    },
    /// The engine looked at the world.
    #[serde(rename = "heartbeat")]
    Heartbeat {
        /// What it decided: `act` or `wait`.
        decided: String,
        /// Why, one line.
        reason: String,
    },
    /// Whether a target keeps one effect per id was measured, in staging.
    #[serde(rename = "proof.recorded")]
    ProofRecorded {
        /// The adapter measured.
        adapter: String,
        /// Its version; another one voids the proof.
        version: String,
        /// Which action.
        action: Action,
        /// How it was measured, one sentence.
        method: String,
        /// What was sent and what exists, as counted.
        counts: Value,
        /// Whether one effect per id was seen throughout.
        proven: bool,
        /// When it is void in any case.
        expires_at: TimeMs,
    },
    /// A part of the world is out: failures of different jobs cluster in time.
    #[serde(rename = "outage.began")]
    OutageBegan {
        /// Which part.
        part: WorldPart,
        /// When the first of the failures was seen.
        from: TimeMs,
        /// Failures in the window.
        failures: u32,
        /// Calls in the window.
        trials: u32,
        /// Different jobs among the failures.
        jobs: u32,
        /// The rate they were held against, in parts per million.
        rate_ppm: u32,
        /// The chance of so many failures under it is one in this many.
        one_in: u64,
        /// When a job probes.
        next_probe: TimeMs,
    },
    /// A job probed and failed as the others had.
    #[serde(rename = "outage.probed")]
    OutageProbed {
        /// Which part.
        part: WorldPart,
        /// The job that probed.
        job: JobId,
        /// The how-manieth probe, from 1.
        probe: u32,
        /// When the next one is due.
        next_probe: TimeMs,
    },
    /// The part works again.
    #[serde(rename = "outage.ended")]
    OutageEnded {
        /// Which part.
        part: WorldPart,
        /// What showed it.
        why: String,
    },
    /// What the job tried in vain during an outage does not count.
    #[serde(rename = "tries.given_back")]
    TriesGivenBack {
        /// Which part was out.
        part: WorldPart,
        /// Staging runs.
        staging: u32,
        /// Refused or lost effects.
        refusals: u32,
        /// Turns of the worker.
        prepares: u32,
        /// Checks.
        checks: u32,
    },
    /// Work goes round in circles: on a job, or, without one, across the goal.
    #[serde(rename = "spin.found")]
    SpinFound {
        /// By which rule.
        rule: SpinKind,
        /// What goes round, one sentence.
        what: String,
        /// How often, or how many tokens.
        count: u64,
        /// The contract's threshold.
        limit: u64,
        /// The entries behind it.
        entries: Vec<Seq>,
        /// The strategy that it changes to, its place in the plan; none when a person must decide.
        next: Option<u32>,
    },
    /// An operator says that it is no spinning: a rule of this goal from now on.
    #[serde(rename = "spin.overruled")]
    SpinOverruled {
        /// The alarm's entry.
        spin: Seq,
        /// The rule that does not hold any more.
        rule: SpinKind,
        /// For this job alone; none: everywhere in the goal.
        job: Option<JobId>,
        /// Why.
        reason: String,
    },
    /// The overruling is taken back.
    #[serde(rename = "spin.enforced")]
    SpinEnforced {
        /// Its entry.
        overrule: Seq,
    },
    /// The job is let go on: its alarm was overruled.
    #[serde(rename = "spin.released")]
    SpinReleased {},
    /// Something needs attention.
    #[serde(rename = "alert.raised")]
    AlertRaised {
        /// `stall`, `outage`, `budget`, `drift`, `tamper`, `spin`, `pseudo_progress`, `deadline`, `held`.
        rule: String,
        /// What was seen, one sentence.
        evidence: String,
    },
    /// It is over.
    #[serde(rename = "alert.cleared")]
    AlertCleared {
        /// Which.
        rule: String,
        /// Why.
        why: String,
    },
}

impl Event {
    /// The stored kind and body.
    ///
    /// # Errors
    /// Never for a value built by this program; serde's error is passed on all the same.
    pub fn to_stored(&self) -> Result<(String, String), serde_json::Error> {
        // The form is `{"kind":"…","body":…}`; kinds are our own words and need no escapes.
        let text = serde_json::to_string(self)?;
        let parts = text
            .strip_prefix("{\"kind\":\"")
            .and_then(|rest| rest.strip_suffix('}'))
            .and_then(|rest| rest.split_once("\",\"body\":"));
        let (kind, body) = parts.unwrap_or_default();
        Ok((kind.to_owned(), body.to_owned()))
    }

    /// Back from the stored form.
    ///
    /// # Errors
    /// When the kind is unknown (a newer program wrote it) or the body does not fit it.
    pub fn from_stored(kind: &str, body: &str) -> Result<Self, serde_json::Error> {
        // The body is one value and nothing beside it, or it could bring keys of its own.
        serde_json::from_str::<serde::de::IgnoredAny>(body)?;
        let kind = serde_json::to_string(kind)?;
        serde_json::from_str(&format!("{{\"kind\":{kind},\"body\":{body}}}"))
    }

    /// Whether it changes its job's facts. Decisions are other processes' words; they change a job only
    /// through what the engine makes of them.
    pub fn changes_job(&self) -> bool {
        !matches!(
            self,
            Self::DecisionSubmitted { .. } | Self::DecisionAnswered { .. }
        )
    }

    /// Whether this is an act of the job itself, which ends its wait.
    pub fn ends_wait(&self) -> bool {
        !matches!(
            self,
            Self::WaitStarted { .. }
                | Self::DecisionSubmitted { .. }
                | Self::DecisionAnswered { .. }
                | Self::JobCommented { .. }
                | Self::JobRescoped { .. }
                | Self::ClaimFiled { .. }
                | Self::AlertRaised { .. }
                | Self::AlertCleared { .. }
                | Self::OpLookedUp { .. }
                | Self::BudgetSettled { .. }
        )
    }
}
