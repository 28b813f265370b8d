//! The target port: the new scheduler, with what may go wrong on the way to it.

use super::build::sqlite_failed;
use super::definition::Definition;
use super::effects::{self, Order};
use super::legacy;
use super::settings::HANG_MS;
use super::world::{MAX_MILLION_STEPS, PracticeWorld};
use super::{START, source, validate};
use crate::model::{Action, Digest, FailureClass, JobId, OperationId, TimeMs};
use crate::world::ports::{
    AdapterInfo, Effect, EffectRef, EffectRequest, FiringQuestion, FiringTimes, InProduction,
    Lookup, PortError, RunState, Target, Timed,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};

/// Longest pause between two looks at a run.
const LOOK_AGAIN_MS: i64 = 5 * 60_000;

impl Target for PracticeWorld {
    fn guide(&self) -> String {
        include_str!("guide.md").to_owned()
    }

    fn info(&self) -> AdapterInfo {
        let dedup = self.settings.faults.dedup;
        AdapterInfo {
            name: "practice".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            one_effect_per_id: Action::ALL
                .iter()
                .map(|action| (action.word().to_owned(), dedup))
                .collect(),
            can_roll_back: true,
        }
    }

    fn effect(&self, request: &EffectRequest) -> Timed<Effect> {
        self.try_effect(request).unwrap_or_else(|error| Timed {
            value: Effect::Unknown {
                why: format!("practice world: {error}"),
            },
            took_ms: 1_000,
        })
    }

    fn look_up(&self, action: Action, operation_id: &OperationId, job: &JobId) -> Timed<Lookup> {
        let value = find(&self.writer(), action, operation_id, job).unwrap_or_else(|error| {
            Lookup::CannotTell {
                why: format!("practice world: {error}"),
            }
        });
        Timed {
            value,
            took_ms: self
                .chance
                .between(300, 900, &["look up", operation_id.as_str()]),
        }
    }

    fn run_state(
        &self,
        job: &JobId,
        staged: &EffectRef,
        at: TimeMs,
    ) -> Result<Timed<RunState>, PortError> {
        let value = run_state(&self.reader(), job, staged, at)?;
        Ok(Timed {
            value,
            took_ms: self
                .chance
                .between(200, 800, &["run state", &staged.reference]),
        })
    }

    fn firing_times(
        &self,
        job: &JobId,
        config: &str,
        question: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        let definition = Definition::parse(config).map_err(PortError::job)?;
        Ok(Timed {
            value: validate::firing_times(&definition, question)?,
            took_ms: self.chance.between(200, 900, &["new times", job.as_str()]),
        })
    }

    fn consequences(
        &self,
        job: &JobId,
        config: &str,
        at: TimeMs,
    ) -> Result<Timed<Vec<String>>, PortError> {
        let definition = Definition::parse(config).map_err(PortError::job)?;
        Ok(Timed {
            value: consequences(&self.reader(), job, &definition, at)?,
            took_ms: self
                .chance
                .between(200, 900, &["consequences", job.as_str()]),
        })
    }

    fn production(&self) -> Result<Timed<Option<Vec<InProduction>>>, PortError> {
        let list = effects::in_production(&self.reader())
            .map_err(|error| PortError::environment(format!("practice world: {error}")))?;
        Ok(Timed {
            value: Some(list),
            took_ms: self.chance.between(300, 900, &["production"]),
        })
    }
}

/// What happens to a call before the scheduler answers.
enum Fate {
    Goes,
    Ends(Effect, i64),
}

