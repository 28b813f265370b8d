//! The arithmetic of a plan, before anything has run or from what was measured.
//!
//! Pure: assumptions in, figures out. Percents stay whole until the one division at the end, so that a
//! figure that is exact on paper is exact here.

mod assumptions;
mod known;
mod text;

pub use assumptions::{AssumeError, Assumptions, DEFAULTS, Key, MAX_BYTES, Origin, Value};
pub use known::{declare, measure, measure_turns};
pub use text::{assumption_rows, render};

use serde::Serialize;

/// Said wherever a figure rests on independent failures.
pub const CORRELATED: &str = "These figures hold only while staging fails independently: an outage or a bad \
     night fails many jobs at once, and then far more innocent jobs run out of tries than p^n says.";

/// Short loops: a fresh context each, the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShortLoops {
    /// Calls of the model.
    pub turns: f64,
    /// Tokens read.
    pub input_tokens: f64,
    /// Tokens written.
    pub output_tokens: f64,
    /// Of the input: prefix tokens that the cache serves.
    pub cached_tokens: f64,
    /// The rest of the input.
    pub uncached_tokens: f64,
}

/// One conversation for all jobs, compacted whenever it is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LongSession {
    /// Turns from one compaction to the next.
    pub turns_per_cycle: f64,
    /// Compactions.
    pub compactions: f64,
    /// Tokens read by turns.
    pub turn_input_tokens: f64,
    /// Tokens read by compactions.
    pub compaction_input_tokens: f64,
    /// Tokens read in all.
    pub input_tokens: f64,
    /// All of it over the input of short loops.
    pub times_short_loops: f64,
}

/// Innocent jobs that run out of tries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Escalated {
    /// Tries in all.
    pub tries: u32,
    /// Jobs expected, p^n × jobs.
    pub jobs: f64,
}

/// Queries of the clauses over some jobs from nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Queries {
    /// Jobs.
    pub jobs: f64,
    /// Queries, without reruns.
    pub queries: f64,
    /// Days of quota that they take at least.
    pub days: f64,
}

/// What an amendment leaves to do, and whether the quota covers it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The new clause alone on the jobs kept.
    pub kept_queries: f64,
    /// Every clause on the jobs that are not done.
    pub open_queries: f64,
    /// Spent already on jobs that are given up; not counted against what is left.
    pub sunk_queries: f64,
    /// Reruns expected.
    pub rerun_queries: f64,
    /// Of the reruns: on jobs that are not done.
    pub rerun_open_queries: f64,
    /// Of the reruns: on jobs kept.
    pub rerun_kept_queries: f64,
    /// All that is needed.
    pub need_queries: f64,
    /// First and last working day that are left.
    pub days: (f64, f64),
    /// Queries left when the first day is whole.
    pub left_queries: f64,
    /// Left over then; negative when short.
    pub spare_queries: f64,
    /// Queries left when only a part of the first day's quota remains.
    pub left_reduced_queries: f64,
    /// Left over then.
    pub spare_reduced_queries: f64,
    /// Jobs whose cutover is asked for.
    pub approvals: f64,
    /// Minutes of the approver.
    pub approval_minutes: f64,
}

/// The figures once more under another assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Staging fails so often, in percent.
    pub staging_failure_percent: f64,
    /// Innocent jobs escalated then, by tries.
    pub escalated: Vec<Escalated>,
    /// Turns a job.
    pub turns_per_job: f64,
    /// Input of short loops then.
    pub input_tokens: f64,
}

/// Every figure of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Short loops.
    pub short_loops: ShortLoops,
    /// One long session; `None` when its assumptions make no cycle.
    pub long_session: Option<LongSession>,
    /// Innocent jobs escalated, with all tries and with one less.
    pub escalated: Vec<Escalated>,
    /// Version 1 from nothing.
    pub queries: Queries,
    /// With the clause that the change adds, on the jobs that remain.
    pub queries_changed: Queries,
    /// At the change; `None` when it speaks of another number of jobs.
    pub change: Option<Change>,
    /// Minutes of the approver for all jobs that remain.
    pub approval_minutes: f64,
    /// Working days until the deadline.
    pub deadline_days: f64,
    /// The same under other assumptions.
    pub sensitivity: Sensitivity,
}

