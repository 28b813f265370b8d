//! Goal file to [`Goal`], with errors that point at line and column.

use super::types::Goal;
use std::path::Path;
use thiserror::Error;

/// What is wrong with a goal file, ready for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.render())]
pub struct GoalError {
    /// One entry per problem, in the file's order; at most 20.
    pub problems: Vec<Problem>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 when the file as a whole is meant.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What was found and what was expected.
    pub message: String,
    /// What to do, when there is something to say.
    pub hint: Option<String>,
}

impl GoalError {
    fn render(&self) -> String {
        let mut out = String::new();
        for problem in &self.problems {
            out.push_str(&format!(
                "{}:{}: {}\n",
                problem.line, problem.column, problem.message
            ));
        }
        out
    }
}

/// Parses and validates a goal file's text.
///
/// # Errors
/// All problems found, with line, column and what was expected.
pub fn parse_goal(text: &str, base_dir: &Path) -> Result<Goal, GoalError> {
    let _ = (text, base_dir);
    Err(GoalError { problems: vec![] })
}
