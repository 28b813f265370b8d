//! What the practice model can do with a job's texts: read the old definition, see what the new one lost, and
//! write it anew.
//!
//! It knows nothing of the scenario's labels. All it uses is what its tools showed it, read by the same readers
//! that know the old schedulers' formats.

use super::sql;
use crate::model::{JobId, digest_bytes};
use crate::world::practice::convert::convert;
use crate::world::practice::definition::{Definition, Lock, Overlap, Write, WriteMode};
use crate::world::practice::dialect::tables_read;
use crate::world::practice::legacy::sections;
use crate::world::practice::legacy::{
    LegacyFile, OldJob, Plan, Scheduler, Surroundings, old_jobs, plan,
};

/// Where programs are found, for old texts that name no search path.
const PATH: &str = "/opt/etl/bin:/usr/bin:/bin";

/// Stands over every config that it writes.
const BY: &str = "# Written by the practice model, a seeded stand-in and no language model.\n";

/// What the tools showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// The job.
    pub job: String,
    /// Where its old definition stands.
    pub origin: String,
    /// The old definition.
    pub old: String,
    /// What the old host gave its jobs.
    pub old_host: String,
    /// The config that failed before.
    pub previous: Option<String>,
    /// What failed, as checkpoint and evidence tell it.
    pub failures: String,
    /// Jobs upstream, as the source declares them.
    pub upstream: Vec<String>,
    /// The table that it writes.
    pub table: Option<String>,
}

/// Kinds of defect that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A format that the converter does not read.
    Format,
    /// Bytes that are no UTF-8.
    Encoding,
    /// The schedule's zone was lost.
    Zone,
    /// A calendar rule is read differently.
    Calendar,
    /// A variable, a search path or a folder is missing.
    Environment,
    /// The shell gets another text.
    Shell,
    /// A lock was dropped.
    Lock,
    /// SQL that means something else in the new engine.
    SqlMeaning,
    /// The clock on the wall instead of the logical date.
    WallClock,
    /// Rows are added again by a rerun.
    Append,
    /// An order that only the minutes kept.
    Order,
}

impl Kind {
    /// All, in the order in which they are looked for.
    pub const ALL: [Self; 11] = [
        Self::Format,
        Self::Encoding,
        Self::Zone,
        Self::Calendar,
        Self::Environment,
        Self::Shell,
        Self::Lock,
        Self::SqlMeaning,
        Self::WallClock,
        Self::Append,
        Self::Order,
    ];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Format => "the definition's format",
            Self::Encoding => "the text's encoding",
            Self::Zone => "the schedule's time zone",
            Self::Calendar => "the calendar rule",
            Self::Environment => "the environment",
            Self::Shell => "the shell's text",
            Self::Lock => "the lock",
            Self::SqlMeaning => "what the SQL means in the new engine",
            Self::WallClock => "the date that the SQL goes by",
            Self::Append => "the write mode",
            Self::Order => "the jobs that must have run",
        }
    }

    /// How often in a hundred attempts it gets this kind right; documented in docs/chat.md.
    pub const fn success_percent(self) -> u8 {
        match self {
            Self::Format => 92,
            Self::Encoding | Self::Environment => 95,
            Self::Shell | Self::Zone | Self::Append => 90,
            Self::WallClock | Self::Order => 88,
            Self::SqlMeaning => 85,
            Self::Lock | Self::Calendar => 80,
        }
    }
}

/// What it makes of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// A whole config, and what it changed.
    Config {
        /// The config.
        config: String,
        /// What it mended, in words.
        mended: Vec<&'static str>,
    },
    /// It sees that the job cannot be done.
    Cannot(String),
}

/// Whether it gets a kind right this time.
pub type Draw<'a> = dyn FnMut(Kind) -> bool + 'a;

