//! Queries, tables and joins: checked and written anew.

use super::{MAX_WORKER_ROWS, SqlRefused};
use sqlparser::ast::{
    Cte, Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, LimitClause,
    ObjectName, ObjectNamePart, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, TableAlias,
    TableFactor, TableWithJoins, Value, ValueWithSpan, WildcardAdditionalOptions, With,
};

/// Deepest nesting of expressions and queries.
const MAX_DEPTH: u32 = 200;
/// Most tables and subqueries that one statement may join: each multiplies the work.
const MAX_SOURCES: u32 = 12;
/// Begins the names given to common tables, so that none can stand for a real one.
const COMMON: &str = "dw_common_";

/// The statement, with its LIMIT.
pub(super) fn write(
    query: &Query,
    dialect: &str,
    tables: &[(String, String)],
) -> Result<String, SqlRefused> {
    let mut writer = Writer {
        dialect,
        tables,
        common: Vec::new(),
        out: String::new(),
        depth: 0,
        sources: 0,
    };
    writer.query(query, true)?;
    Ok(writer.out)
}

pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, SqlRefused> {
    Err(SqlRefused(why.into()))
}

/// A clause that is not taken, when it stands there.
fn without(stands_there: bool, clause: &str) -> Result<(), SqlRefused> {
    if stands_there {
        return refuse(format!(
            "{clause} is not allowed; write the SELECT without it"
        ));
    }
    Ok(())
}

/// A name, quoted by us where the worker quoted it.
pub(super) fn identifier(ident: &Ident, dialect: &str) -> Result<String, SqlRefused> {
    let plain = ident
        .value
        .chars()
        .all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !ident.value.starts_with(|c: char| c.is_ascii_digit());
    match ident.quote_style {
        Some('\'') => refuse(format!(
            "'{}' is a text, and a name stands here; names go without quotes or in \"\"",
            ident.value
        )),
        None if plain && !ident.value.is_empty() => Ok(ident.value.clone()),
        None => refuse(format!(
            "{:?} is no plain name; write it in \"\"",
            ident.value
        )),
        // PostgreSQL reads U& before a quote; a quoted name alone has one meaning everywhere.
        Some(_) if ident.value.is_empty() || ident.value.contains('\0') => refuse("an empty name"),
        Some(_) if dialect == "sqlite" => {
            // In "" SQLite takes a name that it does not know for a text; in [] it says that there is none.
            if ident.value.contains(']') {
                return refuse("a name with `]` in it cannot be asked for");
            }
            Ok(format!("[{}]", ident.value))
        }
        Some(_) => Ok(format!("\"{}\"", ident.value.replace('"', "\"\""))),
    }
}

pub(super) struct Writer<'a> {
    pub(super) dialect: &'a str,
    /// Names in lower case, and what the warehouse calls them.
    tables: &'a [(String, String)],
    /// Common tables that can be named here, in lower case.
    common: Vec<String>,
    pub(super) out: String,
    depth: u32,
    sources: u32,
}

