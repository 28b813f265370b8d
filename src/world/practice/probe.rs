//! The probe port: what runs did, for jobs that write no table.

use super::build::sqlite_failed;
use super::world::PracticeWorld;
use crate::model::{Digest, JobId, LogicalDate};
use crate::world::ports::{PortError, Probe, RunFacts, Side, Timed};

impl Probe for PracticeWorld {
    fn run_facts(
        &self,
        side: Side,
        job: &JobId,
        date: Option<&LogicalDate>,
    ) -> Result<Timed<Vec<RunFacts>>, PortError> {
        if let (Side::Legacy, Some(date)) = (side, date) {
            let what = format!("nothing is known of a legacy run of {job} for {date}");
            return Err(PortError::job(what));
        }
        let sql = match side {
            Side::Legacy => {
                "select exit, tasks, effect_digest, log from legacy_runs where job = ?1 order by run"
            }
            Side::Staging => {
                "select r.exit, r.tasks, r.effect_digest, r.log from staging_jobs j \
                 join staging_runs r on r.no = j.no where j.job = ?1 order by j.no desc limit 1"
            }
            Side::Production => {
                "select r.exit, r.tasks, r.effect_digest, r.log from production_jobs j \
                 join production_runs r on r.no = j.no where j.job = ?1 order by j.no desc limit 1"
            }
        };
        let conn = self.reader();
        let facts: Vec<RunFacts> = conn
            .prepare_cached(sql)
            .and_then(|mut statement| {
                statement
                    .query_map([job.as_str()], |row| {
                        Ok(RunFacts {
                            exit: row.get(0)?,
                            tasks: row.get(1)?,
                            effect_digest: Some(Digest(row.get(2)?)),
                            log_tail: row.get(3)?,
                        })
                    })?
                    .collect()
            })
            .map_err(sqlite_failed("run facts"))?;
        if facts.is_empty() {
            let what = format!("nothing is known of a {} run of {job}", side.word());
            return Err(PortError::job(what));
        }
        Ok(Timed {
            value: facts,
            took_ms: self
                .chance
                .between(200, 900, &["facts", side.word(), job.as_str()]),
        })
    }
}
