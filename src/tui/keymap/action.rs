//! Everything that can be asked of the interface, by name.

use crate::tui::app::place::Kind;

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
    /// What differs between ledger and world after an unclean stop.
    Drift,
    /// Accept the marked differences, or the one under the cursor: the world wins.
    AcceptDrift,
    /// Compare ledger and world again.
    CompareAgain,
    /// Rule on an alarm of spinning: it is none; or it is one again.
    RuleSpin,
    /// Read a changed goal file and show what it would do.
    AmendFile,
    /// Put the changed goal file in force.
    PutInForce,
    /// Read the changed goal file again.
    ReadAgain,
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
    /// The contract version before the one shown.
    PrevVersion,
    /// The contract version after the one shown.
    NextVersion,
    /// The next pane.
    NextPane,
    /// The previous pane.
    PrevPane,
    /// Answer what the worker asks.
    Answer,
    /// Show long texts of a loop whole, or folded.
    Unfold,
    /// Words for the job's next attempt.
    Comment,
    /// Give the job to a person, with a reason.
    HandOver,
    /// Ask for a job in production to go back to the old side.
    RollBack,
    /// The ledger's entries of this job.
    JobLog,
    /// Would the wait under the cursor end now?
    WouldWake,
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
    /// The next thing that needs a person, by the cost of its delay.
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
    /// Send what the screen shows of this view to the terminal's clipboard.
    CopyText,
    /// The closing report, as of now.
    Report,
    /// The guided tour: begin it, or end it.
    Tour,
    /// Mouse on or off; off leaves the terminal's own selection.
    Mouse,
    /// Draw everything again.
    Repaint,
    /// Suspend the interface; an engine in this process is suspended with it.
    Suspend,
    /// Close what is on top, or go back; at the root of a view, leave. Work is not stopped by it.
    Quit,
    /// Close what is on top; twice at the root, leave. It never stops work.
    Interrupt,
    /// Go to a numbered view.
    View(Kind),
}
