//! Questions about chat workers: turns, tool calls, questions before people.

use super::{Answer, EventRow, View, event_row};
use crate::model::{Account, AttemptNo, ClauseId, Digest, GoalId, JobId, TimeMs};
use rusqlite::{Row, params};
use serde::Serialize;

/// One turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnRow {
    /// The attempt.
    pub attempt: AttemptNo,
    /// From 1 in each attempt.
    pub turn: u32,
    /// The provider's name.
    pub provider: String,
    /// The model that answered, or was asked.
    pub model: String,
    /// Digest of the part that all jobs under one contract version share.
    pub prefix: Digest,
    /// Blob of tools, rules and contract.
    pub system: Digest,
    /// Blob of the message that this turn appended.
    pub message: Option<Digest>,
    /// Tokens reserved.
    pub reserved_tokens: u64,
    /// Money reserved, in pico.
    pub reserved_money: Option<u64>,
    /// When it was asked for.
    pub started_at: TimeMs,
    /// When it ended.
    pub ended_at: Option<TimeMs>,
    /// `open`, `unknown`, or as the entry says.
    pub outcome: String,
    /// The provider's word, or why it failed.
    pub why: String,
    /// Input that met no cache.
    pub uncached: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Input read from a cache; `None` when nobody said.
    pub cache_read: Option<u64>,
    /// Output.
    pub output: u64,
    /// How much of the output was reasoning.
    pub reasoning: u64,
    /// `reported`, `estimated`, `unknown`; empty while it is open.
    pub source: String,
    /// What it cost, in pico.
    pub cost: Option<u64>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Blob of the answer.
    pub answer: Option<Digest>,
}

impl TurnRow {
    /// All input tokens.
    pub fn input(&self) -> u64 {
        self.uncached
            .saturating_add(self.cache_write)
            .saturating_add(self.cache_read.unwrap_or(0))
    }

    /// What counts as spent: what was counted, or what was reserved where nobody counted.
    pub fn tokens(&self) -> u64 {
        if matches!(self.source.as_str(), "" | "unknown") {
            self.reserved_tokens
        } else {
            self.input().saturating_add(self.output)
        }
    }
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCallRow {
    /// The attempt.
    pub attempt: AttemptNo,
    /// The turn that asked.
    pub turn: u32,
    /// The job.
    pub job: JobId,
    /// The call's id.
    pub call: String,
    /// The tool, as the model wrote it.
    pub tool: String,
    /// `answered`, `error`, `refused` or `drift`.
    pub outcome: String,
    /// One line.
    pub words: String,
    /// Blob of the answer.
    pub answer: Digest,
    /// Queries spent.
    pub spent: u64,
    /// When.
    pub at: TimeMs,
}

/// A model's question to a person, or rows that a person is asked to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionRow {
    /// Its id.
    pub question: String,
    /// The job.
    pub job: JobId,
    /// The attempt.
    pub attempt: AttemptNo,
    /// `question`, or `sample` for rows to look at.
    pub kind: String,
    /// Of a sample: the clause.
    pub clause: Option<ClauseId>,
    /// Of a sample: blob of its rows.
    pub detail: Option<Digest>,
    /// The question.
    pub text: String,
    /// When it was asked.
    pub asked_at: TimeMs,
    /// When it was answered.
    pub answered_at: Option<TimeMs>,
    /// Who answered.
    pub by: Option<Account>,
    /// The answer.
    pub answer: String,
}

/// Tokens of many turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TokenTotals {
    /// The models that answered, by name.
    pub names: Vec<String>,
    /// Turns.
    pub turns: u64,
    /// Input that met no cache.
    pub uncached: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
    /// Reserved by turns that nobody counted, and counted as spent.
    pub unknown: u64,
    /// Money in pico.
    pub cost: u64,
    /// Different prefixes that were sent.
    pub prefixes: u64,
    /// Loops that went on about something else than their job.
    pub drift: u64,
    /// Tool calls that reached for what no worker may.
    pub refused: u64,
}

impl QuestionRow {
    /// Whether rows are to be looked at, instead of a model's question answered.
    pub fn is_sample(&self) -> bool {
        self.kind == "sample"
    }
}

