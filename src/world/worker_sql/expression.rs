//! Expressions: checked and written anew.

use super::SqlRefused;
use super::statement::{Writer, refuse};
use super::words;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField, DuplicateTreatment,
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Interval, ObjectNamePart, Query, TrimWhereField, TypedString, UnaryOperator,
    Value, ValueWithSpan, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

type Written = Result<(), SqlRefused>;

impl Writer<'_> {
    pub(super) fn expression(&mut self, expression: &Expr) -> Written {
        self.deeper(|own| own.any(expression))
    }

    fn any(&mut self, expression: &Expr) -> Written {
        match expression {
            Expr::Identifier(ident) => self.name(ident),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] => {
                    self.name(table)?;
                    self.push(".");
                    self.name(column)
                }
                _ => refuse("give the table an alias and write alias.column"),
            },
            Expr::Value(value) => self.value(value),
            Expr::TypedString(text) => self.typed(text),
            Expr::Interval(interval) => self.interval(interval),
            Expr::Nested(inner) => self.in_brackets(inner),
            Expr::Tuple(items) => {
                self.push("(");
                self.list(items, Self::expression)?;
                self.push(")");
                Ok(())
            }
            Expr::BinaryOp { left, op, right } => {
                self.expression(left)?;
                self.push(&format!(" {} ", binary(op)?));
                self.expression(right)
            }
            Expr::UnaryOp { op, expr } => {
                self.push(match op {
                    UnaryOperator::Plus => "+ ",
                    UnaryOperator::Minus => "- ",
                    UnaryOperator::Not => "NOT ",
                    _ => return refuse(format!("the operator {op} is not allowed")),
                });
                self.expression(expr)
            }
            Expr::Subquery(query) => self.subquery(query),
            Expr::Exists { subquery, negated } => {
                self.push(if *negated { "NOT EXISTS " } else { "EXISTS " });
                self.subquery(subquery)
            }
            Expr::Case { .. } => self.case(expression),
            Expr::Function(function) => self.function(function),
            Expr::Cast { .. } | Expr::Collate { .. } => self.cast(expression),
            Expr::InList { .. } | Expr::InSubquery { .. } | Expr::Between { .. } => {
                self.contained(expression)
            }
            Expr::Like { .. } | Expr::ILike { .. } => self.like(expression),
            Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. } => self.standard_call(expression),
            _ => self.is(expression),
        }
    }

    fn in_brackets(&mut self, inner: &Expr) -> Written {
        self.push("(");
        self.expression(inner)?;
        self.push(")");
        Ok(())
    }

    /// `x IS …`; everything without words here ends in a refusal.
    fn is(&mut self, expression: &Expr) -> Written {
        let (inner, words) = match expression {
            Expr::IsNull(inner) => (inner, " IS NULL"),
            Expr::IsNotNull(inner) => (inner, " IS NOT NULL"),
            Expr::IsTrue(inner) => (inner, " IS TRUE"),
            Expr::IsNotTrue(inner) => (inner, " IS NOT TRUE"),
            Expr::IsFalse(inner) => (inner, " IS FALSE"),
            Expr::IsNotFalse(inner) => (inner, " IS NOT FALSE"),
            Expr::IsDistinctFrom(left, right) => {
                self.expression(left)?;
                self.push(" IS DISTINCT FROM ");
                return self.expression(right);
            }
            Expr::IsNotDistinctFrom(left, right) => {
                self.expression(left)?;
                self.push(" IS NOT DISTINCT FROM ");
                return self.expression(right);
            }
            other => {
                let text: String = other.to_string().chars().take(80).collect();
                return refuse(format!("this is not allowed in a query here: {text}"));
            }
        };
        self.expression(inner)?;
        self.push(words);
        Ok(())
    }

    fn value(&mut self, value: &ValueWithSpan) -> Written {
        match &value.value {
            Value::Number(digits, _) => {
                let plain = digits
                    .chars()
                    .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
                if !plain {
                    return refuse(format!("{digits:?} is no plain number"));
                }
                self.push(digits);
                Ok(())
            }
            Value::SingleQuotedString(text) => self.text(text),
            Value::Boolean(true) => {
                self.push("TRUE");
                Ok(())
            }
            Value::Boolean(false) => {
                self.push("FALSE");
                Ok(())
            }
            Value::Null => {
                self.push("NULL");
                Ok(())
            }
            Value::Placeholder(_) => refuse("placeholders have no value here; write the value"),
            _ => refuse("texts stand in single quotes, without a letter before them"),
        }
    }

    fn text(&mut self, text: &str) -> Written {
        // With an old setting PostgreSQL takes `\'` for a quote inside a text.
        if text.contains('\0') || (self.dialect != "sqlite" && text.contains('\\')) {
            return refuse("a text here holds no NUL and no backslash");
        }
        self.push("'");
        self.push(&text.replace('\'', "''"));
        self.push("'");
        Ok(())
    }

    fn typed(&mut self, text: &TypedString) -> Written {
        let TypedString {
            data_type,
            value,
            uses_odbc_syntax,
        } = text;
        let Value::SingleQuotedString(inner) = &value.value else {
            return refuse("texts stand in single quotes");
        };
        if *uses_odbc_syntax {
            return refuse("write DATE '…' without { }");
        }
        self.data_type(data_type)?;
        self.push(" ");
        self.text(inner)
    }

    fn interval(&mut self, interval: &Interval) -> Written {
        let Interval {
            value,
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        } = interval
        else {
            return refuse("write an interval as INTERVAL '1 day'");
        };
        let Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) = value.as_ref()
        else {
            return refuse("write an interval as INTERVAL '1 day'");
        };
        self.push("INTERVAL ");
        self.text(text)
    }

    fn case(&mut self, expression: &Expr) -> Written {
        let Expr::Case {
            case_token: _,
            end_token: _,
            operand,
            conditions,
            else_result,
        } = expression
        else {
            return Ok(());
        };
        self.push("CASE");
        if let Some(operand) = operand {
            self.push(" ");
            self.expression(operand)?;
        }
        for CaseWhen { condition, result } in conditions {
            self.push(" WHEN ");
            self.expression(condition)?;
            self.push(" THEN ");
            self.expression(result)?;
        }
        if let Some(result) = else_result {
            self.push(" ELSE ");
            self.expression(result)?;
        }
        self.push(" END");
        Ok(())
    }

    fn cast(&mut self, expression: &Expr) -> Written {
        match expression {
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => {
                self.push("CAST(");
                self.expression(expr)?;
                self.push(" AS ");
                self.data_type(data_type)?;
                self.push(")");
                Ok(())
            }
            Expr::Collate { expr, collation } => {
                let known = collation.to_string().to_lowercase();
                let known = ["nocase", "binary", "rtrim"]
                    .into_iter()
                    .find(|one| *one == known);
                let Some(known) = known.filter(|_| self.dialect == "sqlite") else {
                    return refuse("COLLATE takes NOCASE, BINARY or RTRIM, on SQLite only");
                };
                self.expression(expr)?;
                self.push(" COLLATE ");
                self.push(known);
                Ok(())
            }
            _ => refuse("write a conversion as CAST(x AS type)"),
        }
    }

    fn data_type(&mut self, data_type: &DataType) -> Written {
        let plain = matches!(
            data_type,
            DataType::Integer(_)
                | DataType::Int(_)
                | DataType::BigInt(_)
                | DataType::SmallInt(_)
                | DataType::Numeric(_)
                | DataType::Decimal(_)
                | DataType::Real
                | DataType::Double(_)
                | DataType::DoublePrecision
                | DataType::Float(_)
                | DataType::Text
                | DataType::Varchar(_)
                | DataType::Date
                | DataType::Time(..)
                | DataType::Timestamp(..)
                | DataType::Boolean
        );
        if !plain {
            return refuse(format!(
                "the type {data_type} is not allowed; use integer, numeric, real, text, date, timestamp or boolean"
            ));
        }
        self.push(&data_type.to_string());
        Ok(())
    }

    fn contained(&mut self, expression: &Expr) -> Written {
        match expression {
            Expr::InList {
                expr,
                list,
                negated,
            } => {
                self.expression(expr)?;
                self.push(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list, Self::expression)?;
                self.push(")");
                Ok(())
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => {
                self.expression(expr)?;
                self.push(if *negated { " NOT IN " } else { " IN " });
                self.subquery(subquery)
            }
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                self.expression(expr)?;
                self.push(if *negated {
                    " NOT BETWEEN "
                } else {
                    " BETWEEN "
                });
                self.expression(low)?;
                self.push(" AND ");
                self.expression(high)
            }
            _ => Ok(()),
        }
    }

    fn like(&mut self, expression: &Expr) -> Written {
        let (word, negated, any, expr, pattern, escape) = match expression {
            Expr::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => ("LIKE", negated, any, expr, pattern, escape_char),
            Expr::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => ("ILIKE", negated, any, expr, pattern, escape_char),
            _ => return Ok(()),
        };
        if *any {
            return refuse("LIKE ANY is not allowed; write one LIKE for each");
        }
        self.expression(expr)?;
        self.push(if *negated { " NOT " } else { " " });
        self.push(word);
        self.push(" ");
        self.expression(pattern)?;
        if let Some(escape) = escape {
            self.push(" ESCAPE ");
            self.value(escape)?;
        }
        Ok(())
    }

    /// Calls that the standard gives a grammar of their own.
    fn standard_call(&mut self, expression: &Expr) -> Written {
        match expression {
            Expr::Extract {
                field,
                syntax: _,
                expr,
            } => {
                self.push(&format!("EXTRACT({} FROM ", part_of_time(field)?));
                self.expression(expr)?;
            }
            Expr::Ceil { expr, field } | Expr::Floor { expr, field } => {
                if *field != CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) {
                    return refuse("ceil and floor take one value");
                }
                let floor = matches!(expression, Expr::Floor { .. });
                self.push(if floor { "FLOOR(" } else { "CEIL(" });
                self.expression(expr)?;
            }
            Expr::Position { expr, r#in } => {
                self.push("POSITION(");
                self.expression(expr)?;
                self.push(" IN ");
                self.expression(r#in)?;
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special: _,
                shorthand: _,
            } => {
                self.push("SUBSTR(");
                self.expression(expr)?;
                let Some(from) = substring_from else {
                    return refuse("substr takes a text, a place and a length");
                };
                self.push(", ");
                self.expression(from)?;
                if let Some(length) = substring_for {
                    self.push(", ");
                    self.expression(length)?;
                }
            }
            Expr::Trim { .. } => self.trim(expression)?,
            _ => return Ok(()),
        }
        self.push(")");
        Ok(())
    }

    fn trim(&mut self, expression: &Expr) -> Written {
        let Expr::Trim {
            trim_where,
            trim_what,
            expr,
            trim_characters,
        } = expression
        else {
            return Ok(());
        };
        self.push(match trim_where {
            None | Some(TrimWhereField::Both) => "TRIM(",
            Some(TrimWhereField::Leading) => "LTRIM(",
            Some(TrimWhereField::Trailing) => "RTRIM(",
        });
        self.expression(expr)?;
        if let Some(what) = trim_what {
            self.push(", ");
            self.expression(what)?;
        }
        for what in trim_characters.iter().flatten() {
            self.push(", ");
            self.expression(what)?;
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Written {
        let Function {
            name,
            uses_odbc_syntax,
            parameters,
            args,
            filter,
            null_treatment,
            over,
            within_group,
        } = function;
        let shown: String = name.to_string().chars().take(60).collect();
        let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return refuse(format!("the function {shown} is not allowed"));
        };
        let folded = ident.value.to_lowercase();
        if ident.quote_style.is_some() || !words::is_allowed(&folded, self.dialect) {
            return refuse(format!(
                "the function {shown} is not allowed; these are: {}",
                words::allowed(self.dialect)
            ));
        }
        let odd = *uses_odbc_syntax
            || *parameters != FunctionArguments::None
            || null_treatment.is_some()
            || !within_group.is_empty();
        if odd {
            return refuse(format!(
                "{shown} takes values in one pair of brackets, and nothing more"
            ));
        }
        self.push(&folded);
        self.arguments(&folded, args)?;
        if let Some(condition) = filter {
            self.push(" FILTER (WHERE ");
            self.expression(condition)?;
            self.push(")");
        }
        match over {
            None => Ok(()),
            Some(WindowType::WindowSpec(window)) => self.window(window),
            Some(WindowType::NamedWindow(_)) => refuse("write the window itself after OVER"),
        }
    }

    fn arguments(&mut self, function: &str, arguments: &FunctionArguments) -> Written {
        let FunctionArgumentList {
            duplicate_treatment,
            args,
            clauses,
        } = match arguments {
            // `current_date` has no brackets.
            FunctionArguments::None => return Ok(()),
            FunctionArguments::Subquery(query) => return self.call_of_query(query),
            FunctionArguments::List(list) => list,
        };
        self.push("(");
        if *duplicate_treatment == Some(DuplicateTreatment::Distinct) {
            self.push("DISTINCT ");
        }
        self.list(args, |own, argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => own.expression(expression),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if function == "count" => {
                own.push("*");
                Ok(())
            }
            _ => refuse(format!("{function} takes plain values")),
        })?;
        for clause in clauses {
            match clause {
                FunctionArgumentClause::OrderBy(expressions) => {
                    self.push(" ORDER BY ");
                    self.ordered(expressions)?;
                }
                _ => return refuse(format!("{function} takes plain values")),
            }
        }
        self.push(")");
        Ok(())
    }

    fn call_of_query(&mut self, query: &Query) -> Written {
        self.push("(");
        self.subquery(query)?;
        self.push(")");
        Ok(())
    }

    fn window(&mut self, window: &WindowSpec) -> Written {
        let WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = window;
        if window_name.is_some() {
            return refuse("write the window itself after OVER");
        }
        self.push(" OVER (");
        if !partition_by.is_empty() {
            self.push("PARTITION BY ");
            self.list(partition_by, Self::expression)?;
        }
        if !order_by.is_empty() {
            self.push(" ORDER BY ");
            self.ordered(order_by)?;
        }
        if let Some(WindowFrame {
            units,
            start_bound,
            end_bound,
        }) = window_frame
        {
            self.push(match units {
                WindowFrameUnits::Rows => " ROWS BETWEEN ",
                WindowFrameUnits::Range => " RANGE BETWEEN ",
                WindowFrameUnits::Groups => " GROUPS BETWEEN ",
            });
            self.bound(start_bound)?;
            self.push(" AND ");
            match end_bound {
                Some(bound) => self.bound(bound)?,
                None => self.push("CURRENT ROW"),
            }
        }
        self.push(")");
        Ok(())
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> Written {
        let (rows, word) = match bound {
            WindowFrameBound::CurrentRow => {
                self.push("CURRENT ROW");
                return Ok(());
            }
            WindowFrameBound::Preceding(rows) => (rows, " PRECEDING"),
            WindowFrameBound::Following(rows) => (rows, " FOLLOWING"),
        };
        match rows {
            None => self.push("UNBOUNDED"),
            Some(rows) => self.expression(rows)?,
        }
        self.push(word);
        Ok(())
    }
}

