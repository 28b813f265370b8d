//! Rows about a chat worker's loop.

use super::Applier;
use crate::ledger::event::{Entry, Event, TurnEnded, TurnStarted};
use crate::model::Seq;
use rusqlite::params;

impl Applier<'_> {
    pub(super) fn apply_chat(&self, seq: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let Some(job) = &entry.job else { return Ok(()) };
        let (goal, job) = (entry.goal.as_str(), job.as_str());
        let attempt = entry.attempt.map_or(0, |attempt| attempt.0);
        match &entry.event {
            Event::TurnStarted(one) => self.turn_started(entry, one),
            Event::TurnEnded(one) => self.turn_ended(entry, one),
            Event::TurnUnknown(one) => self
                .conn
                .prepare_cached(
                    "UPDATE turns SET ended_ms = ?5, outcome = 'unknown', why = ?6, source = 'unknown', cost = money
                     WHERE goal = ?1 AND job = ?2 AND attempt = ?3 AND turn = ?4",
                )?
                .execute(params![goal, job, attempt, one.turn, entry.at.0, one.why])
                .map(|_| ()),
            Event::ToolCalled(one) => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO tool_calls(seq, goal, job, attempt, turn, call, tool, outcome, words, answer,
                           spent, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                    )?
                    .execute(params![
                        seq.0,
                        goal,
                        job,
                        attempt,
                        one.turn,
                        one.call,
                        one.tool,
                        one.outcome,
                        one.words,
                        one.answer.as_str(),
                        one.spent as i64,
                        entry.at.0
                    ])?;
                Ok(())
            }
            Event::QuestionAsked(one) => self
                .conn
                .prepare_cached(
                    "INSERT INTO questions(question, goal, job, attempt, text, asked_ms, answer, kind)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 'question')",
                )?
                .execute(params![one.question, goal, job, attempt, one.text, entry.at.0])
                .map(|_| ()),
            Event::QuestionAnswered(one) => self
                .conn
                .prepare_cached(
                    "UPDATE questions SET answered_ms = ?2, by = ?3, answer = ?4 WHERE question = ?1",
                )?
                .execute(params![
                    one.question,
                    entry.at.0,
                    one.by.as_ref().map(|by| by.0.as_str()),
                    one.text
                ])
                .map(|_| ()),
            _ => Ok(()),
        }
    }

    fn turn_started(&self, entry: &Entry, one: &TurnStarted) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "INSERT INTO turns(goal, job, attempt, turn, provider, model, prefix, system, message, tokens, money,
                   started_ms, outcome, why, uncached, cache_write, output, reasoning, source)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'open', '', 0, 0, 0, 0, '')",
            )?
            .execute(params![
                entry.goal.as_str(),
                entry.job.as_ref().map_or("", |job| job.as_str()),
                entry.attempt.map_or(0, |attempt| attempt.0),
                one.turn,
                one.provider,
                one.model,
                one.prefix.as_str(),
                one.system.as_str(),
                one.message.as_ref().map(|digest| digest.as_str()),
                one.tokens as i64,
                one.money.map(|money| money as i64),
                entry.at.0
            ])?;
        Ok(())
    }

    fn turn_ended(&self, entry: &Entry, one: &TurnEnded) -> rusqlite::Result<()> {
        self.conn
            .prepare_cached(
                "UPDATE turns SET ended_ms = ?5, outcome = ?6, why = ?7, uncached = ?8, cache_write = ?9,
                   cache_read = ?10, output = ?11, reasoning = ?12, source = ?13, cost = ?14, request_id = ?15,
                   model = ?16, answer = ?17
                 WHERE goal = ?1 AND job = ?2 AND attempt = ?3 AND turn = ?4",
            )?
            .execute(params![
                entry.goal.as_str(),
                entry.job.as_ref().map_or("", |job| job.as_str()),
                entry.attempt.map_or(0, |attempt| attempt.0),
                one.turn,
                entry.at.0,
                one.outcome,
                one.why,
                one.uncached as i64,
                one.cache_write as i64,
                one.cache_read.map(|tokens| tokens as i64),
                one.output as i64,
                one.reasoning as i64,
                one.source,
                one.money.map(|money| money as i64),
                one.request_id,
                one.model,
                one.answer.as_ref().map(|digest| digest.as_str())
            ])?;
        Ok(())
    }
}
