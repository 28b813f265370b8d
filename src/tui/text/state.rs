//! A job's standing: glyph and word first, colour third.

use crate::ledger::read::JobRow;
use crate::model::{EvidenceKind, JobState, OperationState, Verdict, WaitKind};
use crate::tui::theme::Role;

/// Glyph, word and role of something that has a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// One column.
    pub glyph: &'static str,
    /// One or two words.
    pub word: &'static str,
    /// How the theme may colour it.
    pub role: Role,
}

const fn standing(glyph: &'static str, word: &'static str, role: Role) -> Standing {
    Standing { glyph, word, role }
}

/// Work that goes on when an engine runs again.
pub const STOPPED: Standing = standing("■", "stopped", Role::Warn);
/// Work whose engine fell silent.
pub const DEAD: Standing = standing("✗", "dead", Role::Bad);

impl Standing {
    /// Whether it says that something is being done just now.
    pub fn is_work(&self) -> bool {
        self.role == Role::Info
    }
}

/// Where a job stands, overlays first: what needs a person is said before what is merely true.
pub fn of_job(row: &JobRow) -> Standing {
    if row.to_verify {
        return standing("?", "to verify", Role::Person);
    }
    if row.paused && !row.state.has_ended() {
        return standing("‖", "paused", Role::Warn);
    }
    match (row.state, row.wait.as_ref().map(|wait| wait.kind)) {
        // Asked back by a person; an approver decides.
        (JobState::CutOver, Some(WaitKind::Person)) => of_wait(WaitKind::Person),
        (JobState::CutOver, _) => standing("✓", "cut over", Role::Good),
        (JobState::Reverify, Some(WaitKind::Person)) => {
            standing("◆", "re-verify: you", Role::Person)
        }
        (JobState::Reverify, Some(WaitKind::Soak)) => of_wait(WaitKind::Soak),
        (JobState::Reverify, _) => standing("≠", "re-verifying", Role::Warn),
        (JobState::HandedOver, _) => standing("⚑", "handed over", Role::Bad),
        (JobState::Cancelled, _) => standing("✗", "cancelled", Role::Dim),
        // An open request is always waited for: without a wait it was approved and is executed.
        (JobState::AwaitingApproval, None) => standing("▸", "cutting over", Role::Info),
        (_, Some(kind)) => of_wait(kind),
        (state, None) => of_state(state),
    }
}

/// What a wait is for.
pub fn of_wait(kind: WaitKind) -> Standing {
    match kind {
        WaitKind::Person => standing("◆", "waits: you", Role::Person),
        WaitKind::Quota => standing("○", "waits: quota", Role::Wait),
        WaitKind::Upstream => standing("○", "waits: job", Role::Wait),
        WaitKind::ToVerify => standing("?", "looking up", Role::Warn),
        WaitKind::World => standing("○", "waits: world", Role::Wait),
        WaitKind::Turn => standing("○", "waits: turn", Role::Wait),
        WaitKind::Soak => standing("○", "soaks", Role::Wait),
        WaitKind::Freeze => standing("○", "waits: freeze", Role::Wait),
        WaitKind::Paused => standing("‖", "paused", Role::Warn),
        WaitKind::Budget => standing("◆", "waits: budget", Role::Person),
        WaitKind::Outage => standing("○", "waits: outage", Role::Wait),
    }
}

/// A state without overlays.
pub fn of_state(state: JobState) -> Standing {
    match state {
        JobState::Pending => standing("·", "pending", Role::Dim),
        JobState::Working => standing("▸", "working", Role::Info),
        JobState::Staged => standing("▸", "checking", Role::Info),
        JobState::Reconciled => standing("≈", "reconciled", Role::Info),
        JobState::AwaitingApproval => standing("◆", "waiting for approval", Role::Person),
        JobState::CutOver => standing("✓", "cut over", Role::Good),
        JobState::Reverify => standing("≠", "needs re-verification", Role::Warn),
        JobState::HandedOver => standing("⚑", "handed over", Role::Bad),
        JobState::Cancelled => standing("✗", "cancelled", Role::Dim),
    }
}

/// A verdict.
pub fn of_verdict(verdict: Verdict) -> Standing {
    match verdict {
        Verdict::Pass => standing("✓", "pass", Role::Good),
        Verdict::Fail => standing("✗", "fail", Role::Bad),
        Verdict::Inconclusive => standing("?", "inconclusive", Role::Warn),
        Verdict::Unverified => standing("○", "unverified", Role::Warn),
    }
}

/// An operation.
pub fn of_operation(state: OperationState, to_verify: bool) -> Standing {
    match state {
        _ if to_verify => standing("?", "to verify", Role::Person),
        OperationState::Intended => standing("▸", "in flight", Role::Info),
        OperationState::Applied => standing("✓", "applied", Role::Good),
        OperationState::Refused => standing("✗", "refused", Role::Bad),
        OperationState::Unknown => standing("?", "unknown", Role::Warn),
    }
}

/// A request, by its stored word.
pub fn of_request(state: &str) -> Standing {
    match state {
        "open" => standing("◆", "open", Role::Person),
        "approved" => standing("✓", "approved", Role::Good),
        "used" => standing("✓", "used", Role::Good),
        "rejected" => standing("✗", "rejected", Role::Bad),
        "void" => standing("·", "void", Role::Dim),
        _ => standing("?", "unknown", Role::Warn),
    }
}

/// Whose word a verdict is, after its clause; a script's needs no word.
pub const fn of_kind(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Script => "",
        EvidenceKind::Judge => " (judge)",
        EvidenceKind::Person => " (person)",
    }
}
