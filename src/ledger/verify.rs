//! `dogwatch verify`: recompute the chains, replay the events, compare every projection row.

use super::apply::{Applier, FactsCache};
use super::blobs;
use super::error::LedgerError;
use super::event::{Actor, Entry, Event};
use super::facts::{ApprovalState, JobFacts};
use super::read::Reader;
use super::schema;
use super::store::StoredEvent;
use crate::model::{AttemptNo, Digest, GoalId, JobId, Seq, TimeMs};
use rusqlite::{Connection, types::Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Damage reported at most; the rest is counted.
const MAX_REPORTED: usize = 50;

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The goal; empty for the whole ledger.
    pub goal: String,
    /// The job; empty for the goal.
    pub job: String,
    /// What does not fit.
    pub what: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Entries read.
    pub entries: u64,
    /// Chains recomputed.
    pub chains: u64,
    /// Projection rows compared.
    pub rows: u64,
    /// Blobs recomputed.
    pub blobs: u64,
    /// What does not fit, at most 50.
    pub damage: Vec<Damage>,
    /// How much more does not fit.
    pub more: u64,
    /// Keep every damage: an engine's start must know of each damaged job.
    keep_all: bool,
}

impl VerifyReport {
    /// Whether everything fits.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// `ok`, or the first damage.
    pub fn word(&self) -> String {
        match self.damage.first() {
            None => "ok".to_owned(),
            Some(first) => format!(
                "{} damaged, first: {} {}: {}",
                self.damage.len() as u64 + self.more,
                first.goal,
                first.job,
                first.what
            ),
        }
    }

    fn add(&mut self, goal: &str, job: &str, what: String) {
        if self.keep_all || self.damage.len() < MAX_REPORTED {
            self.damage.push(Damage {
                goal: goal.to_owned(),
                job: job.to_owned(),
                what,
            });
        } else {
            self.more += 1;
        }
    }
}

/// Verifies a whole ledger; reads only.
///
/// # Errors
/// When the file cannot be read at all. Damage inside it is in the report.
pub fn verify(path: &Path) -> Result<VerifyReport, LedgerError> {
    let reader = Reader::open(path)?;
    let conn = reader.connection();
    let sql = |error| LedgerError::from_sqlite(path, error);
    // One snapshot, so that a running engine does not look like damage.
    conn.execute_batch("BEGIN").map_err(sql)?;
    let mut report = VerifyReport::default();
    let replay = replay(conn, &mut report).map_err(sql)?;
    for (table, order) in schema::PROJECTIONS {
        compare(conn, &replay, table, order, &mut report).map_err(sql)?;
    }
    check_blobs(conn, &mut report).map_err(sql)?;
    conn.execute_batch("COMMIT").map_err(sql)?;
    Ok(report)
}

/// Jobs (and goals, with an empty job) whose chain does not fit: refused before any operation.
///
/// # Errors
/// When the events cannot be read at all.
pub(crate) fn broken_chains(conn: &Connection) -> rusqlite::Result<Vec<Damage>> {
    let mut report = VerifyReport {
        keep_all: true,
        ..VerifyReport::default()
    };
    let mut chains = ChainCheck::default();
    each_event(conn, |event, hash| {
        chains.add(&event, &hash, &mut report);
        Ok(())
    })?;
    chains.finish(conn, &mut report)?;
    Ok(report.damage)
}

#[derive(Default)]
struct ChainCheck {
    heads: BTreeMap<(String, String), (String, i64)>,
    broken: BTreeSet<(String, String)>,
    last_seq: i64,
}

impl ChainCheck {
    fn add(&mut self, event: &StoredEvent, hash: &str, report: &mut VerifyReport) {
        if event.seq != self.last_seq + 1 {
            report.add(
                &event.goal,
                &event.job,
                format!("entry {} follows entry {}", event.seq, self.last_seq),
            );
        }
        self.last_seq = event.seq;
        let key = (event.goal.clone(), event.job.clone());
        let (head, entries) = self.heads.get(&key).cloned().unwrap_or_default();
        if event.hash(&head) != hash && self.broken.insert(key.clone()) {
            report.add(
                &event.goal,
                &event.job,
                format!("entry {} does not match its hash", event.seq),
            );
        }
        self.heads.insert(key, (hash.to_owned(), entries + 1));
    }

    fn finish(&self, conn: &Connection, report: &mut VerifyReport) -> rusqlite::Result<()> {
        let mut statement = conn.prepare("SELECT goal, job, head, entries FROM chains")?;
        let mut rows = statement.query([])?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let key: (String, String) = (row.get(0)?, row.get(1)?);
            let stored: (String, i64) = (row.get(2)?, row.get(3)?);
            seen += 1;
            if self.heads.get(&key) != Some(&stored) {
                report.add(
                    &key.0,
                    &key.1,
                    "the chain's head is not its last entry".to_owned(),
                );
            }
        }
        if seen != self.heads.len() {
            report.add("", "", format!("{} chains, {seen} heads", self.heads.len()));
        }
        report.chains = self.heads.len() as u64;
        Ok(())
    }
}

