//! The command line: one file a subcommand, no logic of its own.

mod adopt;
mod amend;
mod answer;
mod approvals;
mod approve;
mod attach;
mod budget;
mod check;
mod claims;
mod comment;
mod completions;
mod config;
mod decision;
mod demo;
mod doctor;
mod doctor_models;
mod drift;
mod error;
mod estimate;
mod handoff;
mod jobs;
mod launch;
mod models;
mod output;
mod place;
mod plan;
mod practice;
mod providers;
mod questions;
mod reject;
mod rollback;
mod run;
mod sample;
mod show;
mod spin;
mod status;
mod story;
mod transcript;
mod verify;
mod verify_op;
mod waive;
mod welcome;

pub use error::{CliError, ExitCode};

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Supervise goals that take days to months.
///
/// The goal is a contract, the ledger is intent, the environment is fact.
#[derive(Debug, Parser)]
#[command(name = "dogwatch", version, about, after_help = error::EXIT_CODES)]
pub struct Cli {
    /// What to do; without it, the interface opens on the ledger.
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    common: Common,
}

/// Options of every subcommand.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// The ledger's file; the default is in this account's data directory.
    #[arg(long, global = true, value_name = "FILE", env = "DOGWATCH_LEDGER")]
    pub ledger: Option<PathBuf>,
    /// Print JSON instead of text (shapes: docs/json.md).
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Practice: migrate an invented retailer's 120 jobs, embedded, without network or key.
    Demo(demo::Args),
    /// Parse and validate a goal file; say what is ambiguous.
    Check(check::Args),
    /// The arithmetic of a plan: tokens, queries, approvals, days, from assumptions or from measurements.
    Estimate(estimate::Args),
    /// Fix a goal file as contract version 1.
    Adopt(adopt::Args),
    /// Say what a changed goal file would do, and put it in force as the next version.
    Amend(amend::Args),
    /// The strategies in order and their revisions; revise them for jobs that are not done.
    Plan(plan::Args),
    /// List what workers hold against clauses.
    Claims(claims::Args),
    /// Accept a job in production that a clause does not pass, in writing.
    Waive(waive::Args),
    /// Work on a goal: adopt it if it is new, and open the interface unless headless.
    Run(run::Args),
    /// Open the interface on a ledger whose engine runs elsewhere, or not at all.
    Attach(attach::Args),
    /// Counts, the engine's beat, and what needs a person.
    Status(status::Args),
    /// List jobs.
    Jobs(jobs::Args),
    /// Show one job: its attempts, evidence, operations and why it does not move.
    Show(show::Args),
    /// List requests that wait for a decision.
    Approvals(approvals::Args),
    /// Approve a job's cutover, for the digest that was seen.
    Approve(approve::Args),
    /// Reject a job's cutover, with a reason.
    Reject(reject::Args),
    /// Ask that a cut-over job goes back to the old side; an approver decides it.
    Rollback(rollback::Args),
    /// List what workers ask people.
    Questions(questions::Args),
    /// Words of yours for the next attempt of a job, or of each job of the goal.
    Comment(comment::Args),
    /// Answer a worker's question; the job waits for it at no cost.
    Answer(answer::Args),
    /// Rows that people are asked to look at: list, show, judge.
    Sample(sample::Args),
    /// Open the goal's world and say what it is trusted with; with --prove, measure it in staging.
    Doctor(doctor::Args),
    /// What a person needs to go on: done, handed over, open, to verify, budgets, and what is asked.
    Handoff(handoff::Args),
    /// What is spent of what, and what the open jobs still need.
    Budget(budget::Args),
    /// Differences between ledger and world after an unclean stop: list, accept, compare again.
    Drift(drift::Args),
    /// Operations of unknown outcome: list, show, look again, rule.
    VerifyOp(verify_op::Args),
    /// Alarms of work that goes round in circles: list them, overrule one, take that back.
    Spin(spin::Args),
    /// Recompute the chains, replay the entries and compare everything.
    Verify(verify::Args),
    /// Check the interface's configuration, or print the default file.
    Config(config::Args),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Print the manual page.
    Man,
    /// Programs of the practice world.
    #[command(hide = true)]
    Practice(practice::Args),
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    /// A message for a person, with what was kept and what to do next.
    pub fn run(self) -> Result<ExitCode, CliError> {
        let common = &self.common;
        match self.command {
            None => welcome::run(common),
            Some(Command::Demo(args)) => demo::run(&args, common),
            Some(Command::Check(args)) => check::run(&args, common),
            Some(Command::Estimate(args)) => estimate::run(&args, common),
            Some(Command::Budget(args)) => budget::run(&args, common),
            Some(Command::Handoff(args)) => handoff::run(&args, common),
            Some(Command::Adopt(args)) => adopt::run(&args, common),
            Some(Command::Amend(args)) => amend::run(&args, common),
            Some(Command::Plan(args)) => plan::run(&args, common),
            Some(Command::Claims(args)) => claims::run(&args, common),
            Some(Command::Waive(args)) => waive::run(&args, common),
            Some(Command::Run(args)) => run::run(&args, common),
            Some(Command::Attach(args)) => attach::run(&args, common),
            Some(Command::Status(args)) => status::run(&args, common),
            Some(Command::Jobs(args)) => jobs::run(&args, common),
            Some(Command::Show(args)) => show::run(&args, common),
            Some(Command::Approvals(args)) => approvals::run(&args, common),
            Some(Command::Approve(args)) => approve::run(&args, common),
            Some(Command::Reject(args)) => reject::run(&args, common),
            Some(Command::Rollback(args)) => rollback::run(&args, common),
            Some(Command::Questions(args)) => questions::run(&args, common),
            Some(Command::Comment(args)) => comment::run(&args, common),
            Some(Command::Answer(args)) => answer::run(&args, common),
            Some(Command::Sample(args)) => sample::run(&args, common),
            Some(Command::Doctor(args)) => doctor::run(&args, common),
            Some(Command::Drift(args)) => drift::run(&args, common),
            Some(Command::VerifyOp(args)) => verify_op::run(&args, common),
            Some(Command::Spin(args)) => spin::run(&args, common),
            Some(Command::Verify(args)) => verify::run(&args, common),
            Some(Command::Config(args)) => config::run(&args, common),
            Some(Command::Completions(args)) => completions::run(&args),
            Some(Command::Man) => completions::man(),
            Some(Command::Practice(args)) => practice::run(&args),
        }
    }
}
