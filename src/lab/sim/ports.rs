//! The simulated world's ports: where its faults are.

use super::meddle::ADDED;
use super::world::{
    HAS_TABLE, Made, SimWorld, State, Truth, found, reference, refused, right_effects,
};
use crate::model::{Action, FailureClass, JobId, LogicalDate, OperationId, TimeMs, digest_bytes};
use crate::world::ports::{
    AdapterInfo, Cell, Column, ColumnKind, Effect, EffectRef, EffectRequest, FiringQuestion,
    FiringTimes, Hold, InProduction, Lookup, Output, PortError, Probe, Rows, RunFacts, RunState,
    Side, Source, SourceJob, Target, Timed, Warehouse,
};

const MINUTE_MS: i64 = 60_000;

impl Source for SimWorld {
    fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
        let state = self.state();
        let added = JobId::from(ADDED);
        let added = state.added.then_some(&added);
        let there = self.order.iter().filter(|id| !state.removed.contains(*id));
        let jobs = there.chain(added).filter_map(|id| self.jobs.get(id));
        let jobs = jobs.map(|plan| {
            let id = plan.id();
            let edits = state.redefined.get(&JobId(id.clone()));
            let edits = edits.map_or(String::new(), |count| format!(" edited {count} times"));
            SourceJob {
                title: format!("Simulated {id}"),
                tags: plan
                    .table
                    .then(|| HAS_TABLE.to_owned())
                    .into_iter()
                    .collect(),
                depends_on: plan
                    .upstream
                    .iter()
                    .map(|number| JobId(format!("job-{number:03}")))
                    .collect(),
                origin: "simulation".to_owned(),
                definition: format!("old {id}{edits}"),
                output: plan.table.then(|| Output {
                    table: id.clone(),
                    key: vec!["id".to_owned()],
                    columns: vec![Column {
                        name: "id".to_owned(),
                        kind: ColumnKind::Integer,
                    }],
                }),
                hold: plan.held.then(|| Hold {
                    kind: "retire".to_owned(),
                    reason: "nobody reads it".to_owned(),
                    evidence: Vec::new(),
                }),
                id: JobId(id),
            }
        });
        Ok(Timed::now(jobs.collect()))
    }

    fn other_dates(&self, job: &JobId) -> Result<Timed<Vec<LogicalDate>>, PortError> {
        let took_ms = self.answers("other dates", job)?;
        let mut state = self.state();
        *state.faults.entry("nothing to compare").or_default() += 1;
        drop(state);
        let count = self.dice.below(6, &["how many dates", job.as_str()], 0);
        let dates = (1..=count).map(|number| LogicalDate(format!("date-{number}")));
        Ok(Timed {
            value: dates.collect(),
            took_ms,
        })
    }

    fn firing_times(&self, _: &JobId, _: &FiringQuestion) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("simulated jobs have no schedule"))
    }
}

impl SimWorld {
    /// A question that may get no answer.
    fn answers(&self, kind: &'static str, job: &JobId) -> Result<i64, PortError> {
        let mut state = self.state();
        let count = self.count(&mut state, kind, job);
        if self.is_out(&mut state) {
            return Err(PortError::environment("nothing answers"));
        }
        if self.fault(&mut state, self.faults.no_answer, "no answer", job, count) {
            return Err(PortError {
                what: "the question was dropped".to_owned(),
                class: FailureClass::Unclear,
                retry_after_ms: (count.is_multiple_of(2)).then_some(2 * MINUTE_MS),
            });
        }
        Ok(self.takes(&mut state, kind, job, count))
    }

    /// What keeps an effect from happening.
    fn keeps_off(&self, state: &mut State, request: &EffectRequest, count: u64) -> Option<Effect> {
        let job = &request.job;
        let lost = |why: &str| Effect::Unknown {
            why: why.to_owned(),
        };
        if self.is_out(state) {
            return Some(match count % 2 {
                0 => refused("out of service", None),
                _ => lost("the connection was reset"),
            });
        }
        if self.minute_is_full(state) {
            let pause = (count.is_multiple_of(2)).then_some(MINUTE_MS);
            return Some(refused("too many requests", pause));
        }
        if self.fault(state, self.faults.refused, "refused", job, count) {
            let pause = (count.is_multiple_of(2)).then_some(20_000);
            return Some(refused("the target is busy", pause));
        }
        if self.fault(state, self.faults.lost_before, "lost before", job, count) {
            return Some(lost("no reply came"));
        }
        let refuses = matches!(
            (request.action, self.truth(job, &request.config)),
            (Action::Stage, Truth::TargetRefuses) | (Action::CutOver, Truth::ProductionRefuses)
        );
        refuses.then(|| Effect::Refused {
            why: "this definition is not valid".to_owned(),
            class: FailureClass::Job,
            retry_after_ms: None,
        })
    }

