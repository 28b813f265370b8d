//! The warehouse as an executable.

use super::call::Adapter;
use crate::model::{JobId, LogicalDate};
use crate::world::ports::{MAX_ROWS, PortError, Rows, Side, Timed, Warehouse};
use serde_json::json;

/// Dialects of the canonical expressions.
const DIALECTS: [&str; 3] = ["sqlite", "postgres", "duckdb"];

/// A warehouse adapter. How tables are named on each side is a setting and takes no call:
/// `legacy_table`, `staging_table` and `production_table`, in which `{table}` and `{job}` are replaced;
/// `legacy_table_at` and `staging_table_at`, with `{date}` as well, for another logical date than the target's own.
pub struct CommandWarehouse {
    adapter: Adapter,
    dialect: &'static str,
}

impl CommandWarehouse {
    /// A warehouse that asks this adapter.
    ///
    /// # Errors
    /// When the setting `dialect` is missing or unknown.
    pub fn new(adapter: Adapter) -> Result<Self, String> {
        let written = adapter.setting("dialect").unwrap_or("");
        let dialect = DIALECTS
            .into_iter()
            .find(|dialect| *dialect == written)
            .ok_or_else(|| {
                format!(
                    "[world.warehouse]: `dialect` is \"{written}\"; expected {}",
                    DIALECTS.join(", ")
                )
            })?;
        Ok(Self { adapter, dialect })
    }
}

impl Warehouse for CommandWarehouse {
    fn dialect(&self) -> &'static str {
        self.dialect
    }

    fn table(&self, side: Side, job: &JobId, table: &str, date: Option<&LogicalDate>) -> String {
        let key = format!("{}_table", side.word());
        let dated = date.and_then(|date| {
            let pattern = self.adapter.setting(&format!("{key}_at"))?;
            Some(pattern.replace("{date}", date.as_str()))
        });
        let pattern = dated.as_deref().or_else(|| self.adapter.setting(&key));
        match pattern {
            Some(pattern) => pattern
                .replace("{table}", table)
                .replace("{job}", job.as_str()),
            None => format!("{}.{table}", side.word()),
        }
    }

    fn query(&self, sql: &str) -> Result<Timed<Rows>, PortError> {
        let rows: Rows = self.adapter.call("query", &json!({"sql": sql}))?;
        if rows.rows.len() > MAX_ROWS {
            let why = format!("{} rows; at most {MAX_ROWS}", rows.rows.len());
            return Err(self.adapter.implausible("query", &why).into());
        }
        let width = rows.columns.len();
        if rows.rows.iter().any(|row| row.len() != width) {
            let why = format!("a row that does not have its {width} columns");
            return Err(self.adapter.implausible("query", &why).into());
        }
        Ok(Timed::now(rows))
    }
}