/// Reads, and writes the job anew.
///
/// # Errors
/// When it cannot read the old text at all.
pub fn repair(shown: &Shown, draw: &mut Draw<'_>) -> Result<Repair, String> {
    if let Some(why) = hopeless(&shown.failures) {
        return Ok(Repair::Cannot(why));
    }
    let old = match read_old(shown) {
        Ok(old) => old,
        Err(why) => {
            return Ok(Repair::Cannot(format!(
                "the old text cannot be read: {why}"
            )));
        }
    };
    if let Some(why) = no_equivalent(&old) {
        return Ok(Repair::Cannot(why));
    }
    let schedule = match plan(&old) {
        Ok(plan) => plan,
        Err(why) => return Ok(Repair::Cannot(format!("it has no schedule: {why}"))),
    };
    let (mut definition, begun) = begin(shown, &old, &schedule)?;
    let mut mended = Vec::new();
    let mut missed = false;
    for kind in Kind::ALL {
        let own_kind = begun == Some(kind);
        let mut right = definition.clone();
        mend(kind, &mut right, &old, &schedule, &shown.failures);
        if right == definition && !own_kind {
            continue;
        }
        if draw(kind) {
            definition = right;
            mended.push(kind.words());
        } else {
            spoil(kind, &mut definition);
            missed = true;
        }
    }
    let config = definition.render()?;
    let before = shown.previous.as_deref().map(Definition::parse);
    let same = before.is_some_and(|before| before.as_ref() == Ok(&definition));
    if same && !missed {
        return match afresh(shown, draw)? {
            Some(repair) => Ok(repair),
            None => Ok(Repair::Cannot(
                "I find nothing in its texts that explains the failure".to_owned(),
            )),
        };
    }
    if same {
        // It noticed nothing; what it hands in differs all the same, as a model's text would.
        let mark = digest_bytes(config.as_bytes()).short().to_owned();
        definition.environment.insert("LAST_EDIT".to_owned(), mark);
    }
    Ok(Repair::Config {
        config: format!("{BY}{}", definition.render()?),
        mended,
    })
}

/// An earlier wrong edit leaves nothing to find in the config that failed: then it begins again at the old
/// text. Absent when that leads to the same config.
fn afresh(shown: &Shown, draw: &mut Draw<'_>) -> Result<Option<Repair>, String> {
    let Some(previous) = &shown.previous else {
        return Ok(None);
    };
    let from_the_old = Shown {
        previous: None,
        ..shown.clone()
    };
    Ok(match repair(&from_the_old, draw)? {
        Repair::Config { config, .. }
            if Definition::parse(&config) == Definition::parse(previous) =>
        {
            None
        }
        made => Some(made),
    })
}

/// What evidence says that no config can mend.
fn hopeless(failures: &str) -> Option<String> {
    [
        (
            "does not match itself",
            "the old job differs from itself, so no new one can match it",
        ),
        (
            "without executing a single task",
            "the old job exits well without doing anything: there is nothing to match, and its source should be \
             looked at",
        ),
        (
            ": 0 rows on both sides",
            "on every date that can be compared both sides are empty, so nothing can be shown; the owner may allow it in \
             the contract",
        ),
        (
            "the old job's run exited with",
            "the old job's own run failed, so there is nothing to match",
        ),
        (
            "tighter than every",
            "it starts more often than the new scheduler allows, and relies on its overlapping starts being skipped",
        ),
    ]
    .into_iter()
    .find(|(sign, _)| failures.contains(sign))
    .map(|(_, why)| why.to_owned())
}

/// What the old text says that the new scheduler has no word for.
fn no_equivalent(old: &OldJob) -> Option<String> {
    match old.scheduler {
        Scheduler::ControlM => Some(
            "a Control-M job: it needs an agent or an operator's step that the new scheduler does not have"
                .to_owned(),
        ),
        Scheduler::Autosys => Some(
            "its start depends on another job not running; the new scheduler has no such condition".to_owned(),
        ),
        _ if old.command.starts_with("ssh ") => Some(
            "it logs in to another host with a key that lives on the old machine; a person must move the key or \
             the work"
                .to_owned(),
        ),
        _ if old.schedule == "@reboot" => {
            Some("it is started with its host and listens; there is no schedule to translate".to_owned())
        }
        _ => None,
    }
}