/// Computes every figure.
pub fn figures(assumed: &Assumptions) -> Figures {
    let of = |key| assumed.get(key);
    let jobs = of(Key::Jobs);
    let short = short_loops(assumed, of(Key::TurnsPerJob));
    let change = change(assumed);
    let (first, changed) = (of(Key::QueriesPerJob), of(Key::QueriesOfChange));
    let remain = if change.is_some() {
        of(Key::KeptJobs) + of(Key::OpenJobs)
    } else {
        jobs
    };
    Figures {
        short_loops: short,
        long_session: long_session(assumed, &short),
        escalated: escalated(assumed, of(Key::FailurePercent)),
        queries: queries(assumed, jobs, first),
        queries_changed: queries(assumed, remain, first + changed),
        change,
        approval_minutes: remain * of(Key::MinutesEach),
        deadline_days: of(Key::WorkingDays),
        sensitivity: Sensitivity {
            staging_failure_percent: of(Key::OtherFailurePercent),
            escalated: escalated(assumed, of(Key::OtherFailurePercent)),
            turns_per_job: of(Key::OtherTurnsPerJob),
            input_tokens: short_loops(assumed, of(Key::OtherTurnsPerJob)).input_tokens,
        },
    }
}

fn short_loops(assumed: &Assumptions, turns_per_job: f64) -> ShortLoops {
    let of = |key| assumed.get(key);
    let turns = of(Key::Jobs) * turns_per_job;
    let prefix = of(Key::PrefixTokens);
    let input = turns * (prefix + of(Key::JobContextTokens));
    let cached = turns * prefix * of(Key::CacheHitPercent) / 100.0;
    ShortLoops {
        turns,
        input_tokens: input,
        output_tokens: turns * of(Key::OutputTokens),
        cached_tokens: cached,
        uncached_tokens: input - cached,
    }
}

fn long_session(assumed: &Assumptions, short: &ShortLoops) -> Option<LongSession> {
    let of = |key| assumed.get(key);
    let room = of(Key::CompactsAt) - of(Key::CompactsTo);
    let cycle = (room / of(Key::AddedPerTurn)).floor();
    if !(cycle >= 1.0 && short.input_tokens > 0.0) {
        return None;
    }
    let compactions = (short.turns / cycle).floor();
    let by_turns = short.turns * of(Key::MeanContext);
    let by_compactions = compactions * of(Key::CompactionReads);
    Some(LongSession {
        turns_per_cycle: cycle,
        compactions,
        turn_input_tokens: by_turns,
        compaction_input_tokens: by_compactions,
        input_tokens: by_turns + by_compactions,
        times_short_loops: (by_turns + by_compactions) / short.input_tokens,
    })
}

/// With all tries, and with one less.
fn escalated(assumed: &Assumptions, percent: f64) -> Vec<Escalated> {
    let tries = assumed.get(Key::Tries).round().max(1.0) as u32;
    let expect = |tries: u32| Escalated {
        tries,
        jobs: percent.powi(tries as i32) * assumed.get(Key::Jobs) / 100_f64.powi(tries as i32),
    };
    let mut all = vec![expect(tries)];
    if tries > 1 {
        all.push(expect(tries - 1));
    }
    all
}

fn queries(assumed: &Assumptions, jobs: f64, per_job: f64) -> Queries {
    let queries = jobs * per_job;
    Queries {
        jobs,
        queries,
        days: (queries / assumed.get(Key::QuotaPerDay)).ceil(),
    }
}

/// `None` when the change speaks of another number of jobs than the plan has.
fn change(assumed: &Assumptions) -> Option<Change> {
    let of = |key| assumed.get(key);
    let (kept, open) = (of(Key::KeptJobs), of(Key::OpenJobs));
    let (reconciled, untouched) = (
        of(Key::RetiredReconciledJobs),
        of(Key::RetiredUntouchedJobs),
    );
    let first_day = of(Key::ChangeDay);
    let last_day = of(Key::WorkingDays).floor();
    if kept + open + reconciled + untouched != of(Key::Jobs) || first_day > last_day {
        return None;
    }
    let (first, added) = (of(Key::QueriesPerJob), of(Key::QueriesOfChange));
    let rerun = of(Key::RerunPercent);
    let kept_queries = kept * added;
    let open_queries = open * (first + added);
    let quota = of(Key::QuotaPerDay);
    let later_days = last_day - first_day;
    let left = (later_days + 1.0) * quota;
    let left_reduced = later_days * quota + of(Key::LeftOnTheDay).min(quota);
    let rerun_queries = (kept_queries + open_queries) * rerun / 100.0;
    let need = kept_queries + open_queries + rerun_queries;
    Some(Change {
        kept_queries,
        open_queries,
        sunk_queries: reconciled * first,
        rerun_queries,
        rerun_open_queries: open_queries * rerun / 100.0,
        rerun_kept_queries: kept_queries * rerun / 100.0,
        need_queries: need,
        days: (first_day, last_day),
        left_queries: left,
        spare_queries: left - need,
        left_reduced_queries: left_reduced,
        spare_reduced_queries: left_reduced - need,
        approvals: kept + open,
        approval_minutes: (kept + open) * of(Key::MinutesEach),
    })
}

#[cfg(test)]
mod tests;