    fn make(&self, state: &mut State, request: &EffectRequest, count: u64) -> Made {
        let job = &request.job;
        let now = self.clock.passed_ms();
        let id = request.operation_id.as_str();
        let slow = self.fault(state, self.faults.slow, "slow", job, count);
        let wait = if slow {
            10_000 + self.dice.below(90, &["slow for", id], count) as i64 * MINUTE_MS
        } else {
            0
        };
        let run = match self.fault(state, self.faults.hangs, "long run", job, count) {
            true => 12 * 60 * MINUTE_MS,
            false => 5_000 + self.dice.below(1_200_000, &["run", id], count) as i64,
        };
        Made {
            operation: request.operation_id.clone(),
            action: request.action,
            job: job.clone(),
            config: request.config.clone(),
            config_digest: request.config_digest.clone(),
            date: request.logical_date.clone(),
            at_ms: now,
            visible_ms: now + wait,
            run_ends_ms: now + run,
            run_fails: self.fault(state, self.faults.run_fails, "run fails", job, count),
            gone: false,
            told: state.told.get(job).cloned().unwrap_or_default(),
        }
    }

    /// The last thing made for a job in staging.
    fn last_run(&self, job: &JobId) -> Option<Made> {
        let state = self.state();
        let mut staged = state.made.iter().rev();
        staged
            .find(|made| made.job == *job && made.action == Action::Stage)
            .cloned()
    }
}

impl Target for SimWorld {
    fn info(&self) -> AdapterInfo {
        let proven = Action::ALL
            .iter()
            .copied()
            .filter(|action| self.keeps_one(*action))
            .map(|action| (action.word().to_owned(), true));
        AdapterInfo {
            name: "simulated".to_owned(),
            version: "1".to_owned(),
            one_effect_per_id: proven.collect(),
            can_roll_back: true,
        }
    }

    fn effect(&self, request: &EffectRequest) -> Timed<Effect> {
        let job = &request.job;
        let mut state = self.state();
        let count = self.count(&mut state, "effect", job);
        let took_ms = self.takes(&mut state, "effect", job, count);
        if let Some(value) = self.keeps_off(&mut state, request, count) {
            return Timed { value, took_ms };
        }
        let known = state
            .made
            .iter()
            .find(|made| made.operation == request.operation_id)
            .filter(|_| self.keeps_one(request.action))
            .cloned();
        let made = known.unwrap_or_else(|| {
            let made = self.make(&mut state, request, count);
            state.made.push(made.clone());
            made
        });
        let value = if self.fault(&mut state, self.faults.lost_after, "lost after", job, count) {
            Effect::Unknown {
                why: "the reply was lost".to_owned(),
            }
        } else {
            Effect::Applied(found(&made))
        };
        Timed { value, took_ms }
    }

    fn look_up(&self, _: Action, operation: &OperationId, job: &JobId) -> Timed<Lookup> {
        let took_ms = match self.answers("look up", job) {
            Ok(took_ms) => took_ms,
            Err(error) => {
                return Timed {
                    value: Lookup::CannotTell { why: error.what },
                    took_ms: 5_000,
                };
            }
        };
        let mut state = self.state();
        let count = self.count(&mut state, "contradiction", job);
        if self.fault(
            &mut state,
            self.faults.contradicts,
            "contradicts",
            job,
            count,
        ) {
            let value = if count.is_multiple_of(2) {
                Lookup::CannotTell {
                    why: "two objects came back".to_owned(),
                }
            } else {
                Lookup::Found(EffectRef {
                    reference: "run-of-another-job".to_owned(),
                    config_digest: digest_bytes(b"another job's config"),
                    observed: String::new(),
                })
            };
            return Timed { value, took_ms };
        }
        let now = self.clock.passed_ms();
        let calm = state.calm;
        let mut seen = state
            .made
            .iter()
            .filter(|made| made.operation == *operation && !made.gone)
            .filter(|made| calm || made.visible_ms <= now);
        let value = match (seen.next(), seen.next()) {
            (None, _) => Lookup::Absent,
            (Some(made), None) => Lookup::Found(found(made)),
            (Some(_), Some(_)) => Lookup::CannotTell {
                why: "two objects have this id".to_owned(),
            },
        };
        Timed { value, took_ms }
    }

