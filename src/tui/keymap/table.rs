//! The action table: one row an action.

use super::{Entry, Key, Scope};
use crate::tui::app::place::Kind;
use crossterm::event::KeyCode;

/// What a key, the help or the palette can ask of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Up.
    Up,
    /// Down.
    Down,
    /// To the first row.
    Top,
    /// To the last row; in the log, follow new entries.
    Bottom,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Open what is under the cursor.
    Open,
    /// Approve the cutover shown; asks once more. Dead for a moment after the request is drawn or changes.
    Approve,
    /// Reject the cutover shown, with a reason.
    Reject,
    /// The previous open request.
    PrevRequest,
    /// The next open request.
    NextRequest,
    /// The job of this request with its attempts.
    CardJob,
    /// Look the operation up now.
    LookAgain,
    /// Rule on the operation: it happened (with the reference), or it did not.
    Rule,
    /// Pause or resume: nothing new is started for the job; what runs goes on.
    Pause,
    /// Try again from the first strategy; asks once more.
    Retry,
    /// The job's attempts.
    Stepper,
    /// The previous attempt.
    PrevAttempt,
    /// The next attempt.
    NextAttempt,
    /// The first attempt.
    FirstAttempt,
    /// The newest attempt.
    LastAttempt,
    /// The next pane.
    NextPane,
    /// The previous pane.
    PrevPane,
    /// Words for the job's next attempt.
    Comment,
    /// Give the job to a person, with a reason.
    HandOver,
    /// The ledger's entries of this job.
    JobLog,
    /// Filter live: words AND, !x excludes; for jobs also state: wait: clause: tries:>1 is:paused.
    Filter,
    /// Sort by the next column.
    Sort,
    /// Sort the other way round.
    Reverse,
    /// Mark the row and move on; actions then go to all marked jobs.
    Mark,
    /// Mark everything from the last mark to the cursor.
    MarkRange,
    /// Mark all rows shown.
    MarkAll,
    /// Forget all marks.
    MarkNone,
    /// Details of the row under the cursor, beside the list.
    Details,
    /// The next thing that needs a person, oldest first.
    NextNeed,
    /// The view before this one.
    Previous,
    /// Back to where this was opened from.
    Back,
    /// Help for this view; type to search, Enter runs it.
    Help,
    /// Any action by name; also :job NAME.
    Palette,
    /// Freeze the display; work goes on.
    Freeze,
    /// Send the id under the cursor to the terminal's clipboard.
    Copy,
    /// The closing report, as of now.
    Report,
    /// Mouse on or off; off leaves the terminal's own selection.
    Mouse,
    /// Draw everything again.
    Repaint,
    /// Suspend the interface; an engine in this process is suspended with it.
    Suspend,
    /// Close what is on top; at the root, leave. Work is not stopped by it.
    Quit,
    /// Close what is on top; twice at the root, leave. It never stops work.
    Interrupt,
    /// Go to a numbered view.
    View(Kind),
}

const fn row(
    action: Action,
    keys: &'static [Key],
    name: &'static str,
    short: &'static str,
    help: &'static str,
    scope: Scope,
) -> Entry {
    Entry {
        action,
        keys,
        name,
        short,
        help,
        changes: false,
        scope,
    }
}

/// A row for an action that asks for a change.
const fn change(entry: Entry) -> Entry {
    Entry {
        changes: true,
        ..entry
    }
}