/// The old text, as whoever knows its format reads it.
fn read_old(shown: &Shown) -> Result<OldJob, String> {
    let text = readable(&shown.old);
    let mut files: Vec<LegacyFile> = sections::split(&text)
        .into_iter()
        .chain(sections::split(&shown.old_host))
        .map(|part| LegacyFile {
            path: part.path.to_owned(),
            bytes: part.text.as_bytes().to_vec(),
        })
        .collect();
    files.dedup_by(|a, b| a.path == b.path);
    let jobs = old_jobs(&files, &Surroundings::default()).map_err(|error| error.what)?;
    jobs.into_iter()
        .find(|job| job.id.0 == shown.job)
        .ok_or_else(|| format!("no job {} stands in it", shown.job))
}

/// UTF-16 that was taken for UTF-8, put right as far as it can be: what was no character stays lost.
fn readable(text: &str) -> String {
    if text.contains('\0') {
        text.chars()
            .filter(|c| !matches!(c, '\0' | '\r' | '\u{FFFD}'))
            .collect()
    } else {
        text.to_owned()
    }
}

/// What it starts from: the config that failed, else the converter's, else the old text itself. The second
/// value is the kind that had to be mended to get that far.
fn begin(
    shown: &Shown,
    old: &OldJob,
    schedule: &Plan,
) -> Result<(Definition, Option<Kind>), String> {
    if let Some(previous) = &shown.previous {
        return Definition::parse(previous).map(|definition| (definition, None));
    }
    let upstream: Vec<JobId> = shown.upstream.iter().map(|id| JobId(id.clone())).collect();
    let by_words = |text: &str| {
        convert(
            &shown.job,
            &shown.origin,
            text,
            &upstream,
            shown.table.as_deref(),
        )
        .and_then(|text| Definition::parse(&text))
    };
    if let Ok(definition) = by_words(&shown.old) {
        return Ok((definition, None));
    }
    if let Ok(definition) = by_words(&readable(&shown.old)) {
        return Ok((definition, Some(Kind::Encoding)));
    }
    let mut environment = old.environment.clone();
    environment
        .entry("PATH".to_owned())
        .or_insert_with(|| PATH.to_owned());
    let definition = Definition {
        id: old.id.clone(),
        schedule: schedule.cron.clone(),
        zone: schedule.zone.clone(),
        user: old.user.clone(),
        working_folder: old.working_folder.clone(),
        depends_on: upstream,
        overlap: Overlap::default(),
        lock: old.lock.clone(),
        only_last_day_of_month: schedule.last_day_only,
        environment,
        write: shown.table.as_ref().map(|table| Write {
            table: table.clone(),
            mode: WriteMode::Replace,
        }),
        command: command_of(old),
        sql: old.sql.clone(),
    };
    Ok((definition, Some(Kind::Format)))
}

/// The command without the lock in front of it, which the new scheduler takes itself.
fn command_of(old: &OldJob) -> String {
    let Some(Lock { name, .. }) = &old.lock else {
        return old.command.clone();
    };
    let Some((before, after)) = old.command.split_once("flock ") else {
        return old.command.clone();
    };
    match after.split_once(name.as_str()) {
        Some((_, rest)) => format!("{before}{}", rest.trim_start()),
        None => old.command.clone(),
    }
}