impl TokenTotals {
    /// Share of the input that a cache served, from 0 to 1; `None` without input.
    pub fn cached_share(&self) -> Option<f64> {
        let input = self.uncached + self.cache_write + self.cache_read;
        (input > 0).then(|| self.cache_read as f64 / input as f64)
    }
}

/// Entries that are looked through for a checkpoint.
const CHECKPOINT_REACH: i64 = 5_000;

const TURN_COLUMNS: &str = "SELECT attempt, turn, provider, model, prefix, system, message, tokens, money, started_ms,
  ended_ms, outcome, why, uncached, cache_write, cache_read, output, reasoning, source, cost, request_id, answer
  FROM turns";
const CALL_COLUMNS: &str =
    "SELECT attempt, turn, job, call, tool, outcome, words, answer, spent, at_ms FROM tool_calls";
const QUESTION_COLUMNS: &str = "SELECT question, job, attempt, text, asked_ms, answered_ms, by, answer, kind, clause, detail FROM questions";

impl View<'_> {
    /// All turns of a job, in order.
    pub fn turns(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<TurnRow>> {
        self.all(
            &format!("{TURN_COLUMNS} WHERE goal = ?1 AND job = ?2 ORDER BY attempt, turn"),
            params![goal.as_str(), job.as_str()],
            turn_row,
        )
    }

    /// All tool calls of a job, in order.
    pub fn tool_calls(&self, goal: &GoalId, job: &JobId) -> Answer<Vec<ToolCallRow>> {
        self.all(
            &format!("{CALL_COLUMNS} WHERE goal = ?1 AND job = ?2 ORDER BY seq"),
            params![goal.as_str(), job.as_str()],
            call_row,
        )
    }

    /// Tool calls of a goal that were refused, in order; at most `limit`.
    pub fn refused_calls(&self, goal: &GoalId, limit: usize) -> Answer<Vec<ToolCallRow>> {
        self.all(
            &format!(
                "{CALL_COLUMNS} WHERE goal = ?1 AND outcome IN ('refused', 'drift') ORDER BY seq LIMIT ?2"
            ),
            params![goal.as_str(), limit as i64],
            call_row,
        )
    }

    /// The newest checkpoint of any job among the last `CHECKPOINT_REACH` entries.
    pub fn last_checkpoint(&self, goal: &GoalId) -> Answer<Option<EventRow>> {
        self.one(
            "SELECT seq, at_ms, goal, job, attempt, actor, kind, body
             FROM (SELECT * FROM events ORDER BY seq DESC LIMIT ?2)
             WHERE goal = ?1 AND kind = 'checkpoint.written' ORDER BY seq DESC LIMIT 1",
            params![goal.as_str(), CHECKPOINT_REACH],
            event_row,
        )
    }

    /// Questions before people, oldest first.
    pub fn open_questions(&self, goal: &GoalId) -> Answer<Vec<QuestionRow>> {
        self.all(
            &format!(
                "{QUESTION_COLUMNS} WHERE goal = ?1 AND answered_ms IS NULL ORDER BY asked_ms, job"
            ),
            params![goal.as_str()],
            question_row,
        )
    }

    /// All questions of a goal, open ones first, then the newest; at most `limit`.
    pub fn questions(&self, goal: &GoalId, limit: usize) -> Answer<Vec<QuestionRow>> {
        self.all(
            &format!(
                "{QUESTION_COLUMNS} WHERE goal = ?1
                 ORDER BY answered_ms IS NOT NULL, CASE WHEN answered_ms IS NULL THEN asked_ms ELSE -asked_ms END,
                   job LIMIT ?2"
            ),
            params![goal.as_str(), limit as i64],
            question_row,
        )
    }

    /// Tokens of a goal's chat workers, all providers together.
    pub fn token_totals(&self, goal: &GoalId) -> Answer<TokenTotals> {
        let mut totals = self
            .one(
                "SELECT count(*), sum(uncached), sum(cache_write), sum(cache_read), sum(output),
                   sum(CASE WHEN source IN ('', 'unknown') THEN tokens ELSE 0 END),
                   sum(CASE WHEN ended_ms IS NULL THEN money ELSE cost END), count(DISTINCT prefix)
                 FROM turns WHERE goal = ?1",
                params![goal.as_str()],
                |row| {
                    let number = |index: usize| -> rusqlite::Result<u64> {
                        Ok(row.get::<_, Option<i64>>(index)?.unwrap_or(0) as u64)
                    };
                    Ok(TokenTotals {
                        names: Vec::new(),
                        turns: number(0)?,
                        uncached: number(1)?,
                        cache_write: number(2)?,
                        cache_read: number(3)?,
                        output: number(4)?,
                        unknown: number(5)?,
                        cost: number(6)?,
                        prefixes: number(7)?,
                        drift: 0,
                        refused: 0,
                    })
                },
            )?
            .unwrap_or_default();
        totals.names = self.all(
            "SELECT DISTINCT model FROM turns WHERE goal = ?1 ORDER BY model",
            params![goal.as_str()],
            |row| row.get(0),
        )?;
        let calls = self.all(
            "SELECT outcome, count(*) FROM tool_calls WHERE goal = ?1 AND outcome IN ('refused', 'drift')
             GROUP BY outcome",
            params![goal.as_str()],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)),
        )?;
        for (outcome, count) in calls {
            match outcome.as_str() {
                "drift" => totals.drift = count,
                _ => totals.refused = count,
            }
        }
        Ok(totals)
    }
}