impl PracticeWorld {
    fn try_effect(&self, request: &EffectRequest) -> rusqlite::Result<Timed<Effect>> {
        let mut conn = self.writer();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let call = count_call(&tx, request)?;
        let took_ms = self.latency(request, call);
        if let Fate::Ends(value, took_ms) = self.fate(request, call, took_ms) {
            tx.commit()?;
            return Ok(Timed { value, took_ms });
        }
        let value = match self.settled(&tx, request, call, took_ms) {
            Ok(value) => value,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                // The transaction is gone; what remains to be kept is that the call was made.
                drop(tx);
                count_call(&conn, request)?;
                let why = format!("the SQL was stopped after {MAX_MILLION_STEPS} million steps");
                let value = refused(why);
                return Ok(Timed { value, took_ms });
            }
            Err(error) => return Err(error),
        };
        tx.commit()?;
        Ok(Timed {
            value: self.reply(request, call, value),
            took_ms,
        })
    }

    /// What is there already under this id, or the effect itself.
    fn settled(
        &self,
        conn: &Connection,
        request: &EffectRequest,
        call: i64,
        took_ms: i64,
    ) -> rusqlite::Result<Effect> {
        let known = effects::existing(conn, request.action, request.operation_id.as_str())?;
        match known.first() {
            Some((_, job, digest)) if self.settings.faults.dedup => {
                if *job != request.job.as_str() {
                    return Ok(refused(format!(
                        "operation {} is {job}'s",
                        request.operation_id
                    )));
                }
                Ok(Effect::Applied(EffectRef {
                    reference: effects::reference(request.action, request.operation_id.as_str(), 1),
                    config_digest: Digest(digest.clone()),
                    observed: "known already under this id".to_owned(),
                }))
            }
            _ => self.apply(conn, request, call, request.at.plus_ms(took_ms)),
        }
    }

    fn latency(&self, request: &EffectRequest, call: i64) -> i64 {
        let (low, high) = match request.action {
            Action::Stage => (1_500, 6_000),
            Action::CutOver | Action::RollBack => (15_000, 25_000),
        };
        let call = call.to_string();
        self.chance.between(
            low,
            high,
            &["latency", request.operation_id.as_str(), &call],
        )
    }

    /// Whether this call meets a fault of this name.
    fn meets(&self, name: &str, rate: f64, request: &EffectRequest, call: i64) -> bool {
        let call = call.to_string();
        self.chance.happens(
            rate,
            &[
                name,
                request.action.word(),
                request.operation_id.as_str(),
                &call,
            ],
        )
    }

    fn fate(&self, request: &EffectRequest, call: i64, took_ms: i64) -> Fate {
        let faults = &self.settings.faults;
        let outage = faults.outages.iter().find(|(start, end)| {
            request.at >= START.plus_ms(*start) && request.at < START.plus_ms(*end)
        });
        if outage.is_some() {
            return Fate::Ends(
                Effect::Refused {
                    why: "scheduler unavailable (503)".to_owned(),
                    class: FailureClass::Environment,
                    retry_after_ms: None,
                },
                took_ms,
            );
        }
        if self.meets("hang", faults.hang, request, call) {
            return Fate::Ends(unknown("no reply: timed out"), HANG_MS);
        }
        if self.meets("rate limit", faults.rate_limit, request, call) {
            let wait = self.chance.between(
                30,
                120,
                &[
                    "retry after",
                    request.operation_id.as_str(),
                    &call.to_string(),
                ],
            );
            return Fate::Ends(
                Effect::Refused {
                    why: format!("rate limit (429), retry after {wait} s"),
                    class: FailureClass::Environment,
                    retry_after_ms: Some(wait * 1000),
                },
                500,
            );
        }
        if self.meets("lost before", faults.lost_reply_before_write, request, call) {
            return Fate::Ends(unknown("connection reset"), took_ms);
        }
        Fate::Goes
    }

    fn apply(
        &self,
        conn: &Connection,
        request: &EffectRequest,
        call: i64,
        at: TimeMs,
    ) -> rusqlite::Result<Effect> {
        let definition = match validate::definition(conn, &request.job, &request.config) {
            Ok(definition) => definition,
            Err(why) => return Ok(refused(why)),
        };
        let day = match &request.logical_date {
            None => super::RUN_DAY,
            Some(date) => match super::day_of_date(date) {
                Some(day) => day,
                None => return Ok(refused(format!("{date} is no date"))),
            },
        };
        let order = Order {
            day,
            request,
            definition: &definition,
            chance: self.chance,
            faults: &self.settings.faults,
            call,
            at,
        };
        match request.action {
            Action::Stage => effects::stage(conn, &order).map(Effect::Applied),
            Action::CutOver => Ok(match effects::cut_over(conn, &order)? {
                Ok(applied) => Effect::Applied(applied),
                Err(why) => refused(why),
            }),
            Action::RollBack => Ok(match effects::roll_back(conn, &order)? {
                Ok(applied) => Effect::Applied(applied),
                Err(why) => refused(why),
            }),
        }
    }

    /// What arrives of a reply.
    fn reply(&self, request: &EffectRequest, call: i64, value: Effect) -> Effect {
        let rate = self.settings.faults.lost_reply_after_write;
        match value {
            Effect::Applied(_) if self.meets("lost after", rate, request, call) => {
                unknown("connection reset while reading the reply")
            }
            other => other,
        }
    }
}

fn unknown(why: &str) -> Effect {
    Effect::Unknown {
        why: why.to_owned(),
    }
}

fn refused(why: String) -> Effect {
    Effect::Refused {
        why,
        class: FailureClass::Job,
        retry_after_ms: None,
    }
}

/// The number of this call among those with the same id; kept in the file, so that a restart neither
/// repeats nor skips a decision.
fn count_call(conn: &Connection, request: &EffectRequest) -> rusqlite::Result<i64> {
    conn.query_row(
        "insert into effect_calls values (?1, ?2, 1) \
         on conflict do update set calls = calls + 1 returning calls",
        [request.operation_id.as_str(), request.action.word()],
        |row| row.get(0),
    )
}

