//! SQL of the two engines: parsed, rewritten for SQLite, never patched as text.
//!
//! Old engine: SQLite as it is, with `nvl` taking `''` for NULL. New engine: `/` and `%` on integers are
//! exact, `nvl` keeps `''` and NULL apart, `round` goes half to even. In both, `{{ day }}` is the logical
//! day number and `today()` the day number of the clock on the wall.

use super::functions::{EXACT_DIV, EXACT_MOD, NEW_NVL, OLD_NVL, ROUND_EVEN};
use sqlparser::ast::{
    BinaryOperator, Delete, Expr, FromTable, Ident, Insert, ObjectName, ObjectNamePart, ObjectType,
    Query, Statement, TableFactor, TableObject, VisitMut, VisitorMut,
};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Longest SQL text of one job, in bytes.
pub const MAX_SQL: usize = 256 * 1024;

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The engine under the old schedulers.
    Old,
    /// The engine under the new scheduler.
    New,
}

/// The days that a text's placeholders stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// `{{ day }}`.
    pub logical: i64,
    /// `today()`.
    pub wall: i64,
}

/// One statement, ready for SQLite. Table names in `select` and `condition` are resolved; `table` is the
/// name as the job wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `drop table`.
    Drop {
        /// Its name.
        table: String,
    },
    /// `create table ... as`.
    Create {
        /// Its name.
        table: String,
        /// Whether an existing table is left alone.
        if_missing: bool,
        /// The query.
        select: String,
    },
    /// `insert into`.
    Insert {
        /// Its name.
        table: String,
        /// The columns named, in order; empty when none are.
        columns: Vec<String>,
        /// The query or values.
        select: String,
    },
    /// `delete from`.
    Delete {
        /// Its name.
        table: String,
        /// The condition, `1` when there is none.
        condition: String,
    },
}

impl Step {
    /// The table that it changes.
    pub fn table(&self) -> &str {
        match self {
            Self::Drop { table }
            | Self::Create { table, .. }
            | Self::Insert { table, .. }
            | Self::Delete { table, .. } => table,
        }
    }
}

/// Finds the physical table behind a name that a job reads.
pub type Resolve<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Parses a job's SQL and rewrites it for SQLite.
///
/// # Errors
/// When the text is not SQL, a statement is of a kind that jobs may not run, or `resolve` refuses a
/// table; the message is for the run's log.
pub fn translate(
    sql: &str,
    engine: Engine,
    days: Days,
    resolve: &mut Resolve<'_>,
) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for mut statement in parse(sql, days)? {
        let common = common_tables(&mut statement);
        rewrite(&mut statement, engine, days)?;
        steps.push(step(statement, &common, resolve)?);
    }
    if steps.is_empty() {
        return Err("no statement in the SQL text".to_owned());
    }
    Ok(steps)
}

/// Tables that a job's SQL reads, without the ones it only writes.
///
/// # Errors
/// As [`translate`].
pub fn tables_read(sql: &str) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let days = Days {
        logical: 0,
        wall: 0,
    };
    translate(sql, Engine::Old, days, &mut |name| {
        found.insert(name.to_owned());
        Ok(name.to_owned())
    })?;
    Ok(found)
}

fn parse(sql: &str, days: Days) -> Result<Vec<Statement>, String> {
    if sql.len() > MAX_SQL {
        return Err(format!("SQL text longer than {MAX_SQL} bytes"));
    }
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, tail) = after
            .split_once("}}")
            .ok_or_else(|| "SQL: `{{` without `}}`".to_owned())?;
        if name.trim() != "day" {
            return Err(format!("SQL: unknown placeholder {{{{{name}}}}}"));
        }
        text.push_str(before);
        text.push_str(&days.logical.to_string());
        rest = tail;
    }
    text.push_str(rest);
    Parser::parse_sql(&SQLiteDialect {}, &text).map_err(|error| format!("SQL: {error}"))
}

struct CommonTables(BTreeSet<String>);

impl VisitorMut for CommonTables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.0.insert(table.alias.name.value.clone());
        }
        ControlFlow::Continue(())
    }
}

