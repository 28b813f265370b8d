//! The practice goal's file.

/// Name of the world's file beside the ledger.
pub const WORLD_FILE: &str = "world.db";

/// Queries a day for the scenario of 120 jobs.
const QUERIES_A_DAY: usize = 300;
const SCENARIO_JOBS: usize = 120;

/// The goal file of a practice migration. The daily quota grows with the number of jobs, so that a
/// larger scenario also takes days and not months.
pub fn goal_text(seed: u64, jobs: usize) -> String {
    let limit = (QUERIES_A_DAY * jobs.max(SCENARIO_JOBS)).div_ceil(SCENARIO_JOBS);
    include_str!("../../../assets/practice/goal.toml")
        .replace("{limit}", &limit.to_string())
        .replace("{seed}", &seed.to_string())
        .replace("{jobs}", &jobs.to_string())
}
