//! The scenario's table, one row a job. For making a world and for tests; nothing else reads it.

use serde::Deserialize;

/// One job of the scenario. Text columns as they stand in the CSV.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Row {
    /// The job's id.
    pub job: String,
    /// Domain of the company.
    pub domain: String,
    /// `stage`, `dim`, `fact`, `mart`, `report`, `export` or `ops`.
    pub layer: String,
    /// `mechanical`, `repair`, `impossible` or `retire`: for scoring.
    pub cls: String,
    /// Kind of defect: decides what the legacy text looks like.
    pub defect: String,
    /// Why the class: decides what the surroundings hold.
    pub why: String,
    /// Old scheduler.
    pub legacy: String,
    /// File, flow or export that the job stands in.
    pub legacy_file: String,
    /// When it is meant to run, five cron fields, Europe/Berlin.
    pub schedule: String,
    /// `explicit` or `clock only`.
    pub dependency_kind: String,
    /// True dependencies, separated by blanks.
    pub deps: String,
    /// Table it writes; empty for ops jobs.
    pub target: String,
    /// Key columns, separated by commas.
    pub key: String,
    /// Columns of doubles, separated by commas.
    pub float_columns: String,
    /// Downstream report; empty for most.
    pub report: String,
    /// Account of the owner.
    pub owner: String,
    /// Rows of the right result: for scoring.
    pub golden_rows: String,
    /// Checksum of the right result: for scoring.
    pub golden_checksum: String,
    /// Whether PostgreSQL gives the same: for scoring.
    pub same_on_postgresql: String,
    /// Whether DuckDB gives the same: for scoring.
    pub same_on_duckdb_unchanged_sql: String,
    /// SQL of the right result on the run day, 455.
    pub sql: String,
}

impl Row {
    /// True dependencies, in order.
    pub fn dep_list(&self) -> Vec<&str> {
        self.deps.split_whitespace().collect()
    }

    /// Whether the defect column begins with `word`.
    pub fn has_defect(&self, word: &str) -> bool {
        self.defect.starts_with(word)
    }
}

/// Reads the scenario's table.
///
/// # Errors
/// When it is not CSV or a column is missing; the message points at the line.
pub fn read_rows(text: &str) -> Result<Vec<Row>, String> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .collect::<Result<Vec<Row>, _>>()
        .map_err(|error| error.to_string())
}
