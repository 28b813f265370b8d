//! Tools whose answer comes from the world: a query of the warehouse, and what the old host gave its jobs.

use super::spend_id;
use super::tools::Answer;
use crate::engine::call::{Call, ToolQuery, ToolQueryError};
use crate::engine::run::{Engine, EngineError, Errand};
use crate::ledger::event::{CallRef, Event, QueryStarted};
use crate::ledger::facts::JobFacts;
use crate::model::{Budget, JobId};

/// Queries that one tool call costs.
const QUERIES: u64 = 1;

impl Engine {
    pub(super) fn tool_query(
        &mut self,
        id: &JobId,
        facts: &JobFacts,
        call: &CallRef,
        sql: String,
    ) -> Result<(), EngineError> {
        let table = self
            .index
            .jobs
            .get(id)
            .and_then(|job| job.output.as_ref().map(|output| output.table.clone()));
        let Some(table) = table else {
            let text = "this job writes no table, so there is nothing to query";
            return self.tool_answered(id, facts, call, Answer::error(text));
        };
        if self.context.world.warehouse.is_none() {
            let text = "this goal has no warehouse";
            return self.tool_answered(id, facts, call, Answer::error(text));
        }
        let spend = spend_id(id, facts, Some(call));
        let amounts = [(Budget::WarehouseQueries, QUERIES)].into();
        if let Err(refused) = self.reserve(id, spend, amounts)? {
            let text = format!("not run: {}; go on without it", refused.why());
            return self.tool_answered(id, facts, call, Answer::error(text));
        }
        let turn = facts.chat.turns;
        self.emit(
            id,
            Event::QueryStarted(QueryStarted {
                turn,
                call: call.id.clone(),
            }),
        )?;
        let errand = Errand::ToolQuery {
            turn,
            call: call.clone(),
        };
        let query = ToolQuery {
            logical_date: facts.dates.current().cloned(),
            job: id.clone(),
            table,
            sql,
        };
        self.call_after_commit(id, errand, Call::ToolQuery(Box::new(query)));
        Ok(())
    }

    /// A query's answer: what was refused before it was sent costs nothing.
    pub(in crate::engine) fn query_answered(
        &mut self,
        id: &JobId,
        turn: u32,
        call: &CallRef,
        result: Result<String, ToolQueryError>,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let open = facts.chat.query.as_ref();
        if open.is_none_or(|open| open.call != call.id || open.turn != turn) {
            return Ok(());
        }
        let (answer, spent) = match result {
            Ok(text) => (Answer::ok(text), QUERIES),
            Err(ToolQueryError::Refused(why)) => (Answer::refused(why), 0),
            Err(ToolQueryError::Failed(why)) => (Answer::error(why), QUERIES),
        };
        let spend = spend_id(id, &facts, Some(call));
        let amounts = [(Budget::WarehouseQueries, spent)].into();
        self.settle_spend(id, &spend, amounts, true)?;
        self.tool_answered(id, &facts, call, answer.spent(spent))
    }

    /// The engine's start has settled the reservation in full.
    pub(super) fn lose_query(&mut self, id: &JobId, facts: &JobFacts) -> Result<(), EngineError> {
        let Some(open) = facts.chat.query.clone() else {
            return Ok(());
        };
        let call = CallRef {
            id: open.call,
            tool: "query_warehouse".to_owned(),
        };
        let text = "the engine stopped while the query ran; ask again if you still need it";
        let answer = Answer::error(text).spent(QUERIES);
        self.tool_answered(id, facts, &call, answer)
    }

    /// What the old host gave its jobs, from the source.
    pub(in crate::engine) fn old_host_answered(
        &mut self,
        id: &JobId,
        turn: u32,
        call: &CallRef,
        result: Result<String, String>,
    ) -> Result<(), EngineError> {
        let facts = self.facts(id)?;
        let waits = facts.chat.pending.iter().any(|one| one.id == call.id);
        if !waits || facts.chat.turns != turn {
            return Ok(());
        }
        let answer = match result {
            Ok(text) if text.is_empty() => {
                Answer::ok("the source knows nothing of what the old host gave its jobs")
            }
            Ok(text) => Answer::ok(text).words("what the old host gave its jobs"),
            Err(why) => Answer::error(why),
        };
        self.tool_answered(id, &facts, call, answer)
    }
}