/// Puts one kind right; leaves the definition as it is where there is nothing to do.
fn mend(kind: Kind, definition: &mut Definition, old: &OldJob, schedule: &Plan, failures: &str) {
    match kind {
        Kind::Format | Kind::Encoding => {}
        Kind::Zone => {
            definition.zone.clone_from(&schedule.zone);
            definition.environment.remove("CRON_TZ");
        }
        Kind::Calendar => {
            if definition.schedule != schedule.cron {
                definition.schedule.clone_from(&schedule.cron);
            }
            definition.only_last_day_of_month = schedule.last_day_only;
        }
        Kind::Environment => {
            environment(definition, old);
            if failures.contains("cd: ") && failures.contains("No such file or directory") {
                folder(definition);
            }
        }
        Kind::Shell => {
            let command = command_of(old);
            if definition.command.contains("\\%") || definition.command.contains("%%") {
                definition.command = command;
            }
        }
        Kind::Lock => definition.lock.clone_from(&old.lock),
        Kind::SqlMeaning => change_sql(definition, sql::keep_the_meaning),
        Kind::WallClock => change_sql(definition, sql::by_logical_date),
        Kind::Append => {
            if let Some(write) = &mut definition.write
                && (write.mode == WriteMode::Append
                    || definition.sql.as_deref().is_some_and(sql::only_adds))
            {
                write.mode = WriteMode::ReplaceInterval;
            }
        }
        Kind::Order => order(definition),
    }
}

fn change_sql(definition: &mut Definition, change: fn(&str) -> Option<String>) {
    if let Some(new) = definition.sql.as_deref().and_then(change) {
        definition.sql = Some(new);
    }
}

/// Variables that the command uses and nothing sets.
fn environment(definition: &mut Definition, old: &OldJob) {
    for name in variables(&definition.command) {
        let missing = definition
            .environment
            .get(&name)
            .is_none_or(String::is_empty);
        if missing && let Some(value) = old.environment.get(&name) {
            definition.environment.insert(name, value.clone());
        }
    }
}

/// A folder that is not there: the jobs' own home, where the definition has one.
fn folder(definition: &mut Definition) {
    if !definition.environment.contains_key("ETL_HOME") {
        return;
    }
    if let Some((first, rest)) = definition.command.split_once(" && ")
        && first.starts_with("cd ")
    {
        definition.command = format!("cd $ETL_HOME && {rest}");
    }
}