fn turn_row(row: &Row<'_>) -> rusqlite::Result<TurnRow> {
    let number = |index: usize| -> rusqlite::Result<u64> { Ok(row.get::<_, i64>(index)? as u64) };
    let maybe = |index: usize| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(index)?.map(|one| one as u64))
    };
    let digest = |index: usize| -> rusqlite::Result<Option<Digest>> {
        Ok(row.get::<_, Option<String>>(index)?.map(Digest))
    };
    Ok(TurnRow {
        attempt: AttemptNo(row.get(0)?),
        turn: row.get(1)?,
        provider: row.get(2)?,
        model: row.get(3)?,
        prefix: Digest(row.get(4)?),
        system: Digest(row.get(5)?),
        message: digest(6)?,
        reserved_tokens: number(7)?,
        reserved_money: maybe(8)?,
        started_at: TimeMs(row.get(9)?),
        ended_at: row.get::<_, Option<i64>>(10)?.map(TimeMs),
        outcome: row.get(11)?,
        why: row.get(12)?,
        uncached: number(13)?,
        cache_write: number(14)?,
        cache_read: maybe(15)?,
        output: number(16)?,
        reasoning: number(17)?,
        source: row.get(18)?,
        cost: maybe(19)?,
        request_id: row.get(20)?,
        answer: digest(21)?,
    })
}

fn call_row(row: &Row<'_>) -> rusqlite::Result<ToolCallRow> {
    Ok(ToolCallRow {
        attempt: AttemptNo(row.get(0)?),
        turn: row.get(1)?,
        job: JobId(row.get(2)?),
        call: row.get(3)?,
        tool: row.get(4)?,
        outcome: row.get(5)?,
        words: row.get(6)?,
        answer: Digest(row.get(7)?),
        spent: row.get::<_, i64>(8)? as u64,
        at: TimeMs(row.get(9)?),
    })
}

fn question_row(row: &Row<'_>) -> rusqlite::Result<QuestionRow> {
    Ok(QuestionRow {
        question: row.get(0)?,
        job: JobId(row.get(1)?),
        attempt: AttemptNo(row.get(2)?),
        text: row.get(3)?,
        asked_at: TimeMs(row.get(4)?),
        answered_at: row.get::<_, Option<i64>>(5)?.map(TimeMs),
        by: row.get::<_, Option<String>>(6)?.map(Account),
        answer: row.get(7)?,
        kind: row.get(8)?,
        clause: row.get::<_, Option<String>>(9)?.map(ClauseId),
        detail: row.get::<_, Option<String>>(10)?.map(Digest),
    })
}
