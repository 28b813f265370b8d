//! What differs between two contracts: as data, as lines for people, and as a diff of the two texts.

use super::parse::contract_json;
use super::types::{Clause, Contract, Retire};
use crate::model::{ClauseId, Digest, TimeMs};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Longest value shown in a line, in characters.
const MAX_SHOWN: usize = 120;
/// Lines around a change in the diff of two texts.
const CONTEXT_LINES: usize = 3;

/// One value that differs. A side that does not have it is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Where it stands in the canonical form, such as `budgets.per_day.warehouse_queries`.
    pub path: String,
    /// In the old contract.
    pub old: Json,
    /// In the new contract.
    pub new: Json,
}

/// What became of one clause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ClauseChange {
    /// Only in the new contract.
    Added {
        /// The clause.
        clause: Clause,
    },
    /// Only in the old contract.
    Removed {
        /// The clause.
        clause: Clause,
    },
    /// In both, with another meaning: its passes under the old one mean nothing under the new.
    Changed {
        /// Its id.
        id: ClauseId,
        /// Checker, scope and parameters that differ.
        fields: Vec<FieldChange>,
    },
}

impl ClauseChange {
    /// The clause's id.
    pub fn id(&self) -> &ClauseId {
        match self {
            Self::Added { clause } | Self::Removed { clause } => &clause.id,
            Self::Changed { id, .. } => id,
        }
    }
}

/// Everything that differs between two contracts of one goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContractDiff {
    /// Digest of the old contract.
    pub from: Digest,
    /// Digest of the new contract.
    pub to: Digest,
    /// Clauses, in the new contract's order, removed ones last.
    pub clauses: Vec<ClauseChange>,
    /// Groups of jobs that only the new contract gives up.
    pub retired: Vec<Retire>,
    /// Groups of jobs that only the old contract gave up.
    pub taken_back: Vec<Retire>,
    /// Whether clauses that are in both contracts changed places. It touches no pass.
    pub reordered: bool,
    /// All other values, by path.
    pub fields: Vec<FieldChange>,
}

/// Compares two contracts.
pub fn diff(old: &Contract, new: &Contract) -> ContractDiff {
    ContractDiff {
        from: old.digest.clone(),
        to: new.digest.clone(),
        clauses: clauses(old, new),
        retired: only_in(&new.jobs.retire, &old.jobs.retire),
        taken_back: only_in(&old.jobs.retire, &new.jobs.retire),
        reordered: common_order(old, new) != common_order(new, old),
        fields: fields(&rest(old), &rest(new)),
    }
}

impl ContractDiff {
    /// Whether both contracts mean the same.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
            && self.retired.is_empty()
            && self.taken_back.is_empty()
            && self.fields.is_empty()
            && !self.reordered
    }

    /// Whether any value under a section (`world`, `budgets`) differs.
    pub fn touches(&self, section: &str) -> bool {
        self.fields.iter().any(|field| {
            field
                .path
                .strip_prefix(section)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// One line for each change.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.clauses.iter().map(clause_line).collect();
        if self.reordered {
            lines.push("clauses are in another order; nothing runs again for that".to_owned());
        }
        let group = |one: &Retire| format!("{}: {}", one.jobs.join(", "), one.reason);
        lines.extend(
            self.retired
                .iter()
                .map(|one| format!("jobs retired: {}", group(one))),
        );
        let back = |one: &Retire| {
            format!(
                "jobs no longer retired: {}; those cancelled stay cancelled",
                group(one)
            )
        };
        lines.extend(self.taken_back.iter().map(back));
        lines.extend(self.fields.iter().map(field_line));
        lines
    }
}

/// The two goal files' texts as a unified diff; empty when they are the same.
pub fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(old_name, new_name)
        .to_string()
}

fn only_in(these: &[Retire], those: &[Retire]) -> Vec<Retire> {
    these
        .iter()
        .filter(|one| !those.contains(one))
        .cloned()
        .collect()
}

/// Ids of `a` that `b` has too, in the order of `a`.
fn common_order<'c>(a: &'c Contract, b: &Contract) -> Vec<&'c ClauseId> {
    let ids = a.accept.iter().map(|clause| &clause.id);
    ids.filter(|id| b.clause(id).is_some()).collect()
}