fn common_tables(statement: &mut Statement) -> BTreeSet<String> {
    let mut visitor = CommonTables(BTreeSet::new());
    let _ = statement.visit(&mut visitor);
    visitor.0
}

struct Rewriter {
    engine: Engine,
    wall: i64,
}

impl VisitorMut for Rewriter {
    type Break = String;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        match self.replacement(expr) {
            Ok(Some(new)) => {
                *expr = new;
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Rewriter {
    fn replacement(&self, expr: &mut Expr) -> Result<Option<Expr>, String> {
        match expr {
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                let new_name = match (name.as_str(), self.engine) {
                    ("today", _) => return expression(&self.wall.to_string()).map(Some),
                    ("nvl", Engine::Old) => OLD_NVL,
                    ("nvl", Engine::New) => NEW_NVL,
                    ("round", Engine::New) => ROUND_EVEN,
                    _ => return Ok(None),
                };
                function.name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(new_name))]);
                Ok(None)
            }
            Expr::BinaryOp { left, op, right } if self.engine == Engine::New => {
                let function = match op {
                    BinaryOperator::Divide => EXACT_DIV,
                    BinaryOperator::Modulo => EXACT_MOD,
                    _ => return Ok(None),
                };
                expression(&format!("{function}({left}, {right})")).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn expression(text: &str) -> Result<Expr, String> {
    Parser::new(&SQLiteDialect {})
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr())
        .map_err(|error| format!("SQL: {error}"))
}

fn rewrite(statement: &mut Statement, engine: Engine, days: Days) -> Result<(), String> {
    let mut rewriter = Rewriter {
        engine,
        wall: days.wall,
    };
    match statement.visit(&mut rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Resolver<'a, 'b> {
    common: &'a BTreeSet<String>,
    resolve: &'a mut Resolve<'b>,
}

impl VisitorMut for Resolver<'_, '_> {
    type Break = String;

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<String> {
        let name = match plain_name(relation) {
            Ok(name) => name,
            Err(error) => return ControlFlow::Break(error),
        };
        if self.common.contains(&name) {
            return ControlFlow::Continue(());
        }
        match (self.resolve)(&name) {
            Ok(physical) => {
                *relation = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(physical))]);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<String> {
        // A table function would read something that is no table of the warehouse.
        match factor {
            TableFactor::Table { args: Some(_), .. } | TableFactor::TableFunction { .. } => {
                ControlFlow::Break("SQL: table functions are not allowed".to_owned())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn plain_name(name: &ObjectName) -> Result<String, String> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Ok(ident.value.to_lowercase()),
        _ => Err(format!("SQL: {name} is not a plain table name")),
    }
}

fn resolved<T: VisitMut + std::fmt::Display>(
    node: &mut T,
    common: &BTreeSet<String>,
    resolve: &mut Resolve<'_>,
) -> Result<String, String> {
    match node.visit(&mut Resolver { common, resolve }) {
        ControlFlow::Continue(()) => Ok(node.to_string()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn step(
    statement: Statement,
    common: &BTreeSet<String>,
    resolve: &mut Resolve<'_>,
) -> Result<Step, String> {
    match statement {
        Statement::Drop {
            object_type: ObjectType::Table,
            names,
            ..
        } => match names.as_slice() {
            [name] => Ok(Step::Drop {
                table: plain_name(name)?,
            }),
            _ => Err("SQL: drop one table at a time".to_owned()),
        },
        Statement::CreateTable(mut create) => {
            let table = plain_name(&create.name)?;
            let query = create
                .query
                .as_mut()
                .ok_or_else(|| format!("SQL: create table {table} needs `as select`"))?;
            Ok(Step::Create {
                select: resolved(query.as_mut(), common, resolve)?,
                if_missing: create.if_not_exists,
                table,
            })
        }
        Statement::Insert(insert) => insert_step(insert, common, resolve),
        Statement::Delete(delete) => delete_step(delete, common, resolve),
        other => {
            let text = other.to_string();
            let first = text.split_whitespace().next().unwrap_or("statement");
            Err(format!("SQL: a job may not run {first} statements"))
        }
    }
}

fn insert_step(
    mut insert: Insert,
    common: &BTreeSet<String>,
    resolve: &mut Resolve<'_>,
) -> Result<Step, String> {
    let TableObject::TableName(name) = &insert.table else {
        return Err("SQL: insert into something that is no table".to_owned());
    };
    let table = plain_name(name)?;
    let columns = insert
        .columns
        .iter()
        .map(plain_name)
        .collect::<Result<Vec<_>, _>>()?;
    let source = insert
        .source
        .as_mut()
        .ok_or_else(|| format!("SQL: insert into {table} without rows"))?;
    Ok(Step::Insert {
        select: resolved(source.as_mut(), common, resolve)?,
        columns,
        table,
    })
}

fn delete_step(
    mut delete: Delete,
    common: &BTreeSet<String>,
    resolve: &mut Resolve<'_>,
) -> Result<Step, String> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let table = match from.as_slice() {
        [one] if one.joins.is_empty() => match &one.relation {
            TableFactor::Table { name, .. } => plain_name(name)?,
            _ => return Err("SQL: delete from something that is no table".to_owned()),
        },
        _ => return Err("SQL: delete from one table at a time".to_owned()),
    };
    let condition = match delete.selection.as_mut() {
        Some(condition) => resolved(condition, common, resolve)?,
        None => "1".to_owned(),
    };
    Ok(Step::Delete { table, condition })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS: Days = Days {
        logical: 455,
        wall: 456,
    };

    fn new(sql: &str) -> Vec<Step> {
        translate(sql, Engine::New, DAYS, &mut |name| {
            Ok(format!("legacy__{name}"))
        })
        .unwrap()
    }

    #[test]
    fn names_days_and_operators_are_rewritten_inside_the_query_only() {
        let steps = new(
            "drop table if exists t; create table t as select a/2 as h, nvl(r,'x'), round(b,1), today() \
             from u join (select c from v where d>{{ day }}-3) w on w.c/7=u.a group by a/2",
        );
        assert_eq!(steps.len(), 2);
        let Step::Create { select, table, .. } = &steps[1] else {
            unreachable!()
        };
        assert_eq!(table, "t");
        let text = select.to_lowercase();
        for part in [
            "exact_div(a, 2) as h",
            "nvl_new(r, 'x')",
            "round_even(b, 1)",
            ", 456",
            "legacy__u",
            "legacy__v",
            "d > 455 - 3",
            "exact_div(w.c, 7) = u.a",
            "group by exact_div(a, 2)",
        ] {
            assert!(text.contains(part), "{part} not in {text}");
        }
    }

    #[test]
    fn the_old_engine_keeps_its_division() {
        let steps = translate(
            "create table t as select a/2, nvl(b,'') from u",
            Engine::Old,
            DAYS,
            &mut |name| Ok(name.to_owned()),
        )
        .unwrap();
        let Step::Create { select, .. } = &steps[0] else {
            unreachable!()
        };
        assert!(
            select.contains("a / 2") && select.contains("nvl_old"),
            "{select}"
        );
    }

    #[test]
    fn append_jobs_and_common_tables() {
        let steps = new(
            "create table if not exists t as select * from (select a from u) q where 1=0; \
             insert into t with c as (select a from u) select a from c; delete from t where a in (select a from v)",
        );
        assert!(matches!(
            &steps[0],
            Step::Create {
                if_missing: true,
                ..
            }
        ));
        let Step::Insert { select, .. } = &steps[1] else {
            unreachable!()
        };
        assert!(
            select.contains("FROM c") && select.contains("legacy__u"),
            "{select}"
        );
        assert!(
            matches!(&steps[2], Step::Delete { condition, .. } if condition.contains("legacy__v"))
        );
    }

    #[test]
    fn what_jobs_may_not_do_is_refused() {
        for sql in [
            "attach 'x' as y",
            "update t set a=1",
            "create table t as select * from {{ week }}",
            "create table t as select * from main.x",
            "create table t (a int)",
            "sele ct",
            "",
        ] {
            assert!(
                translate(sql, Engine::New, DAYS, &mut |n| Ok(n.to_owned())).is_err(),
                "{sql}"
            );
        }
    }

    #[test]
    fn reading_is_told_from_writing() {
        let read =
            tables_read("drop table if exists t; create table t as select * from u, v").unwrap();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), ["u", "v"]);
    }
}
