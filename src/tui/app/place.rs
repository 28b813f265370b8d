//! Where the operator is: views, and what is drilled into.

use crate::model::{ApprovalId, JobId, OperationId, Seq};

/// A kind of view; tables of actions and lists are keyed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// All goals of the ledger.
    Goals,
    /// The jobs of the goal.
    Jobs,
    /// One job and its attempts.
    Job,
    /// Requests.
    Approvals,
    /// One request with its evidence.
    Card,
    /// Operations of unknown outcome.
    ToVerify,
    /// What differs between ledger and world after an unclean stop.
    Drift,
    /// One such operation.
    Operation,
    /// Alerts.
    Alerts,
    /// One alert.
    Alert,
    /// A model's question.
    Question,
    /// Budgets.
    Budgets,
    /// The contract.
    Goal,
    /// What a changed goal file would do.
    Amendment,
    /// What waits for what.
    Waits,
    /// Entries of the ledger.
    Log,
}

impl Kind {
    /// Views with a number, in its order.
    pub const NUMBERED: [Self; 9] = [
        Self::Goals,
        Self::Jobs,
        Self::Approvals,
        Self::ToVerify,
        Self::Alerts,
        Self::Budgets,
        Self::Goal,
        Self::Waits,
        Self::Log,
    ];

    /// Its name on screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Goals => "Goals",
            Self::Jobs => "Jobs",
            Self::Job => "Job",
            Self::Approvals => "Approvals",
            Self::Card => "Request",
            Self::ToVerify => "To verify",
            Self::Drift => "Differences",
            Self::Operation => "Operation",
            Self::Alerts => "Alerts",
            Self::Alert => "Alert",
            Self::Question => "Question",
            Self::Budgets => "Budgets",
            Self::Goal => "Goal",
            Self::Amendment => "Amendment",
            Self::Waits => "Waits",
            Self::Log => "Log",
        }
    }

    /// Whether it shows rows with a cursor; the others are pages of text.
    pub const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Goals
                | Self::Jobs
                | Self::Approvals
                | Self::ToVerify
                | Self::Drift
                | Self::Alerts
                | Self::Waits
                | Self::Log
        )
    }

    /// The numbered view it belongs to.
    pub const fn root(self) -> Self {
        match self {
            Self::Job | Self::Question => Self::Jobs,
            Self::Card => Self::Approvals,
            Self::Operation | Self::Drift => Self::ToVerify,
            Self::Amendment => Self::Goal,
            Self::Alert => Self::Alerts,
            other => other,
        }
    }
}

/// A view and what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A numbered view.
    Root(Kind),
    /// One job.
    Job(JobId),
    /// One request.
    Card(ApprovalId),
    /// One operation of a job.
    Operation(JobId, OperationId),
    /// What the worker of a job asks, by the question's id.
    Question(JobId, String),
    /// One alert, by its entry.
    Alert(Seq),
    /// The entries of one job.
    JobLog(JobId),
    /// What differs between ledger and world.
    Drift,
    /// A changed goal file.
    Amendment,
}

impl Place {
    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Root(kind) => *kind,
            Self::Job(_) => Kind::Job,
            Self::Card(_) => Kind::Card,
            Self::Operation(..) => Kind::Operation,
            Self::Alert(_) => Kind::Alert,
            Self::Question(..) => Kind::Question,
            Self::JobLog(_) => Kind::Log,
            Self::Drift => Kind::Drift,
            Self::Amendment => Kind::Amendment,
        }
    }
}

/// Panes of the job view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    /// Entries as sentences.
    #[default]
    Timeline,
    /// The config against what was before.
    Diff,
    /// Verdicts with numbers and queries.
    Evidence,
    /// Side effects.
    Operations,
    /// The worker's words.
    Transcript,
}

impl Tab {
    /// Left to right.
    pub const ALL: [Self; 5] = [
        Self::Timeline,
        Self::Diff,
        Self::Evidence,
        Self::Operations,
        Self::Transcript,
    ];

    /// Its name on screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Timeline => "Timeline",
            Self::Diff => "Diff",
            Self::Evidence => "Evidence",
            Self::Operations => "Operations",
            Self::Transcript => "Transcript",
        }
    }

    /// The one `by` places further, round and round.
    pub fn step(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|one| *one == self).unwrap_or(0) as isize;
        let next = (at + by).rem_euclid(Self::ALL.len() as isize) as usize;
        Self::ALL.get(next).copied().unwrap_or_default()
    }
}