/// `$NAME` and `${NAME}` in a shell's text.
fn variables(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in command.split('$').skip(1) {
        let name: String = part
            .trim_start_matches('{')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        if !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Tables that the SQL reads and whose jobs it does not name. On this platform a job has its table's name.
fn order(definition: &mut Definition) {
    let Some(tables) = definition
        .sql
        .as_deref()
        .and_then(|text| tables_read(text).ok())
    else {
        return;
    };
    let own = definition.write.as_ref().map(|write| write.table.clone());
    for table in tables {
        let of_the_warehouse = table.starts_with("src_") || table == "dim_calendar";
        let job = JobId(table.clone());
        if !of_the_warehouse
            && own.as_ref() != Some(&table)
            && !definition.depends_on.contains(&job)
        {
            definition.depends_on.push(job);
        }
    }
}

/// What it does where it does not see a kind: something plausible and wrong.
fn spoil(kind: Kind, definition: &mut Definition) {
    match kind {
        Kind::Format | Kind::Encoding | Kind::Zone => "UTC".clone_into(&mut definition.zone),
        Kind::Calendar => definition.only_last_day_of_month = false,
        Kind::Lock => definition.lock = None,
        Kind::Environment => {
            for name in variables(&definition.command) {
                definition.environment.entry(name).or_default();
            }
        }
        Kind::Shell => definition.command = definition.command.replace("\\%", "%%"),
        Kind::WallClock => {
            if let Some(text) = &mut definition.sql {
                *text = text.replace("today()", "(today()-1)");
            }
        }
        Kind::SqlMeaning | Kind::Append | Kind::Order => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::practice::legacy::{Row, generate, read_rows, surroundings_rows};

    const CSV: &str = include_str!("../../../assets/practice/jobs120.csv");

    fn shown(old: &OldJob, host: &str) -> Shown {
        Shown {
            job: old.id.0.clone(),
            origin: old.origin.clone(),
            old: old.definition.clone(),
            old_host: host.to_owned(),
            previous: None,
            failures: String::new(),
            upstream: old.declared_deps.iter().map(|id| id.0.clone()).collect(),
            table: old.table.clone(),
        }
    }

    /// All jobs of the scenario with what their tools would show.
    fn all() -> Vec<(Row, OldJob, Shown)> {
        let rows = read_rows(CSV).unwrap();
        let files = generate(&rows);
        let host = files
            .iter()
            .find(|file| file.path == "etc/environment")
            .map(|file| {
                format!(
                    "--- etc/environment ---\n{}",
                    String::from_utf8_lossy(&file.bytes)
                )
            })
            .unwrap();
        let jobs = old_jobs(&files, &surroundings_rows(&rows)).unwrap();
        rows.into_iter()
            .map(|row| {
                let old = jobs.iter().find(|job| job.id.0 == row.job).unwrap().clone();
                let shown = shown(&old, &host);
                (row, old, shown)
            })
            .collect()
    }

    #[test]
    fn what_it_is_shown_tells_it_what_the_old_scheduler_knows() {
        for (row, old, shown) in all().into_iter().filter(|(row, ..)| row.cls == "repair") {
            let read = read_old(&shown).unwrap();
            assert_eq!(
                (
                    &read.schedule,
                    &read.zone,
                    &read.command,
                    &read.environment,
                    &read.lock,
                    &read.guard
                ),
                (
                    &old.schedule,
                    &old.zone,
                    &old.command,
                    &old.environment,
                    &old.lock,
                    &old.guard
                ),
                "{}",
                row.job
            );
            assert_eq!(read.sql, old.sql, "{}", row.job);
        }
    }

    #[test]
    fn every_convertible_job_gets_a_config_and_every_impossible_one_a_reason_in_the_end() {
        for (row, _, shown) in all() {
            let result = repair(&shown, &mut |_| true).unwrap();
            match row.cls.as_str() {
                "mechanical" | "repair" => {
                    assert!(
                        matches!(result, Repair::Config { .. }),
                        "{}: {result:?}",
                        row.job
                    );
                }
                // Four of them are told from their text; the others from what their run shows.
                "impossible" => {
                    let told = matches!(result, Repair::Cannot(_));
                    let by_text = [
                        "imp_mainframe_pull",
                        "imp_ssh_partner",
                        "imp_reboot_daemon",
                        "imp_not_running",
                        "imp_operator_confirm",
                    ];
                    assert_eq!(told, by_text.contains(&row.job.as_str()), "{}", row.job);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_wrong_edit_that_leaves_no_trace_is_undone_from_the_old_text() {
        let (_, _, mut shown) = all()
            .into_iter()
            .find(|(row, ..)| row.job == "mart_dead_stock")
            .unwrap();
        let right = repair(&shown, &mut |_| true).unwrap();
        // The day before the logical date: no call of the wall clock is left to find.
        let Repair::Config { config, .. } = &right else {
            panic!("no config")
        };
        shown.previous = Some(config.replace("{{ day }}", "({{ day }}-1)"));
        assert_eq!(repair(&shown, &mut |_| true).unwrap(), right);
        // Where the old text leads to the very config that failed, there is nothing left to try.
        shown.previous = Some(config.clone());
        assert!(matches!(
            repair(&shown, &mut |_| true).unwrap(),
            Repair::Cannot(_)
        ));
    }

    #[test]
    fn a_kind_that_it_misses_stays_wrong_and_differs_from_what_failed() {
        for (row, _, mut shown) in all().into_iter().filter(|(row, ..)| row.cls == "repair") {
            let Repair::Config { config: right, .. } = repair(&shown, &mut |_| true).unwrap()
            else {
                panic!("{}", row.job)
            };
            let first = convert(
                &shown.job,
                &shown.origin,
                &shown.old,
                &[],
                shown.table.as_deref(),
            );
            shown.previous = first.ok();
            let Repair::Config { config: wrong, .. } = repair(&shown, &mut |_| false).unwrap()
            else {
                panic!("{}", row.job)
            };
            assert_ne!(right, wrong, "{}", row.job);
            assert_ne!(Some(&wrong), shown.previous.as_ref(), "{}", row.job);
        }
    }
}
