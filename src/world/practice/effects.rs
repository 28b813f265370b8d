//! The new scheduler's two effects: a staging job with its drill, and a cutover.

use super::chance::Chance;
use super::definition::Definition;
use super::run::{self, Seen, Spec};
use super::settings::Faults;
use super::{START, place, wall_day};
use crate::model::{Action, Digest, FailureClass, JobId, TimeMs};
use crate::world::ports::{EffectRef, EffectRequest, InProduction, Side};
use rusqlite::{Connection, params};
use std::collections::BTreeMap;

/// How often a staging run executes for its one logical date: the drill that shows what a retry would
/// do in production.
pub const DRILL_PASSES: u32 = 2;

const MINUTE_MS: i64 = 60_000;

/// Everything an effect needs beside the connection.
pub(super) struct Order<'a> {
    /// The request.
    pub request: &'a EffectRequest,
    /// Its definition, checked.
    pub definition: &'a Definition,
    /// Decisions.
    pub chance: Chance,
    /// What may go wrong.
    pub faults: &'a Faults,
    /// The call's number among those with the same id.
    pub call: i64,
    /// The logical day.
    pub day: i64,
    /// When the effect happens.
    pub at: TimeMs,
}

/// Which table holds what an action made, and how its references begin.
pub(super) const fn tables(action: Action) -> (&'static str, &'static str) {
    match action {
        Action::Stage => ("staging_jobs", "stg"),
        Action::CutOver => ("production_jobs", "prod"),
        Action::RollBack => ("rollbacks", "back"),
    }
}

/// What exists under an operation id: number, job, config digest.
pub(super) fn existing(
    conn: &Connection,
    action: Action,
    operation_id: &str,
) -> rusqlite::Result<Vec<(i64, String, String)>> {
    let (jobs, _) = tables(action);
    conn.prepare_cached(&format!(
        "select no, job, config_digest from {jobs} where operation_id = ?1 order by no"
    ))?
    .query_map([operation_id], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?
    .collect()
}

/// Every job in production, oldest first.
pub(super) fn in_production(conn: &Connection) -> rusqlite::Result<Vec<InProduction>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    conn.prepare_cached("select operation_id, job, config_digest from production_jobs order by no")?
        .query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
            ))
        })?
        .map(|row| {
            let (operation, job, digest) = row?;
            let place = places.entry(operation.clone()).or_default();
            *place += 1;
            Ok(InProduction {
                job: JobId(job),
                reference: reference(Action::CutOver, &operation, *place),
                config_digest: Digest(digest),
            })
        })
        .collect()
}

/// The reference of the `place`th effect (from 1) under an operation id. It comes from the id and not
/// from the order of arrival, so that it is the same however threads take turns.
pub(super) fn reference(action: Action, operation_id: &str, place: usize) -> String {
    let side = tables(action).1;
    if place <= 1 {
        format!("{side}-{operation_id}")
    } else {
        format!("{side}-{operation_id}.{place}")
    }
}

/// The number of the stored job behind a reference.
pub(super) fn referred(
    conn: &Connection,
    action: Action,
    reference: &str,
) -> rusqlite::Result<Option<i64>> {
    let name = reference
        .strip_prefix(tables(action).1)
        .and_then(|rest| rest.strip_prefix('-'))
        .unwrap_or_default();
    let (operation_id, place) = match name.rsplit_once('.') {
        Some((id, place)) => (id, place.parse().unwrap_or(0usize)),
        None => (name, 1),
    };
    let all = existing(conn, action, operation_id)?;
    Ok(place
        .checked_sub(1)
        .and_then(|index| all.get(index))
        .map(|(no, ..)| *no))
}

/// Stores a staging job and runs its drill. Its result is there at once, but is shown only when the
/// run's virtual time is over.
pub(super) fn stage(conn: &Connection, order: &Order<'_>) -> rusqlite::Result<EffectRef> {
    let (no, reference) = store(conn, order)?;
    let key = order.request.operation_id.as_str();
    let minutes = order.chance.between(3, 12, &["minutes", key]);
    let seconds = order.chance.between(0, 59, &["seconds", key]);
    let finishes = order.at.plus_ms(minutes * MINUTE_MS + seconds * 1000);
    let outcome = match fault(order, finishes) {
        Some((class, why)) => {
            run::empty(conn, &place(Side::Staging, order.day), order.definition)?;
            let log = format!("{why}\n");
            let seen = Seen {
                exit: 1,
                tasks: 0,
                effects: Vec::new(),
                log,
                why,
            };
            (seen, class)
        }
        None => {
            let upstream = order
                .request
                .upstream
                .iter()
                .map(|up| (up.job.clone(), up.side))
                .collect();
            let seen = run::execute(conn, &spec(order, Side::Staging, &upstream))?;
            (seen, FailureClass::Job)
        }
    };
    record(conn, order, no, finishes, &outcome.0, outcome.1)?;
    Ok(EffectRef {
        reference,
        config_digest: order.request.config_digest.clone(),
        observed: format!(
            "the drill for {} runs until {finishes}",
            super::date_of_day(order.day)
        ),
    })
}

