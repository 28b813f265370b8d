//! SQL rewritten so that it means in the new engine what it meant in the old one: parsed, not patched.

use sqlparser::ast::{BinaryOperator, Expr, VisitMut, VisitorMut};
use sqlparser::dialect::SQLiteDialect;
use sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Stands for `{{ day }}` while the text is parsed.
const DAY: &str = "practice_logical_day";

/// Integer division stays one, and an empty text stays no value: `None` when nothing has to change.
pub fn keep_the_meaning(sql: &str) -> Option<String> {
    changed(sql, |expr| match expr {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Divide,
            right,
        } if !is_fraction(left) && !is_fraction(right) => {
            expression(&format!("cast({left} / {right} as integer)"))
        }
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("nvl") => {
            let text = function.to_string();
            let inner = text
                .get(4..text.len().saturating_sub(1))
                .filter(|inner| !inner.to_ascii_lowercase().starts_with("nullif("))?;
            let (first, second) = inner.split_once(',')?;
            expression(&format!("nvl(nullif({first}, ''), {second})"))
        }
        _ => None,
    })
}

/// The logical date instead of the clock on the wall.
pub fn by_logical_date(sql: &str) -> Option<String> {
    changed(sql, |expr| match expr {
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("today") => {
            expression(DAY)
        }
        _ => None,
    })
}

/// Whether it adds rows and clears none.
pub fn only_adds(sql: &str) -> bool {
    let text = sql.to_ascii_lowercase();
    text.contains("insert into ")
        && !["drop table", "delete from", "truncate "]
            .iter()
            .any(|word| text.contains(word))
}

struct Visitor<F>(F, bool);

impl<F: FnMut(&Expr) -> Option<Expr>> VisitorMut for Visitor<F> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(new) = (self.0)(expr) {
            *expr = new;
            self.1 = true;
        }
        ControlFlow::Continue(())
    }
}

fn changed(sql: &str, change: impl FnMut(&Expr) -> Option<Expr>) -> Option<String> {
    let text = sql.replace("{{ day }}", DAY);
    let mut statements = Parser::parse_sql(&SQLiteDialect {}, &text).ok()?;
    let mut visitor = Visitor(change, false);
    for statement in &mut statements {
        let _ = statement.visit(&mut visitor);
    }
    if !visitor.1 {
        return None;
    }
    let mut out = String::new();
    for statement in statements {
        out.push_str(&statement.to_string());
        out.push_str(";\n");
    }
    Some(out.replace(DAY, "{{ day }}"))
}

fn expression(text: &str) -> Option<Expr> {
    Parser::new(&SQLiteDialect {})
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_expr())
        .ok()
}

/// A number with a point, or an average, divides into fractions in both engines; a cast that this module put
/// there is done already.
fn is_fraction(expr: &Expr) -> bool {
    let text = expr.to_string().to_ascii_lowercase();
    let point = text
        .as_bytes()
        .windows(3)
        .any(|three| matches!(three, [a, b'.', b] if a.is_ascii_digit() && b.is_ascii_digit()));
    point || text.contains("avg(") || text.contains(" as real)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_and_empty_texts_keep_their_meaning() {
        let new = keep_the_meaning(
            "create table t as select (a * b) / 100 as x, c / 2.5 as y, nvl(region, 'none') as r from s where d = {{ day }};",
        )
        .unwrap();
        assert!(new.contains("CAST((a * b) / 100 AS INTEGER)"), "{new}");
        assert!(new.contains("c / 2.5 AS y"), "{new}");
        assert!(new.contains("nvl(nullif(region, ''),"), "{new}");
        assert!(new.contains("d = {{ day }}"), "{new}");
        let divided_once = new.matches("CAST").count();
        assert_eq!(divided_once, 1);
    }

    #[test]
    fn nothing_to_do_is_nothing_done() {
        assert_eq!(keep_the_meaning("select a from t"), None);
        assert_eq!(by_logical_date("select {{ day }}"), None);
        let new = by_logical_date("select today() - 3").unwrap();
        assert_eq!(new, "SELECT {{ day }} - 3;\n");
    }
}