fn each_event(
    conn: &Connection,
    mut act: impl FnMut(StoredEvent, String) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(
        "SELECT seq, at_ms, goal, job, attempt, actor, kind, body, hash FROM events ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let event = StoredEvent {
            seq: row.get(0)?,
            at_ms: row.get(1)?,
            goal: row.get(2)?,
            job: row.get(3)?,
            attempt: row.get(4)?,
            actor: row.get(5)?,
            kind: row.get(6)?,
            body: row.get(7)?,
        };
        act(event, row.get(8)?)?;
    }
    Ok(())
}

fn replay(conn: &Connection, report: &mut VerifyReport) -> rusqlite::Result<Connection> {
    let scratch = schema::scratch()?;
    let mut chains = ChainCheck::default();
    let mut cache = FactsCache::new();
    {
        let mut applier = Applier::new(&scratch, &mut cache);
        each_event(conn, |event, hash| {
            report.entries += 1;
            chains.add(&event, &hash, report);
            match entry_of(&event) {
                Ok(entry) => {
                    if let Some(why) = unapproved_use(&applier, &entry) {
                        report.add(
                            &event.goal,
                            &event.job,
                            format!("entry {}: {why}", event.seq),
                        );
                    }
                    applier.apply(Seq(event.seq), &entry)?;
                }
                Err(why) => report.add(
                    &event.goal,
                    &event.job,
                    format!("entry {}: {why}", event.seq),
                ),
            }
            Ok(())
        })?;
        applier.finish()?;
    }
    for ((goal, job), (head, entries)) in &chains.heads {
        scratch.execute(
            "INSERT INTO chains(goal, job, head, entries) VALUES (?1, ?2, ?3, ?4)",
            rusqlite::params![goal, job, head, entries],
        )?;
    }
    chains.finish(conn, report)?;
    Ok(scratch)
}

/// Why an intent that uses an approval may not: nothing in the entries before it says yes.
fn unapproved_use(applier: &Applier<'_>, entry: &Entry) -> Option<String> {
    let Event::OpIntended {
        operation,
        approval: Some(approval),
        ..
    } = &entry.event
    else {
        return None;
    };
    let facts = applier.facts(&entry.goal, entry.job.as_ref()?)?;
    let said_yes = facts
        .approval
        .as_ref()
        .is_some_and(|own| own.id == *approval && own.state == ApprovalState::Approved);
    (!said_yes)
        .then(|| format!("operation {operation} uses request {approval}, which nobody approved"))
}

/// A job's facts from its entries alone; `None` when they do not begin with its listing.
pub(super) fn replay_job(
    conn: &Connection,
    goal: &GoalId,
    job: &JobId,
) -> rusqlite::Result<Option<JobFacts>> {
    let mut facts: Option<JobFacts> = None;
    each_event(conn, |event, _| {
        if event.goal == goal.0
            && event.job == job.0
            && let Ok(entry) = entry_of(&event)
            && entry.event.changes_job()
        {
            match &mut facts {
                Some(facts) => facts.apply(&entry),
                None => facts = JobFacts::added(&entry),
            }
        }
        Ok(())
    })?;
    Ok(facts)
}

pub(super) fn entry_of(event: &StoredEvent) -> Result<Entry, String> {
    Ok(Entry {
        at: TimeMs(event.at_ms),
        goal: GoalId(event.goal.clone()),
        job: (!event.job.is_empty()).then(|| JobId(event.job.clone())),
        attempt: (event.attempt > 0).then_some(AttemptNo(event.attempt)),
        actor: Actor::from_word(&event.actor),
        event: Event::from_stored(&event.kind, &event.body).map_err(|error| error.to_string())?,
    })
}

fn compare(
    conn: &Connection,
    replay: &Connection,
    table: &str,
    order: &str,
    report: &mut VerifyReport,
) -> rusqlite::Result<()> {
    let sql = format!("SELECT * FROM {table} ORDER BY {order}");
    let mut stored = conn.prepare(&sql)?;
    let mut again = replay.prepare(&sql)?;
    let columns = stored.column_count();
    let mut stored_rows = stored.query([])?;
    let mut again_rows = again.query([])?;
    loop {
        let left = stored_rows
            .next()?
            .map(|row| values(row, columns))
            .transpose()?;
        let right = again_rows
            .next()?
            .map(|row| values(row, columns))
            .transpose()?;
        match (left, right) {
            (None, None) => return Ok(()),
            (Some(left), Some(right)) if left == right => report.rows += 1,
            (left, right) => {
                let row = left.or(right).unwrap_or_default();
                let word = |index: usize| match row.get(index) {
                    Some(Value::Text(text)) => text.clone(),
                    Some(Value::Integer(number)) => number.to_string(),
                    _ => String::new(),
                };
                report.add(
                    &word(0),
                    &word(1),
                    format!("a row of {table} is not what the events give"),
                );
                // Everything after a missing row would differ as well.
                return Ok(());
            }
        }
    }
}

fn values(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Vec<Value>> {
    (0..columns).map(|index| row.get(index)).collect()
}

fn check_blobs(conn: &Connection, report: &mut VerifyReport) -> rusqlite::Result<()> {
    let mut statement = conn.prepare("SELECT digest FROM blobs")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest = Digest(row.get(0)?);
        report.blobs += 1;
        if let Some(Err(why)) = blobs::get(conn, &digest)? {
            report.add("", "", why);
        }
    }
    Ok(())
}