    fn run_state(
        &self,
        job: &JobId,
        staged: &EffectRef,
        _: TimeMs,
    ) -> Result<Timed<RunState>, PortError> {
        let took_ms = self.answers("run state", job)?;
        let known = {
            let state = self.state();
            let mut all = state.made.iter();
            all.find(|made| !made.gone && reference(&made.operation) == staged.reference)
                .cloned()
        };
        let Some(made) = known else {
            return Err(PortError::environment("no such run"));
        };
        let left = made.run_ends_ms - self.clock.passed_ms();
        let failed = |class, why: &str| RunState::Failed {
            class,
            why: why.to_owned(),
            log: String::new(),
        };
        let value = if left > 0 {
            RunState::Running {
                look_again_ms: left.min(10 * MINUTE_MS),
            }
        } else if self.truth(job, &made.config) == Truth::RunFails {
            failed(FailureClass::Job, "the task raised an error")
        } else if made.run_fails {
            failed(FailureClass::Environment, "the host went away")
        } else {
            RunState::Succeeded { log: String::new() }
        };
        Ok(Timed { value, took_ms })
    }

    fn firing_times(
        &self,
        _: &JobId,
        _: &str,
        _: &FiringQuestion,
    ) -> Result<Timed<FiringTimes>, PortError> {
        Err(PortError::job("simulated jobs have no schedule"))
    }

    fn consequences(
        &self,
        job: &JobId,
        _: &str,
        _: TimeMs,
    ) -> Result<Timed<Vec<String>>, PortError> {
        {
            let mut state = self.state();
            *state.asked.entry(job.clone()).or_default() += 1;
        }
        let took_ms = self.answers("consequences", job)?;
        let mut state = self.state();
        let count = self.count(&mut state, "told", job);
        if count > 1 && self.fault(&mut state, self.faults.worsens, "worsens", job, count) {
            *state.missed.entry(job.clone()).or_default() += 1;
        }
        let mut value = vec!["the old job is switched off".to_owned()];
        if let Some(missed) = state.missed.get(job) {
            value.push(format!("{missed} missed runs are made up for at once"));
        }
        state.told.insert(job.clone(), value.clone());
        Ok(Timed { value, took_ms })
    }

    fn production(&self) -> Result<Timed<Option<Vec<InProduction>>>, PortError> {
        if !self.lists_production {
            return Ok(Timed::now(None));
        }
        let took_ms = self.answers("production", &JobId::from(""))?;
        let state = self.state();
        let made = state
            .made
            .iter()
            .filter(|made| made.action == Action::CutOver && !made.gone)
            .map(|made| InProduction {
                job: made.job.clone(),
                reference: reference(&made.operation),
                config_digest: made.config_digest.clone(),
            });
        Ok(Timed {
            value: Some(made.chain(state.by_hand.iter().cloned()).collect()),
            took_ms,
        })
    }
}

impl Probe for SimWorld {
    fn run_facts(
        &self,
        side: Side,
        job: &JobId,
        _: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError> {
        let took_ms = self.answers("probe", job)?;
        let right = Some(right_effects(job));
        let (tasks, effect_digest) = match side {
            Side::Legacy => (1, right),
            _ => match self.last_run(job).map(|made| self.truth(job, &made.config)) {
                None => return Ok(Timed::now(Vec::new())),
                Some(Truth::Differs) => (1, Some(digest_bytes(b"other effects"))),
                Some(Truth::Hollow) => (0, right),
                Some(Truth::Untold) => (1, None),
                Some(_) => (1, right),
            },
        };
        Ok(Timed {
            value: vec![RunFacts {
                exit: 0,
                tasks,
                effect_digest,
                log_tail: String::new(),
            }],
            took_ms,
        })
    }
}

impl Warehouse for SimWorld {
    fn dialect(&self) -> &'static str {
        "sqlite"
    }

    fn table(&self, side: Side, job: &JobId, _: &str, date: Option<&LogicalDate>) -> String {
        let date = date.map_or("", LogicalDate::as_str);
        format!("{}.{job}.{date}", side.word())
    }

    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError> {
        let (side, job) = sql
            .rsplit(' ')
            .next()
            .and_then(|table| table.split_once('.'))
            .unwrap_or_default();
        let (job, date) = job.split_once('.').unwrap_or((job, ""));
        let job = JobId::from(job);
        {
            let mut state = self.state();
            state.queries += 1;
            *state.queries_of.entry(job.clone()).or_default() += 1;
        }
        let took_ms = self.answers("query", &job)?;
        let run = self.last_run(&job);
        let other = side != Side::Legacy.word()
            && run
                .as_ref()
                .is_none_or(|made| self.truth(&job, &made.config) == Truth::RowsDiffer);
        let of_run = run.as_ref().and_then(|made| made.date.as_ref());
        if side != Side::Legacy.word() && of_run.map_or("", LogicalDate::as_str) != date {
            self.state().mixed.insert(job.clone());
        }
        let empty = self
            .dice
            .happens(self.faults.empty, &["empty", job.as_str(), date], 0);
        let rows = match (other, empty) {
            (true, _) => 41,
            (false, true) => 0,
            (false, false) => 42,
        };
        Ok(Timed {
            value: Rows {
                columns: vec!["n".to_owned()],
                rows: vec![vec![Cell::Integer(rows)]],
            },
            took_ms,
        })
    }
}