fn find(
    conn: &Connection,
    action: Action,
    operation_id: &OperationId,
    job: &JobId,
) -> rusqlite::Result<Lookup> {
    let (jobs, _) = effects::tables(action);
    let hidden = conn.execute(
        &format!(
            "update {jobs} set hidden_lookups = hidden_lookups - 1 \
             where operation_id = ?1 and hidden_lookups > 0"
        ),
        [operation_id.as_str()],
    )?;
    if hidden > 0 {
        return Ok(Lookup::Absent);
    }
    let known = effects::existing(conn, action, operation_id.as_str())?;
    Ok(match known.as_slice() {
        [] => Lookup::Absent,
        [(_, owner, digest)] if owner == job.as_str() => Lookup::Found(EffectRef {
            reference: effects::reference(action, operation_id.as_str(), 1),
            config_digest: Digest(digest.clone()),
            observed: String::new(),
        }),
        [(_, owner, _)] => Lookup::CannotTell {
            why: format!("operation {operation_id} is {owner}'s"),
        },
        several => Lookup::CannotTell {
            why: format!(
                "{} effects exist under operation {operation_id}",
                several.len()
            ),
        },
    })
}

fn run_state(
    conn: &Connection,
    job: &JobId,
    staged: &EffectRef,
    at: TimeMs,
) -> Result<RunState, PortError> {
    let unknown = || {
        PortError::job(format!(
            "the scheduler knows no run {} of {job}",
            staged.reference
        ))
    };
    let no = effects::referred(conn, Action::Stage, &staged.reference)
        .map_err(sqlite_failed("run state"))?
        .ok_or_else(unknown)?;
    let found = conn
        .query_row(
            "select r.finishes_ms, r.state, r.class, r.why, r.log from staging_runs r \
             join staging_jobs j on j.no = r.no where r.no = ?1 and j.job = ?2",
            params![no, job.as_str()],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, Option<String>>(2)?,
                    row.get::<_, Option<String>>(3)?,
                    row.get::<_, String>(4)?,
                ))
            },
        )
        .optional()
        .map_err(sqlite_failed("run state"))?;
    let (finishes, state, class, why, log) = found.ok_or_else(unknown)?;
    let left = TimeMs(finishes).since(at);
    if left > 0 {
        return Ok(RunState::Running {
            look_again_ms: left.clamp(1_000, LOOK_AGAIN_MS),
        });
    }
    if state == "succeeded" {
        return Ok(RunState::Succeeded { log });
    }
    Ok(RunState::Failed {
        class: class
            .and_then(|word| FailureClass::from_word(&word))
            .unwrap_or(FailureClass::Unclear),
        why: why.unwrap_or_default(),
        log,
    })
}

/// What a cutover at `at` sets off beside itself.
fn consequences(
    conn: &Connection,
    job: &JobId,
    definition: &Definition,
    at: TimeMs,
) -> Result<Vec<String>, PortError> {
    let old = source::old_job(conn, job)?;
    let question = FiringQuestion {
        starts: vec![at],
        count: 1,
    };
    let first = |times: FiringTimes| times.windows.first().and_then(|w| w.first().copied());
    let next_old = legacy::firing_times(&old, &question).ok().and_then(first);
    let next_new = first(validate::firing_times(definition, &question)?);
    let mut out = vec![format!(
        "the old job {} ({} {}) is switched off",
        old.id,
        old.scheduler.word(),
        old.origin
    )];
    out.push("the definition runs once at the cutover, for 2024-03-31".to_owned());
    match (next_old, next_new) {
        (Some(old), Some(new)) if old < new => out.push(format!(
            "the tick of the old job at {old} is run by neither: the new job first fires at {new}"
        )),
        (_, Some(new)) => out.push(format!("the new job next fires at {new}; no run is queued")),
        (_, None) => out.push("the new job never fires".to_owned()),
    }
    if let Some(write) = &definition.write {
        let readers: i64 = conn
            .query_row(
                "select count(*) from legacy_jobs where disabled_by is null \
                 and instr(' ' || depends_on || ' ', ' ' || ?1 || ' ') > 0",
                [job.as_str()],
                |row| row.get(0),
            )
            .map_err(sqlite_failed("consequences"))?;
        if readers > 0 {
            let who = match readers {
                1 => format!(
                    "1 job still on the old scheduler reads {} and goes",
                    write.table
                ),
                _ => format!(
                    "{readers} jobs still on the old scheduler read {} and go",
                    write.table
                ),
            };
            out.push(format!("{who} on reading the old copy"));
        }
    }
    Ok(out)
}