fn clauses(old: &Contract, new: &Contract) -> Vec<ClauseChange> {
    let mut changes = Vec::new();
    for clause in &new.accept {
        match old.clause(&clause.id) {
            None => changes.push(ClauseChange::Added {
                clause: clause.clone(),
            }),
            Some(before) if before.digest != clause.digest => changes.push(ClauseChange::Changed {
                id: clause.id.clone(),
                fields: fields(&clause_json(before), &clause_json(clause)),
            }),
            Some(_) => {}
        }
    }
    let removed = old
        .accept
        .iter()
        .filter(|clause| new.clause(&clause.id).is_none());
    changes.extend(removed.map(|clause| ClauseChange::Removed {
        clause: clause.clone(),
    }));
    changes
}

fn clause_json(clause: &Clause) -> Json {
    let mut all = serde_json::Map::new();
    all.insert("check".to_owned(), Json::from(clause.check.clone()));
    if let Some(scope) = &clause.applies_to {
        all.insert("applies_to".to_owned(), Json::from(scope.clone()));
    }
    // A parameter cannot have either name: the reader takes them out first.
    all.extend(clause.params.clone());
    Json::Object(all)
}

/// The canonical form without what is compared by itself.
fn rest(contract: &Contract) -> Json {
    let mut json = contract_json(contract);
    if let Some(all) = json.as_object_mut() {
        all.remove("accept");
        if let Some(jobs) = all.get_mut("jobs").and_then(Json::as_object_mut) {
            jobs.remove("retire");
        }
    }
    json
}

fn fields(old: &Json, new: &Json) -> Vec<FieldChange> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    flatten("", old, &mut before);
    flatten("", new, &mut after);
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let value = |side: &BTreeMap<String, Json>, path: &String| {
        side.get(path).cloned().unwrap_or(Json::Null)
    };
    paths
        .into_iter()
        .map(|path| FieldChange {
            path: path.clone(),
            old: value(&before, path),
            new: value(&after, path),
        })
        .filter(|field| field.old != field.new)
        .collect()
}

/// Leaves by path. A list is one value: its order is part of its meaning.
fn flatten(path: &str, value: &Json, out: &mut BTreeMap<String, Json>) {
    match value {
        Json::Object(map) => {
            for (key, inner) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&path, inner, out);
            }
        }
        leaf => {
            out.insert(path.to_owned(), leaf.clone());
        }
    }
}

fn clause_line(change: &ClauseChange) -> String {
    let scope = |clause: &Clause| match &clause.applies_to {
        Some(scope) => format!("where {scope} applies"),
        None => "for all jobs".to_owned(),
    };
    match change {
        ClauseChange::Added { clause } => {
            format!(
                "clause {} added: {} {}",
                clause.id,
                clause.check,
                scope(clause)
            )
        }
        ClauseChange::Removed { clause } => {
            format!(
                "clause {} removed: {} {}",
                clause.id,
                clause.check,
                scope(clause)
            )
        }
        ClauseChange::Changed { id, fields } => {
            let what: Vec<String> = fields.iter().map(field_line).collect();
            format!("clause {id} changed: {}", what.join("; "))
        }
    }
}

fn field_line(field: &FieldChange) -> String {
    let (old, new) = (
        shown(&field.path, &field.old),
        shown(&field.path, &field.new),
    );
    format!("{}: {old} -> {new}", name(&field.path))
}

/// The path in the goal file's words.
fn name(path: &str) -> String {
    let plain = |section: &str| {
        path.strip_prefix(section)
            .map(|rest| rest.replace('_', " "))
    };
    if let Some(budget) = plain("budgets.per_day.") {
        return format!("budget {budget} a day");
    }
    if let Some(budget) = plain("budgets.total.") {
        return format!("budget {budget}");
    }
    path.trim_end_matches("_ms")
        .replace("budgets.", "budget.")
        .replace(['.', '_'], " ")
}

fn shown(path: &str, value: &Json) -> String {
    let text = match value {
        Json::Null => "none".to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(list) => {
            let words: Vec<String> = list.iter().map(|one| shown("", one)).collect();
            if words.is_empty() {
                "none".to_owned()
            } else {
                words.join(", ")
            }
        }
        Json::Number(number) if path == "deadline_ms" => match number.as_i64() {
            Some(ms) => TimeMs(ms).timestamp().to_string(),
            None => number.to_string(),
        },
        Json::Number(number) if path.ends_with("_ms") => {
            let seconds = number.as_f64().unwrap_or(0.0) / 1_000.0;
            match seconds {
                s if s >= 3_600.0 => format!("{} h", s / 3_600.0),
                s if s >= 60.0 => format!("{} min", s / 60.0),
                s => format!("{s} s"),
            }
        }
        other => other.to_string(),
    };
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    let mut cut: String = text.chars().take(MAX_SHOWN).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests;