/// Puts a definition into production, switches the old job off and runs the logical date once. `Err`
/// with a reason when that run fails: then nothing happened.
pub(super) fn cut_over(
    conn: &Connection,
    order: &Order<'_>,
) -> rusqlite::Result<Result<EffectRef, String>> {
    let mut upstream = BTreeMap::new();
    for job in &order.definition.depends_on {
        let side = if run::is_cut_over(conn, job)? {
            Side::Production
        } else {
            Side::Legacy
        };
        upstream.insert(job.clone(), side);
    }
    let seen = run::execute(conn, &spec(order, Side::Production, &upstream))?;
    if !seen.why.is_empty() {
        return Ok(Err(format!(
            "the first production run failed: {}",
            seen.why
        )));
    }
    let (no, reference) = store(conn, order)?;
    record(conn, order, no, order.at, &seen, FailureClass::Job)?;
    conn.execute(
        "update legacy_jobs set disabled_at_ms = ?1, disabled_by = ?2 where job = ?3 and disabled_by is null",
        params![order.at.0, order.request.operation_id.as_str(), order.request.job.as_str()],
    )?;
    let told = seen.log.lines().last().unwrap_or("").to_owned();
    Ok(Ok(EffectRef {
        reference,
        config_digest: order.request.config_digest.clone(),
        observed: format!("the old job is switched off; first production run: {told}"),
    }))
}

/// Takes a definition out of production and switches the old job on again. `Err` with a reason when it
/// does not run there: then nothing happened. Tables that it wrote stay; nobody reads them.
pub(super) fn roll_back(
    conn: &Connection,
    order: &Order<'_>,
) -> rusqlite::Result<Result<EffectRef, String>> {
    let request = order.request;
    let removed = conn.execute(
        "update production_jobs set removed_ms = ?1, removed_by = ?2 \
         where job = ?3 and config_digest = ?4 and removed_by is null",
        params![
            order.at.0,
            request.operation_id.as_str(),
            request.job.as_str(),
            request.config_digest.0
        ],
    )?;
    if removed == 0 {
        return Ok(Err(format!(
            "{} does not run this definition in production",
            request.job
        )));
    }
    conn.execute(
        "update legacy_jobs set disabled_at_ms = null, disabled_by = null where job = ?1",
        [request.job.as_str()],
    )?;
    let (_, reference) = store(conn, order)?;
    Ok(Ok(EffectRef {
        reference,
        config_digest: request.config_digest.clone(),
        observed: "the old job is switched on again; readers get the old copy".to_owned(),
    }))
}

fn spec<'a>(order: &'a Order<'_>, side: Side, upstream: &'a BTreeMap<JobId, Side>) -> Spec<'a> {
    Spec {
        definition: order.definition,
        day: order.day,
        place: place(side, order.day),
        wall_day: wall_day(order.at),
        upstream,
        passes: if side == Side::Staging {
            DRILL_PASSES
        } else {
            1
        },
        nonce: order.request.operation_id.as_str(),
        depth: 0,
    }
}

/// A failure that is not the definition's: an outage that the run meets, or plain bad luck.
fn fault(order: &Order<'_>, finishes: TimeMs) -> Option<(FailureClass, String)> {
    let meets = |(start, end): &&(i64, i64)| {
        order.at < START.plus_ms(*end) && finishes > START.plus_ms(*start)
    };
    if order.faults.outages.iter().any(|window| meets(&window)) {
        let why = "the worker was lost: connection to the scheduler closed".to_owned();
        return Some((FailureClass::Environment, why));
    }
    let call = order.call.to_string();
    let key = [
        "staging failure",
        order.request.operation_id.as_str(),
        &call,
    ];
    if !order.chance.happens(order.faults.staging_failure, &key) {
        return None;
    }
    let which = order.chance.between(
        0,
        2,
        &["which failure", order.request.operation_id.as_str()],
    );
    Some(match which {
        0 => (
            FailureClass::Environment,
            "the worker ran out of memory (exit 137)".to_owned(),
        ),
        1 => (
            FailureClass::Environment,
            "could not connect to the warehouse: timed out".to_owned(),
        ),
        _ => (
            FailureClass::Unclear,
            "the run ended with exit 1 and an empty log".to_owned(),
        ),
    })
}

/// Stores the job and counts the effect; gives its number and reference.
fn store(conn: &Connection, order: &Order<'_>) -> rusqlite::Result<(i64, String)> {
    let request = order.request;
    let (jobs, _) = tables(request.action);
    conn.execute(
        &format!(
            "insert into {jobs} (operation_id, job, config, config_digest, created_ms, hidden_lookups) \
             values (?1, ?2, ?3, ?4, ?5, ?6)"
        ),
        params![
            request.operation_id.as_str(),
            request.job.as_str(),
            request.config,
            request.config_digest.0,
            order.at.0,
            order.faults.hidden_lookups
        ],
    )?;
    let no = conn.last_insert_rowid();
    let operation_id = request.operation_id.as_str();
    let place = existing(conn, request.action, operation_id)?.len();
    let reference = reference(request.action, operation_id, place);
    conn.execute(
        "insert into effects (operation_id, action, job, reference, at_ms, wall_ms, process) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            request.operation_id.as_str(),
            request.action.word(),
            request.job.as_str(),
            reference,
            order.at.0,
            // Only for people who look at the file: nothing is decided by the machine's clock.
            jiff::Timestamp::now().as_millisecond(),
            std::process::id()
        ],
    )?;
    Ok((no, reference))
}

fn record(
    conn: &Connection,
    order: &Order<'_>,
    no: i64,
    finishes: TimeMs,
    seen: &Seen,
    class: FailureClass,
) -> rusqlite::Result<()> {
    let runs = match order.request.action {
        Action::Stage => "staging_runs",
        _ => "production_runs",
    };
    let failed = !seen.why.is_empty();
    let Digest(digest) = seen.effect_digest();
    conn.execute(
        &format!("insert into {runs} values (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)"),
        params![
            no,
            order.day,
            order.at.0,
            finishes.0,
            if failed { "failed" } else { "succeeded" },
            failed.then(|| class.word()),
            failed.then_some(&seen.why),
            seen.exit,
            seen.tasks,
            digest,
            seen.effects.join("\n"),
            seen.log
        ],
    )?;
    Ok(())
}
