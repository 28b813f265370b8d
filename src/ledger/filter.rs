//! The filter language of the interface and of `jobs --filter`: words AND, `!x` excludes, `key:value`,
//! `key:>1`.

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    exclude: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    /// Anywhere in id, title, state, reason or waiting sentence.
    Word(String),
    /// A column that holds a word.
    Text { column: &'static str, value: String },
    /// A column that holds a number.
    Number {
        column: &'static str,
        relation: &'static str,
        value: i64,
    },
    /// It waits for something.
    Waits,
    /// A clause's last verdict for the current config.
    Clause {
        clause: String,
        verdict: Option<String>,
    },
}

/// A parsed filter; the empty one selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    terms: Vec<Term>,
}

/// Terms kept of one filter; more are refused.
const MAX_TERMS: usize = 16;

/// The keys, for help and errors.
pub const FILTER_KEYS: &[&str] = &[
    "state", "wait", "clause", "tries", "attempt", "queries", "passed", "is",
];

impl Filter {
    /// Parses what was typed. `clause:checksum` selects jobs with a verdict on that clause,
    /// `clause:checksum=fail` those whose last verdict was that; `is:paused`, `is:to_verify`,
    /// `is:high_risk`, `is:waiting`.
    ///
    /// # Errors
    /// One sentence that says which word is wrong and what would fit.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for word in text.split_whitespace() {
            if terms.len() == MAX_TERMS {
                return Err(format!("a filter has at most {MAX_TERMS} words"));
            }
            let (exclude, rest) = match word.strip_prefix('!') {
                Some(rest) if !rest.is_empty() => (true, rest),
                _ => (false, word),
            };
            terms.push(Term {
                exclude,
                test: parse_test(rest)?,
            });
        }
        Ok(Self { terms })
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// A WHERE condition over `jobs` with parameters from ?2 on.
    pub(super) fn to_sql(&self) -> (String, Vec<String>) {
        let mut conditions = vec!["1".to_owned()];
        let mut values: Vec<String> = Vec::new();
        for term in &self.terms {
            let mut bind = |value: String| {
                values.push(value);
                format!("?{}", values.len() + 1)
            };
            let condition = match &term.test {
                Test::Word(word) => {
                    let place = bind(format!("%{}%", escape_like(word)));
                    let columns = [
                        "job",
                        "title",
                        "state",
                        "reason",
                        "coalesce(wait_reason, '')",
                    ];
                    let any: Vec<String> = columns
                        .iter()
                        .map(|column| format!("{column} LIKE {place} ESCAPE '\\'"))
                        .collect();
                    format!("({})", any.join(" OR "))
                }
                Test::Text { column, value } => {
                    format!(
                        "coalesce({column}, '') LIKE {} ESCAPE '\\'",
                        bind(format!("{}%", escape_like(value)))
                    )
                }
                Test::Number {
                    column,
                    relation,
                    value,
                } => {
                    format!(
                        "{column} {relation} CAST({} AS INTEGER)",
                        bind(value.to_string())
                    )
                }
                Test::Waits => "(wait_kind IS NOT NULL)".to_owned(),
                Test::Clause { clause, verdict } => {
                    let path = format!(
                        "(SELECT json_extract(facts.facts, '$.evidence.' || json_quote({}) || '.verdict')
                          FROM facts WHERE facts.goal = jobs.goal AND facts.job = jobs.job)",
                        bind(clause.clone())
                    );
                    match verdict {
                        Some(verdict) => {
                            format!("coalesce({path}, '') = {}", bind(verdict.clone()))
                        }
                        None => format!("{path} IS NOT NULL"),
                    }
                }
            };
            conditions.push(if term.exclude {
                format!("NOT {condition}")
            } else {
                condition
            });
        }
        (conditions.join(" AND "), values)
    }
}

fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_")
}

fn parse_test(word: &str) -> Result<Test, String> {
    let Some((key, value)) = word.split_once(':') else {
        return Ok(Test::Word(word.to_owned()));
    };
    let number = |column| parse_number(column, key, value);
    match key {
        "state" => Ok(Test::Text {
            column: "state",
            value: value.to_owned(),
        }),
        "wait" => Ok(Test::Text {
            column: "wait_kind",
            value: value.to_owned(),
        }),
        "tries" => number("tries"),
        "attempt" => number("attempt"),
        "queries" => number("queries"),
        "passed" => number("clauses_passed"),
        "clause" => {
            let (clause, verdict) = match value.split_once('=') {
                Some((clause, verdict)) => (clause, Some(verdict.to_owned())),
                None => (value, None),
            };
            Ok(Test::Clause {
                clause: clause.to_owned(),
                verdict,
            })
        }
        "is" => match value {
            "paused" | "to_verify" | "high_risk" => Ok(Test::Number {
                column: match value {
                    "paused" => "paused",
                    "to_verify" => "to_verify",
                    _ => "high_risk",
                },
                relation: "=",
                value: 1,
            }),
            "waiting" => Ok(Test::Waits),
            other => Err(format!(
                "is:{other} is not known; is:paused, is:to_verify, is:high_risk, is:waiting are"
            )),
        },
        other => Err(format!(
            "{other}: is not a key; keys are {}",
            FILTER_KEYS.join(", ")
        )),
    }
}

fn parse_number(column: &'static str, key: &str, value: &str) -> Result<Test, String> {
    let relations = [
        (">=", ">="),
        ("<=", "<="),
        (">", ">"),
        ("<", "<"),
        ("=", "="),
    ];
    let (relation, rest) = relations
        .iter()
        .find_map(|(sign, relation)| value.strip_prefix(sign).map(|rest| (*relation, rest)))
        .unwrap_or(("=", value));
    match rest.parse::<i64>() {
        Ok(value) => Ok(Test::Number {
            column,
            relation,
            value,
        }),
        Err(_) => Err(format!("{key}:{value} wants a number, such as {key}:>1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_keys_and_exclusions_parse() {
        let filter = Filter::parse(
            "orders !daily state:handed_over tries:>1 clause:checksum=fail is:paused",
        );
        assert_eq!(filter.map(|filter| filter.terms.len()), Ok(6));
        assert_eq!(
            Filter::parse("tries:many").err().as_deref(),
            Some("tries:many wants a number, such as tries:>1")
        );
        assert!(Filter::parse("colour:red").is_err());
    }

    proptest! {
        #[test]
        fn any_text_parses_or_says_why_and_its_sql_runs(text in "\\PC{0,80}|[a-z:!><=%'\"_ ]{0,40}") {
            if let Ok(filter) = Filter::parse(&text) {
                let (clause, values) = filter.to_sql();
                let conn = super::super::schema::scratch().unwrap();
                let sql = format!("SELECT job FROM jobs WHERE goal = ?1 AND ({clause})");
                let all = std::iter::once("g".to_owned()).chain(values);
                let mut statement = conn.prepare(&sql).unwrap();
                let rows = statement.query(rusqlite::params_from_iter(all));
                prop_assert!(rows.is_ok());
            }
        }
    }
}