impl Writer<'_> {
    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn name(&mut self, ident: &Ident) -> Result<(), SqlRefused> {
        let text = identifier(ident, self.dialect)?;
        self.push(&text);
        Ok(())
    }

    /// Goes one level down.
    pub(super) fn deeper(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), SqlRefused>,
    ) -> Result<(), SqlRefused> {
        if self.depth == MAX_DEPTH {
            return refuse(format!(
                "the statement is nested deeper than {MAX_DEPTH} levels; make it simpler"
            ));
        }
        self.depth += 1;
        let written = write(self);
        self.depth -= 1;
        written
    }

    /// Items with commas between.
    pub(super) fn list<T>(
        &mut self,
        items: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Result<(), SqlRefused>,
    ) -> Result<(), SqlRefused> {
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.push(", ");
            }
            write(self, item)?;
        }
        Ok(())
    }

    /// A query in brackets.
    pub(super) fn subquery(&mut self, query: &Query) -> Result<(), SqlRefused> {
        self.push("(");
        self.deeper(|own| own.query(query, false))?;
        self.push(")");
        Ok(())
    }

    fn query(&mut self, query: &Query, outermost: bool) -> Result<(), SqlRefused> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        without(fetch.is_some(), "FETCH")?;
        without(!locks.is_empty(), "FOR UPDATE")?;
        without(for_clause.is_some(), "FOR XML or FOR JSON")?;
        without(settings.is_some(), "SETTINGS")?;
        without(format_clause.is_some(), "FORMAT")?;
        without(!pipe_operators.is_empty(), "a pipe")?;
        let visible = self.common.len();
        if let Some(with) = with {
            self.with(with)?;
        }
        self.body(body)?;
        if let Some(order_by) = order_by {
            self.order_by(order_by)?;
        }
        self.limit(limit_clause.as_ref(), outermost)?;
        self.common.truncate(visible);
        Ok(())
    }

    /// Common tables get names of their own, so that one can neither hide a table nor be taken for one.
    fn with(&mut self, with: &With) -> Result<(), SqlRefused> {
        let With {
            with_token: _,
            recursive,
            cte_tables,
        } = with;
        without(*recursive, "WITH RECURSIVE")?;
        self.push("WITH ");
        self.list(cte_tables, |own, one| {
            let Cte {
                alias,
                query,
                from,
                materialized,
                closing_paren_token: _,
            } = one;
            without(from.is_some(), "FROM in a common table")?;
            without(materialized.is_some(), "MATERIALIZED")?;
            let TableAlias {
                explicit: _,
                name,
                columns,
                at,
            } = alias;
            without(at.is_some(), "AT")?;
            let folded = name.value.to_lowercase();
            own.push(&common_name(&folded)?);
            own.alias_columns(columns)?;
            own.push(" AS ");
            // Not visible in itself: it cannot recur.
            own.subquery(query)?;
            own.common.push(folded);
            Ok(())
        })?;
        self.push(" ");
        Ok(())
    }

    fn alias_columns(
        &mut self,
        columns: &[sqlparser::ast::TableAliasColumnDef],
    ) -> Result<(), SqlRefused> {
        if columns.is_empty() {
            return Ok(());
        }
        self.push("(");
        self.list(columns, |own, column| {
            without(column.data_type.is_some(), "a type in an alias")?;
            own.name(&column.name)
        })?;
        self.push(")");
        Ok(())
    }

    fn body(&mut self, body: &SetExpr) -> Result<(), SqlRefused> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.subquery(query),
            SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } => self.deeper(|own| {
                own.body(left)?;
                own.push(match op {
                    SetOperator::Union => " UNION ",
                    SetOperator::Except => " EXCEPT ",
                    SetOperator::Intersect => " INTERSECT ",
                    SetOperator::Minus => return refuse("write EXCEPT instead of MINUS"),
                });
                match set_quantifier {
                    SetQuantifier::All => own.push("ALL "),
                    SetQuantifier::None => {}
                    _ => return refuse("only ALL may stand after UNION, EXCEPT or INTERSECT"),
                }
                own.body(right)
            }),
            SetExpr::Values(_)
            | SetExpr::Insert(_)
            | SetExpr::Update(_)
            | SetExpr::Delete(_)
            | SetExpr::Merge(_)
            | SetExpr::Table(_) => refuse("only a SELECT is allowed here; nothing can be changed"),
        }
    }

    fn select(&mut self, select: &Select) -> Result<(), SqlRefused> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        without(into.is_some(), "SELECT INTO")?;
        without(!optimizer_hints.is_empty(), "a hint")?;
        without(select_modifiers.is_some(), "a modifier of SELECT")?;
        without(top.is_some(), "TOP")?;
        without(exclude.is_some(), "EXCLUDE")?;
        without(!lateral_views.is_empty(), "LATERAL VIEW")?;
        without(prewhere.is_some(), "PREWHERE")?;
        without(!connect_by.is_empty(), "CONNECT BY")?;
        let sorted = !cluster_by.is_empty() || !distribute_by.is_empty() || !sort_by.is_empty();
        without(sorted, "CLUSTER BY, DISTRIBUTE BY or SORT BY")?;
        without(!named_window.is_empty(), "WINDOW")?;
        without(qualify.is_some(), "QUALIFY")?;
        without(value_table_mode.is_some(), "SELECT AS")?;
        without(*flavor != SelectFlavor::Standard, "FROM before SELECT")?;
        self.push("SELECT ");
        match distinct {
            None | Some(Distinct::All) => {}
            Some(Distinct::Distinct) => self.push("DISTINCT "),
            Some(Distinct::On(_)) => return refuse("DISTINCT ON is not allowed; use GROUP BY"),
        }
        self.list(projection, Self::projected)?;
        if !from.is_empty() {
            self.push(" FROM ");
            self.list(from, Self::joined)?;
        }
        if let Some(condition) = selection {
            self.push(" WHERE ");
            self.expression(condition)?;
        }
        self.group_by(group_by)?;
        if let Some(condition) = having {
            self.push(" HAVING ");
            self.expression(condition)?;
        }
        Ok(())
    }

    fn group_by(&mut self, group_by: &GroupByExpr) -> Result<(), SqlRefused> {
        match group_by {
            GroupByExpr::All(_) => refuse("GROUP BY ALL is not allowed; name the columns"),
            GroupByExpr::Expressions(expressions, modifiers) => {
                without(!modifiers.is_empty(), "WITH after GROUP BY")?;
                if expressions.is_empty() {
                    return Ok(());
                }
                self.push(" GROUP BY ");
                self.list(expressions, Self::expression)
            }
        }
    }

    fn projected(&mut self, item: &SelectItem) -> Result<(), SqlRefused> {
        match item {
            SelectItem::UnnamedExpr(expression) => self.expression(expression),
            SelectItem::ExprWithAlias { expr, alias } => {
                self.expression(expr)?;
                self.push(" AS ");
                self.name(alias)
            }
            SelectItem::ExprWithAliases { .. } => refuse("one name for each column"),
            SelectItem::QualifiedWildcard(kind, options) => {
                bare(options)?;
                match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(name) => match name.0.as_slice() {
                        [ObjectNamePart::Identifier(ident)] => {
                            self.name(ident)?;
                            self.push(".*");
                            Ok(())
                        }
                        _ => refuse("give the table an alias and write alias.*"),
                    },
                    SelectItemQualifiedWildcardKind::Expr(_) => refuse("`.*` after an expression"),
                }
            }
            SelectItem::Wildcard(options) => {
                bare(options)?;
                self.push("*");
                Ok(())
            }
        }
    }

    fn joined(&mut self, table: &TableWithJoins) -> Result<(), SqlRefused> {
        let TableWithJoins { relation, joins } = table;
        self.source(relation)?;
        for join in joins {
            let Join {
                relation,
                global,
                join_operator,
            } = join;
            without(*global, "GLOBAL")?;
            let (word, constraint) = match join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                    ("JOIN", constraint)
                }
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    ("LEFT JOIN", constraint)
                }
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                    ("RIGHT JOIN", constraint)
                }
                JoinOperator::FullOuter(constraint) => ("FULL JOIN", constraint),
                JoinOperator::CrossJoin(constraint) => ("CROSS JOIN", constraint),
                _ => return refuse("this kind of join is not allowed; use JOIN … ON"),
            };
            let natural = matches!(constraint, JoinConstraint::Natural);
            self.push(if natural { " NATURAL " } else { " " });
            self.push(word);
            self.push(" ");
            self.source(relation)?;
            match constraint {
                JoinConstraint::On(condition) => {
                    self.push(" ON ");
                    self.expression(condition)?;
                }
                JoinConstraint::Using(columns) => {
                    self.push(" USING (");
                    self.list(columns, |own, column| match column.0.as_slice() {
                        [ObjectNamePart::Identifier(ident)] => own.name(ident),
                        _ => refuse("plain column names in USING"),
                    })?;
                    self.push(")");
                }
                JoinConstraint::Natural | JoinConstraint::None => {}
            }
        }
        Ok(())
    }

    fn source(&mut self, source: &TableFactor) -> Result<(), SqlRefused> {
        self.sources += 1;
        if self.sources > MAX_SOURCES {
            return refuse(format!(
                "more than {MAX_SOURCES} tables and subqueries; split the question"
            ));
        }
        match source {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                let name_text = name.to_string();
                if args.is_some() {
                    return refuse(format!(
                        "{name_text:?} is a function, and a table must stand here"
                    ));
                }
                let more = !with_hints.is_empty()
                    || version.is_some()
                    || *with_ordinality
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || sample.is_some()
                    || !index_hints.is_empty();
                without(more, "anything but an alias after a table's name")?;
                self.table(name, alias.as_ref())
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                sample,
            } => {
                without(*lateral, "LATERAL")?;
                without(sample.is_some(), "TABLESAMPLE")?;
                self.subquery(subquery)?;
                self.alias(alias.as_ref())
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                without(alias.is_some(), "an alias of a join in brackets")?;
                self.push("(");
                self.deeper(|own| own.joined(table_with_joins))?;
                self.push(")");
                Ok(())
            }
            _ => refuse("only tables, subqueries and joins may stand after FROM"),
        }
    }

    fn table(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<(), SqlRefused> {
        let mut parts = Vec::new();
        for part in &name.0 {
            match part {
                ObjectNamePart::Identifier(ident) => parts.push(ident),
                ObjectNamePart::Function(_) => return refuse("a function names no table"),
            }
        }
        let values: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let written = values.join(".").to_lowercase();
        let known = self.tables.iter().find(|(own, _)| *own == written);
        let physical = if parts.len() == 1 && self.common.contains(&written) {
            common_name(&written)?
        } else if let Some((_, physical)) = known {
            physical.clone()
        } else {
            let names: Vec<&str> = self.tables.iter().map(|(own, _)| own.as_str()).collect();
            return refuse(format!(
                "{written:?} is not one of this job's tables, which are: {}",
                names.join(", ")
            ));
        };
        self.push(&physical);
        match (alias, parts.last()) {
            (Some(_), _) => self.alias(alias),
            (None, Some(last)) => {
                self.push(" AS ");
                self.name(last)
            }
            (None, None) => Ok(()),
        }
    }

    fn alias(&mut self, alias: Option<&TableAlias>) -> Result<(), SqlRefused> {
        let Some(TableAlias {
            explicit: _,
            name,
            columns,
            at,
        }) = alias
        else {
            return Ok(());
        };
        without(at.is_some(), "AT")?;
        self.push(" AS ");
        self.name(name)?;
        self.alias_columns(columns)
    }

    fn order_by(&mut self, order_by: &OrderBy) -> Result<(), SqlRefused> {
        let OrderBy { kind, interpolate } = order_by;
        without(interpolate.is_some(), "INTERPOLATE")?;
        match kind {
            OrderByKind::All(_) => refuse("ORDER BY ALL is not allowed; name the columns"),
            OrderByKind::Expressions(expressions) => {
                self.push(" ORDER BY ");
                self.ordered(expressions)
            }
        }
    }

    /// The expressions after ORDER BY.
    pub(super) fn ordered(&mut self, expressions: &[OrderByExpr]) -> Result<(), SqlRefused> {
        self.list(expressions, |own, one| {
            let OrderByExpr {
                expr,
                options,
                with_fill,
            } = one;
            without(with_fill.is_some(), "WITH FILL")?;
            own.expression(expr)?;
            own.push(match options.asc {
                Some(true) => " ASC",
                Some(false) => " DESC",
                None => "",
            });
            own.push(match options.nulls_first {
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
                None => "",
            });
            Ok(())
        })
    }

    /// Writes a LIMIT: the outermost query always has one, and never a higher one than a worker is given.
    fn limit(&mut self, clause: Option<&LimitClause>, outermost: bool) -> Result<(), SqlRefused> {
        let most = MAX_WORKER_ROWS as u64 + 1;
        let (limit, offset) = match clause {
            None => (None, None),
            Some(LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) => {
                without(!limit_by.is_empty(), "LIMIT BY")?;
                (limit.as_ref(), offset.as_ref().map(|one| &one.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        };
        let limit = limit.map(whole).transpose()?;
        let offset = offset.map(whole).transpose()?;
        let limit = if outermost {
            Some(limit.map_or(most, |own| own.min(most)))
        } else {
            limit
        };
        match (limit, offset) {
            (Some(limit), _) => self.push(&format!(" LIMIT {limit}")),
            // SQLite has no OFFSET without a LIMIT.
            (None, Some(_)) => self.push(&format!(" LIMIT {}", i64::MAX)),
            (None, None) => {}
        }
        if let Some(offset) = offset {
            self.push(&format!(" OFFSET {offset}"));
        }
        Ok(())
    }
}

fn common_name(folded: &str) -> Result<String, SqlRefused> {
    if folded.is_empty()
        || !folded
            .chars()
            .all(|c| c == '_' || c.is_ascii_alphanumeric())
    {
        return refuse("a common table's name has letters, digits and _ only");
    }
    Ok(format!("{COMMON}{folded}"))
}

fn whole(expression: &Expr) -> Result<u64, SqlRefused> {
    if let Expr::Value(ValueWithSpan {
        value: Value::Number(text, _),
        ..
    }) = expression
        && let Ok(number) = text.parse::<u32>()
    {
        return Ok(u64::from(number));
    }
    refuse("LIMIT and OFFSET take a plain number")
}

fn bare(options: &WildcardAdditionalOptions) -> Result<(), SqlRefused> {
    let plain = WildcardAdditionalOptions {
        wildcard_token: options.wildcard_token.clone(),
        ..WildcardAdditionalOptions::default()
    };
    without(*options != plain, "anything after `*`")
}
