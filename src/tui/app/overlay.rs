//! What lies on top of a view: a stack of values, each with its targets frozen by identity.

use crate::ledger::Act;
use crate::model::{JobId, OperationId, Seq};
use crate::tui::app::place::Kind;
use ratatui_textarea::TextArea;

/// What will be asked of the engine when the operator confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Each job with what is asked for it; fixed when the dialog opens.
    pub items: Vec<(JobId, Act)>,
    /// What it is, for the status line: `approve orders_daily`.
    pub what: String,
}

/// What a text is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// Why a request is rejected.
    Reject,
    /// Why an alarm of spinning is none.
    NotSpinning {
        /// What goes round, and for whom that is no alarm any more.
        said: String,
    },
    /// Why the contract is amended.
    Amend,
    /// Why jobs are handed over.
    HandOver,
    /// Why jobs in production shall go back.
    RollBack,
    /// What a model is told.
    Answer {
        /// Its question.
        asked: String,
    },
    /// Words for the next attempt.
    Comment,
    /// What was undone by hand, and how.
    Undone,
    /// Why a ruling is right. The reference, when it happened.
    Rule {
        /// Ruled on.
        operation: OperationId,
        /// Which way.
        happened: bool,
        /// The target's reference.
        reference: String,
    },
}

/// Where the focus is in a text dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// In the text.
    Text,
    /// On the button that sends.
    Send,
    /// On the button that does not.
    Cancel,
}

/// One thing on top.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// How to leave while the engine runs here.
    Leave,
    /// Tier 1: one sentence, y or n.
    Confirm {
        /// What is asked.
        ask: Ask,
        /// The effect.
        effect: String,
    },
    /// Tier 2: targets by name, Cancel focused.
    Targets {
        /// What is asked.
        ask: Ask,
        /// The effect.
        effect: String,
        /// What it concerns, each by its name.
        names: Vec<String>,
        /// The focus is on the other button.
        yes: bool,
    },
    /// Tier 3: the job's name must be typed.
    TypeName {
        /// What is asked.
        ask: Ask,
        /// The effect.
        effect: String,
        /// What must be typed.
        name: String,
        /// What was typed.
        typed: String,
    },
    /// A text area.
    Text {
        /// What for.
        purpose: Purpose,
        /// Jobs concerned, with the act that the text completes.
        ask: Ask,
        /// The text.
        area: Box<TextArea<'static>>,
        /// Where the focus is.
        focus: Focus,
    },
    /// Which way to rule.
    Rule {
        /// The job.
        job: JobId,
        /// Ruled on.
        operation: OperationId,
        /// The reference being typed, once it was said that it happened.
        reference: Option<String>,
    },
    /// Whose alarm it is no more.
    Spin {
        /// The job that the decision goes to.
        job: JobId,
        /// The alarm.
        spin: Seq,
        /// What goes round.
        said: String,
    },
    /// Which goal file shall follow the contract in force.
    AmendFile {
        /// What is typed.
        typed: String,
    },
    /// The filter line of a view; live.
    Filter {
        /// Whose filter.
        kind: Kind,
        /// What is typed.
        text: String,
    },
    /// Help for a view.
    Help {
        /// Which view.
        kind: Kind,
        /// What is searched for.
        query: String,
        /// Which of the found rows.
        selected: usize,
    },
    /// Actions by name.
    Palette {
        /// What is typed.
        text: String,
        /// Which of the found rows.
        selected: usize,
    },
    /// The closing report.
    Closing {
        /// First line shown.
        scroll: usize,
    },
}
