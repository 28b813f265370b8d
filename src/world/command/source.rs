//! The old scheduler as an executable.

use super::call::{Adapter, CallFailure};
use super::cron::{self, CronSchedule};
use crate::model::{JobId, LogicalDate};
use crate::world::ports::{
    FiringQuestion, FiringTimes, MAX_OTHER_DATES, PortError, Source, SourceJob, Timed,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most jobs of one source.
const MAX_JOBS: usize = 50_000;
/// Longest job id, in bytes.
const MAX_ID_BYTES: usize = 200;
/// Longest logical date.
const MAX_DATE_BYTES: usize = 32;
/// Most bytes of what stands beside a job; a model reads the first 24 KiB.
const MAX_BESIDE_BYTES: usize = 64 * 1024;
const HOLD_KINDS: [&str; 2] = ["retire", "impossible"];

/// A source adapter.
pub struct CommandSource {
    adapter: Adapter,
    /// What the last list said about schedules; `None` before the first.
    schedules: Mutex<Option<Schedules>>,
}

#[derive(Clone, Default)]
struct Schedules {
    by_job: BTreeMap<JobId, Option<CronSchedule>>,
    adapter_answers: bool,
    answers_beside: bool,
    answers_other_dates: bool,
}

#[derive(Serialize, Deserialize)]
struct ListReply {
    jobs: Vec<ListedJob>,
    /// Whether the adapter answers `firing_times` itself.
    #[serde(default)]
    answers_firing_times: bool,
    /// Whether the adapter answers `beside`.
    #[serde(default)]
    answers_beside: bool,
    /// Whether the adapter answers `other_dates`.
    #[serde(default)]
    answers_other_dates: bool,
    /// What became of each line or entry the adapter read.
    #[serde(default)]
    accounting: Option<Accounting>,
}

#[derive(Serialize, Deserialize)]
struct ListedJob {
    #[serde(flatten)]
    job: SourceJob,
    #[serde(default)]
    schedule: Option<CronSchedule>,
}

#[derive(Serialize, Deserialize)]
struct BesideReply {
    text: String,
}

#[derive(Serialize, Deserialize)]
struct DatesReply {
    dates: Vec<LogicalDate>,
}

#[derive(Serialize, Deserialize)]
struct Accounting {
    lines: u64,
    kinds: BTreeMap<String, u64>,
}

impl CommandSource {
    /// A source that asks this adapter.
    pub fn new(adapter: Adapter) -> Self {
        Self {
            adapter,
            schedules: Mutex::new(None),
        }
    }

    fn remembered(&self) -> MutexGuard<'_, Option<Schedules>> {
        // What is remembered is replaced as a whole, so a panic elsewhere leaves it whole too.
        self.schedules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self) -> Result<Vec<SourceJob>, CallFailure> {
        let reply: ListReply = self.adapter.call("list", &json!({}))?;
        self.judge(&reply)
            .map_err(|why| self.adapter.implausible("list", &why))?;
        let mut schedules = Schedules {
            adapter_answers: reply.answers_firing_times,
            answers_beside: reply.answers_beside,
            answers_other_dates: reply.answers_other_dates,
            ..Schedules::default()
        };
        let mut jobs = Vec::with_capacity(reply.jobs.len());
        for listed in reply.jobs {
            let id = listed.job.id.clone();
            schedules.by_job.insert(id, listed.schedule);
            jobs.push(listed.job);
        }
        *self.remembered() = Some(schedules);
        Ok(jobs)
    }

    /// Whether a list can be what it says it is.
    fn judge(&self, reply: &ListReply) -> Result<(), String> {
        if reply.jobs.len() > MAX_JOBS {
            return Err(format!("{} jobs; at most {MAX_JOBS}", reply.jobs.len()));
        }
        let mut seen = BTreeMap::new();
        for (index, listed) in reply.jobs.iter().enumerate() {
            let job = &listed.job;
            judge_id(job.id.as_str()).map_err(|why| format!("job {}: {why}", index + 1))?;
            if seen.insert(&job.id, ()).is_some() {
                return Err(format!("two jobs have the id {}", job.id));
            }
            if let Some(output) = &job.output {
                judge_table(&output.table).map_err(|why| format!("job {}: {why}", job.id))?;
            }
            if let Some(hold) = &job.hold
                && !HOLD_KINDS.contains(&hold.kind.as_str())
            {
                return Err(format!(
                    "job {}: the hold's kind is \"{}\"; expected retire or impossible",
                    job.id, hold.kind
                ));
            }
        }
        if let Some(accounting) = &reply.accounting {
            let told: u64 = accounting.kinds.values().sum();
            if told != accounting.lines {
                return Err(format!(
                    "{} lines were read and {told} are accounted for",
                    accounting.lines
                ));
            }
        }
        Ok(())
    }

    fn schedules(&self) -> Result<Schedules, CallFailure> {
        if let Some(schedules) = self.remembered().clone() {
            return Ok(schedules);
        }
        self.fetch()?;
        Ok(self.remembered().clone().unwrap_or_default())
    }
}