/// All actions. The order is the footer's and the help's: what a view is for comes first.
pub const ACTIONS: &[Entry] = &[
    row(
        Action::Up,
        &[Key::plain(KeyCode::Up), Key::char('k')],
        "up",
        "",
        "Up.",
        Scope::Everywhere,
    ),
    row(
        Action::Down,
        &[Key::plain(KeyCode::Down), Key::char('j')],
        "down",
        "",
        "Down.",
        Scope::Everywhere,
    ),
    row(
        Action::Top,
        &[Key::plain(KeyCode::Home), Key::char('g')],
        "top",
        "",
        "To the first row.",
        Scope::Everywhere,
    ),
    row(
        Action::Bottom,
        &[Key::plain(KeyCode::End), Key::char('G')],
        "bottom",
        "",
        "To the last row; in the log, follow new entries.",
        Scope::Everywhere,
    ),
    row(
        Action::PageUp,
        &[Key::plain(KeyCode::PageUp), Key::ctrl('u')],
        "page-up",
        "",
        "A page up.",
        Scope::Everywhere,
    ),
    row(
        Action::PageDown,
        &[Key::plain(KeyCode::PageDown), Key::ctrl('d')],
        "page-down",
        "",
        "A page down.",
        Scope::Everywhere,
    ),
    row(
        Action::Open,
        &[
            Key::plain(KeyCode::Enter),
            Key::char('l'),
            Key::plain(KeyCode::Right),
        ],
        "open",
        "open",
        "Open what is under the cursor.",
        Scope::In(&[
            Kind::Goals,
            Kind::Jobs,
            Kind::Approvals,
            Kind::ToVerify,
            Kind::Alerts,
            Kind::Waits,
            Kind::Log,
        ]),
    ),
    change(row(
        Action::Approve,
        &[Key::char('A')],
        "approve",
        "approve",
        "Approve the cutover shown; asks once more. Dead for a moment after the request is drawn or changes.",
        Scope::In(&[Kind::Card]),
    )),
    change(row(
        Action::Reject,
        &[Key::char('X')],
        "reject",
        "reject",
        "Reject the cutover shown, with a reason.",
        Scope::In(&[Kind::Card]),
    )),
    row(
        Action::PrevRequest,
        &[Key::char('[')],
        "previous-request",
        "",
        "The previous open request.",
        Scope::In(&[Kind::Card]),
    ),
    row(
        Action::NextRequest,
        &[Key::char(']')],
        "next-request",
        "next",
        "The next open request.",
        Scope::In(&[Kind::Card]),
    ),
    row(
        Action::CardJob,
        &[Key::char('o')],
        "job-of-request",
        "job",
        "The job of this request with its attempts.",
        Scope::In(&[Kind::Card, Kind::Operation]),
    ),
    change(row(
        Action::LookAgain,
        &[Key::char('r')],
        "look-again",
        "look again",
        "Look the operation up now.",
        Scope::In(&[Kind::Operation]),
    )),
    change(row(
        Action::Rule,
        &[Key::char('V')],
        "rule",
        "rule",
        "Rule on the operation: it happened (with the reference), or it did not.",
        Scope::In(&[Kind::Operation]),
    )),
    row(
        Action::NextNeed,
        &[Key::char('.')],
        "next-need",
        "needs me",
        "The next thing that needs a person, oldest first.",
        Scope::Everywhere,
    ),
    change(row(
        Action::Pause,
        &[Key::char('p')],
        "pause",
        "pause",
        "Pause or resume: nothing new is started for the job; what runs goes on.",
        Scope::In(&[Kind::Jobs, Kind::Job, Kind::Waits]),
    )),
    change(row(
        Action::Retry,
        &[Key::char('r')],
        "retry",
        "retry",
        "Try again from the first strategy; asks once more.",
        Scope::In(&[Kind::Jobs, Kind::Job, Kind::Waits]),
    )),
    row(
        Action::Stepper,
        &[Key::char('o')],
        "attempts",
        "attempts",
        "The job's attempts.",
        Scope::In(&[Kind::Jobs, Kind::Waits]),
    ),
    row(
        Action::PrevAttempt,
        &[Key::char('[')],
        "previous-attempt",
        "[ ] attempt",
        "The previous attempt.",
        Scope::In(&[Kind::Job]),
    ),
    row(
        Action::NextAttempt,
        &[Key::char(']')],
        "next-attempt",
        "",
        "The next attempt.",
        Scope::In(&[Kind::Job]),
    ),
    row(
        Action::FirstAttempt,
        &[Key::char('{')],
        "first-attempt",
        "",
        "The first attempt.",
        Scope::In(&[Kind::Job]),
    ),
    row(
        Action::LastAttempt,
        &[Key::char('}')],
        "last-attempt",
        "",
        "The newest attempt.",
        Scope::In(&[Kind::Job]),
    ),
    row(
        Action::NextPane,
        &[Key::plain(KeyCode::Tab)],
        "next-pane",
        "pane",
        "The next pane.",
        Scope::In(&[Kind::Job]),
    ),
    row(
        Action::PrevPane,
        &[Key::plain(KeyCode::BackTab)],
        "previous-pane",
        "",
        "The previous pane.",
        Scope::In(&[Kind::Job]),
    ),
    change(row(
        Action::Comment,
        &[Key::char('c')],
        "comment",
        "comment",
        "Words for the job's next attempt.",
        Scope::In(&[Kind::Jobs, Kind::Job, Kind::Waits]),
    )),
    change(row(
        Action::HandOver,
        &[Key::char('D')],
        "hand-over",
        "",
        "Give the job to a person, with a reason.",
        Scope::In(&[Kind::Jobs, Kind::Job, Kind::Waits]),
    )),
    row(
        Action::JobLog,
        &[Key::char('L')],
        "log-of-job",
        "",
        "The ledger's entries of this job.",
        Scope::In(&[
            Kind::Jobs,
            Kind::Job,
            Kind::Waits,
            Kind::Card,
            Kind::Operation,
        ]),
    ),
    row(
        Action::Filter,
        &[Key::char('/')],
        "filter",
        "filter",
        "Filter live: words AND, !x excludes; for jobs also state: wait: clause: tries:>1 is:paused.",
        Scope::In(&[Kind::Jobs, Kind::Log]),
    ),
    row(
        Action::Sort,
        &[Key::char('s')],
        "sort",
        "sort",
        "Sort by the next column.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::Reverse,
        &[Key::char('S')],
        "reverse",
        "",
        "Sort the other way round.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::Mark,
        &[Key::char(' ')],
        "mark",
        "",
        "Mark the row and move on; actions then go to all marked jobs.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::MarkRange,
        &[Key::char('v')],
        "mark-range",
        "",
        "Mark everything from the last mark to the cursor.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::MarkAll,
        &[Key::char('*')],
        "mark-all",
        "",
        "Mark all rows shown.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::MarkNone,
        &[Key::char('U')],
        "mark-none",
        "",
        "Forget all marks.",
        Scope::In(&[Kind::Jobs]),
    ),
    row(
        Action::Details,
        &[Key::char('i')],
        "details",
        "details",
        "Details of the row under the cursor, beside the list.",
        Scope::In(&[Kind::Jobs, Kind::Waits]),
    ),
    row(
        Action::Previous,
        &[Key::char('-')],
        "previous-view",
        "",
        "The view before this one.",
        Scope::Everywhere,
    ),
    row(
        Action::Back,
        &[
            Key::plain(KeyCode::Esc),
            Key::char('h'),
            Key::plain(KeyCode::Left),
        ],
        "back",
        "",
        "Back to where this was opened from.",
        Scope::Everywhere,
    ),
    row(
        Action::Help,
        &[Key::char('?')],
        "help",
        "help",
        "Help for this view; type to search, Enter runs it.",
        Scope::Everywhere,
    ),
    row(
        Action::Palette,
        &[Key::char(':')],
        "palette",
        "",
        "Any action by name; also :job NAME.",
        Scope::Everywhere,
    ),
    row(
        Action::Freeze,
        &[Key::char('z')],
        "freeze",
        "",
        "Freeze the display; work goes on.",
        Scope::Everywhere,
    ),
    row(
        Action::Copy,
        &[Key::char('y')],
        "copy",
        "",
        "Send the id under the cursor to the terminal's clipboard.",
        Scope::Everywhere,
    ),
    row(
        Action::Report,
        &[Key::char('R')],
        "report",
        "report",
        "The closing report, as of now.",
        Scope::In(&[Kind::Goals, Kind::Goal]),
    ),
    row(
        Action::Mouse,
        &[Key::char('m')],
        "mouse",
        "",
        "Mouse on or off; off leaves the terminal's own selection.",
        Scope::Everywhere,
    ),
    row(
        Action::Repaint,
        &[Key::ctrl('l')],
        "repaint",
        "",
        "Draw everything again.",
        Scope::Everywhere,
    ),
    row(
        Action::Suspend,
        &[Key::ctrl('z')],
        "suspend",
        "",
        "Suspend the interface; an engine in this process is suspended with it.",
        Scope::Everywhere,
    ),
    row(
        Action::Quit,
        &[Key::char('q')],
        "quit",
        "leave",
        "Close what is on top; at the root, leave. Work is not stopped by it.",
        Scope::Everywhere,
    ),
    row(
        Action::Interrupt,
        &[Key::ctrl('c')],
        "interrupt",
        "",
        "Close what is on top; twice at the root, leave. It never stops work.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Goals),
        &[Key::char('0')],
        "view-goals",
        "",
        "View: all goals of the ledger.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Jobs),
        &[Key::char('1')],
        "view-jobs",
        "",
        "View: jobs.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Approvals),
        &[Key::char('2')],
        "view-approvals",
        "",
        "View: requests for approval.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::ToVerify),
        &[Key::char('3')],
        "view-to-verify",
        "",
        "View: operations of unknown outcome.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Alerts),
        &[Key::char('4')],
        "view-alerts",
        "",
        "View: alerts.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Budgets),
        &[Key::char('5')],
        "view-budgets",
        "",
        "View: budgets.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Goal),
        &[Key::char('6')],
        "view-goal",
        "",
        "View: the contract.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Waits),
        &[Key::char('7')],
        "view-waits",
        "",
        "View: what waits for what.",
        Scope::Everywhere,
    ),
    row(
        Action::View(Kind::Log),
        &[Key::char('8')],
        "view-log",
        "",
        "View: the ledger's entries.",
        Scope::Everywhere,
    ),
];