fn part_of_time(field: &DateTimeField) -> Result<&'static str, SqlRefused> {
    Ok(match field {
        DateTimeField::Year => "YEAR",
        DateTimeField::Quarter => "QUARTER",
        DateTimeField::Month => "MONTH",
        DateTimeField::Week(None) => "WEEK",
        DateTimeField::Day => "DAY",
        DateTimeField::Hour => "HOUR",
        DateTimeField::Minute => "MINUTE",
        DateTimeField::Second => "SECOND",
        DateTimeField::Epoch => "EPOCH",
        DateTimeField::Dow => "DOW",
        DateTimeField::Doy => "DOY",
        _ => {
            return refuse("EXTRACT takes year, quarter, month, week, day, hour, minute or second");
        }
    })
}

fn binary(operator: &BinaryOperator) -> Result<&'static str, SqlRefused> {
    Ok(match operator {
        BinaryOperator::Plus => "+",
        BinaryOperator::Minus => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::StringConcat => "||",
        BinaryOperator::Gt => ">",
        BinaryOperator::Lt => "<",
        BinaryOperator::GtEq => ">=",
        BinaryOperator::LtEq => "<=",
        BinaryOperator::Eq => "=",
        BinaryOperator::NotEq => "<>",
        BinaryOperator::And => "AND",
        BinaryOperator::Or => "OR",
        BinaryOperator::BitwiseAnd => "&",
        BinaryOperator::BitwiseOr => "|",
        other => return refuse(format!("the operator {other} is not allowed")),
    })
}