/// Tables become part of the checkers' SQL.
fn judge_table(table: &str) -> Result<(), String> {
    let good = !table.is_empty()
        && table.len() <= MAX_ID_BYTES
        && table
            .chars()
            .all(|c| c.is_alphanumeric() || "_.$".contains(c));
    if good {
        Ok(())
    } else {
        Err(format!(
            "the table {table:?} is no plain name: letters, digits, `_`, `$` and `.` only"
        ))
    }
}

/// Ids become arguments of commands and parts of file names.
fn judge_id(id: &str) -> Result<(), String> {
    let good = id.len() <= MAX_ID_BYTES
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:@+".contains(&byte));
    if good {
        Ok(())
    } else {
        let shown: String = id.chars().take(60).collect();
        Err(format!(
            "\"{shown}\" is no id; expected 1 to {MAX_ID_BYTES} of letters, digits and -_.:@+, beginning \
             with a letter or digit"
        ))
    }
}

impl Source for CommandSource {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        Ok(Timed::now(self.fetch()?))
    }

    fn beside(&self, job: &JobId) -> Result<Timed<String>, PortError> {
        if !self.schedules()?.answers_beside {
            return Ok(Timed::now(String::new()));
        }
        let reply: BesideReply = self.adapter.call("beside", &json!({ "job": job }))?;
        if reply.text.len() > MAX_BESIDE_BYTES {
            let why = format!(
                "{} bytes; at most {MAX_BESIDE_BYTES} stand beside a job",
                reply.text.len()
            );
            return Err(self.adapter.implausible("beside", &why).into());
        }
        Ok(Timed::now(reply.text))
    }

    fn other_dates(&self, job: &JobId) -> Result<Timed<Vec<LogicalDate>>, PortError> {
        if !self.schedules()?.answers_other_dates {
            return Ok(Timed::now(Vec::new()));
        }
        let reply: DatesReply = self.adapter.call("other_dates", &json!({ "job": job }))?;
        judge_dates(&reply.dates).map_err(|why| self.adapter.implausible("other_dates", &why))?;
        Ok(Timed::now(reply.dates))
    }

    fn firing_times(
        &self,
        job: &JobId,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        let schedules = self.schedules()?;
        if schedules.adapter_answers {
            let params = json!({"job": job, "starts": question.starts, "count": question.count});
            let times: FiringTimes = self.adapter.call("firing_times", &params)?;
            judge_times(&times, question)
                .map_err(|why| self.adapter.implausible("firing_times", &why))?;
            return Ok(Timed::now(times));
        }
        match schedules.by_job.get(job) {
            None => Err(PortError::job(format!("the source has no job {job}"))),
            Some(None) => Err(PortError::job(format!(
                "the source names no schedule for {job}"
            ))),
            Some(Some(schedule)) => cron::firing_times(schedule, question)
                .map(Timed::now)
                .map_err(PortError::job),
        }
    }
}

/// Dates become parts of table names and of requests.
fn judge_dates(dates: &[LogicalDate]) -> Result<(), String> {
    if dates.len() > MAX_OTHER_DATES {
        return Err(format!("{} dates; at most {MAX_OTHER_DATES}", dates.len()));
    }
    let strange = |date: &&LogicalDate| {
        let text = date.as_str();
        !(1..=MAX_DATE_BYTES).contains(&text.len())
            || !text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_:".contains(&byte))
    };
    match dates.iter().find(strange) {
        Some(date) => Err(format!(
            "{:?} is no date; expected 1 to {MAX_DATE_BYTES} of letters, digits and -_:",
            date.as_str().chars().take(60).collect::<String>()
        )),
        None => Ok(()),
    }
}

/// Whether firing times answer the question: one window a start, ascending, after the start, not too many.
pub(super) fn judge_times(times: &FiringTimes, question: &FiringQuestion) -> Result<(), String> {
    if times.windows.len() != question.starts.len() {
        return Err(format!(
            "{} windows for {} starts",
            times.windows.len(),
            question.starts.len()
        ));
    }
    for (window, start) in times.windows.iter().zip(&question.starts) {
        if window.len() > question.count {
            return Err(format!(
                "{} instants; {} were asked",
                window.len(),
                question.count
            ));
        }
        if window.first().is_some_and(|first| first <= start) {
            return Err("an instant that is not after its start".to_owned());
        }
        if !window.is_sorted_by(|a, b| a < b) {
            return Err("instants that do not ascend".to_owned());
        }
    }
    Ok(())
}
