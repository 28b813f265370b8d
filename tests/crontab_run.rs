//! The real migration by the binary: ten crontabs, real systemd tools, two runs with a person between them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use crate::support;

use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::practice::strings;
use support::{Ended, call, json, look, repository};

const COUNT: usize = 200;
/// Fires at 02:00, which the zone's clock leaves out once a year; cron then runs it at 03:00, systemd not at all.
const FIRES_IN_THE_GAP: &str = "externallinks__crontab.37";
/// The one template.
const TEMPLATE: &str = "externallinks__conf__crontab.14";
/// Files whose comments say that their hosts keep UTC; the goal file's words for the others.
const IN_UTC: [&str; 2] = [
    "analytics-reporter__deploy__crontab",
    "minnpost-scraper-2012-__deploy__crontab",
];
const ZONE: &str = "America/New_York";

fn tools_are_here() -> bool {
    let found = Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_ok();
    if !found {
        println!("skipped: this host has no systemd-analyze");
    }
    found
}

/// A goal's ledger and output directory.
struct Bench {
    dir: tempfile::TempDir,
    set: Vec<String>,
}

impl Bench {
    fn new(set: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut all = vec![format!(
            "target.directory={}",
            dir.path().join("out").display()
        )];
        all.extend_from_slice(set);
        Self { dir, set: all }
    }

    fn ledger(&self) -> PathBuf {
        self.dir.path().join("ledger.db")
    }

    fn run(&self) -> Ended {
        let goal = repository("goals/crontab-to-timers.toml");
        let mut words = vec![
            "run",
            goal.to_str().unwrap(),
            "--headless",
            "--exit-when-waiting",
            "--json",
        ];
        for one in &self.set {
            words.extend(["--set", one]);
        }
        call(&self.ledger(), &words)
    }

    /// State and reason by job.
    fn jobs(&self) -> BTreeMap<String, (String, String)> {
        let jobs = json(&self.ledger(), &["jobs", "--json"]);
        let jobs = jobs["jobs"].as_array().unwrap().iter();
        jobs.map(|job| {
            let text = |key: &str| job[key].as_str().unwrap().to_owned();
            (text("id"), (text("state"), text("reason")))
        })
        .collect()
    }

    /// Approves everything that waits, each for the digest that is shown; the jobs.
    fn approve_all(&self) -> BTreeSet<String> {
        let open = json(&self.ledger(), &["approvals", "--json"]);
        let open = open["approvals"].as_array().unwrap();
        open.iter()
            .map(|request| {
                let (job, digest) = (
                    request["job"].as_str().unwrap(),
                    request["digest"].as_str().unwrap(),
                );
                let told = json(
                    &self.ledger(),
                    &["approve", job, "--digest", digest, "--json"],
                );
                assert_eq!(told["state"], "pending", "{told}");
                job.to_owned()
            })
            .collect()
    }

    fn production(&self) -> PathBuf {
        self.dir.path().join("out/production")
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with('.')).collect()
}

fn units_of(jobs: &BTreeSet<String>) -> BTreeSet<String> {
    jobs.iter()
        .flat_map(|job| ["timer", "service"].map(|kind| format!("{job}.{kind}")))
        .collect()
}

/// Job lines by id, counted apart from the adapter: what is not blank, not a comment and no NAME=VALUE.
fn job_lines(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some() {
            continue; // attribution
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for (index, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let text = line.trim();
            let first = text.split([' ', '=']).next().unwrap();
            if !text.is_empty() && !text.starts_with('#') && !text[first.len()..].starts_with('=') {
                found.insert(format!("{}.{}", name, index + 1), text.to_owned());
            }
        }
    }
    found
}

#[test]
#[ignore = "long in a development build; `.ci/run` runs it on the release binary"]
fn every_crontab_line_ends_in_production_or_with_a_reason() {
    if !tools_are_here() {
        return;
    }
    let bench = Bench::new(&[]);
    let report = bench.run().expect_code(10).json();
    assert_eq!(report["finish"], "only_people");
    let lines = job_lines(&repository("assets/crontabs"));
    assert_eq!(lines.len(), 40);
    let jobs = bench.jobs();
    assert_eq!(
        jobs.keys().collect::<Vec<_>>(),
        lines.keys().collect::<Vec<_>>()
    );
    for (job, (state, reason)) in &jobs {
        let expected = if [TEMPLATE, FIRES_IN_THE_GAP].contains(&job.as_str()) {
            "handed_over"
        } else {
            "awaiting_approval"
        };
        assert_eq!(state, expected, "{job}: {reason}");
    }
    assert!(
        jobs[TEMPLATE].1.contains("template") && jobs[TEMPLATE].1.contains("${ENV}"),
        "{:?}",
        jobs[TEMPLATE]
    );
    // The next spring's first instant is the one that systemd leaves out.
    for word in [
        "clause schedule: fail",
        "03:00:00 America/New_York",
        "only the old one fires",
    ] {
        assert!(
            jobs[FIRES_IN_THE_GAP].1.contains(word),
            "{:?}",
            jobs[FIRES_IN_THE_GAP]
        );
    }
    assert_eq!(
        names(&bench.production()),
        BTreeSet::new(),
        "before any approval"
    );

    let approved = bench.approve_all();
    assert_eq!(approved.len(), 38);
    assert_eq!(
        names(&bench.production()),
        BTreeSet::new(),
        "no engine has run since"
    );
    let report = bench.run().expect_code(0).json();
    assert_eq!(
        (&report["jobs"]["cut_over"], &report["jobs"]["open"]),
        (&38.into(), &0.into())
    );
    for job in &approved {
        assert_eq!(bench.jobs()[job].0, "cut_over", "{job}");
    }
    assert_eq!(names(&bench.production()), units_of(&approved));
    let sound = json(&bench.ledger(), &["verify", "--json"]);
    assert_eq!(sound["sound"], true, "{sound}");
    let twice = "select job from events where kind = 'op.applied' group by job, body ->> 'reference' having count(*) > 1";
    assert_eq!(strings(&look(&bench.ledger()), twice), Vec::<String>::new());

    for job in &approved {
        let old = cron_instants(&lines[job], zone_of(job));
        let new = timer_instants(&bench.production().join(format!("{job}.timer")));
        assert_eq!(old.len(), COUNT, "{job}");
        assert_eq!(old, new, "{job}: {}", lines[job]);
    }
}

fn zone_of(job: &str) -> &'static str {
    let file = job.rsplit_once('.').unwrap().0;
    if IN_UTC.contains(&file) { "UTC" } else { ZONE }
}

/// Eight days before the clocks of New York change, over the end of a short month.
fn base() -> Timestamp {
    "2026-02-28T05:00:00Z".parse().unwrap()
}

/// The next instants of a cron line by going through the calendar, day by day.
fn cron_instants(line: &str, zone: &str) -> Vec<Timestamp> {
    let mut fields: Vec<&str> = line.split_whitespace().take(5).collect();
    fields = match fields[0] {
        "@daily" | "@midnight" => vec!["0", "0", "*", "*", "*"],
        "@hourly" => vec!["0", "*", "*", "*", "*"],
        "@weekly" => vec!["0", "0", "*", "*", "0"],
        "@monthly" => vec!["0", "0", "1", "*", "*"],
        _ => fields,
    };
    let zone = TimeZone::get(zone).unwrap();
    let [minutes, hours, month_days] =
        [(0, 59, 0), (0, 23, 1), (1, 31, 2)].map(|(low, high, at)| set(fields[at], low, high));
    let months = set(fields[3], 1, 12);
    let mut week_days = set(fields[4], 0, 7);
    if week_days.contains(&7) {
        week_days.insert(0);
    }
    let runs_each_hour = fields[0].starts_with('*') || fields[1].starts_with('*');
    let mut day: Date = zone.to_datetime(base()).date();
    let mut found = BTreeSet::new();
    while found.len() < COUNT + 50 {
        let in_month = month_days.contains(&u32::from(day.day().unsigned_abs()));
        let in_week = week_days.contains(&u32::from(
            day.weekday().to_sunday_zero_offset().unsigned_abs(),
        ));
        // Both day fields restricted: either is enough.
        let fits = if fields[2].starts_with('*') || fields[4].starts_with('*') {
            in_month && in_week
        } else {
            in_month || in_week
        };
        if fits && months.contains(&u32::from(day.month().unsigned_abs())) {
            for (hour, minute) in hours
                .iter()
                .flat_map(|hour| minutes.iter().map(move |minute| (*hour, *minute)))
            {
                let time = Time::new(hour as i8, minute as i8, 0, 0).unwrap();
                let ambiguous = zone.to_ambiguous_timestamp(day.to_datetime(time));
                match ambiguous.offset() {
                    AmbiguousOffset::Unambiguous { .. } => found.extend(ambiguous.compatible()),
                    // The clock shows it twice, or not at all: it matters to what runs at all hours only.
                    AmbiguousOffset::Fold { .. } if runs_each_hour => {
                        found.extend(ambiguous.earlier());
                        found.extend(ambiguous.later());
                    }
                    AmbiguousOffset::Fold { .. } => found.extend(ambiguous.earlier()),
                    AmbiguousOffset::Gap { .. } => assert!(runs_each_hour, "{line}"),
                }
            }
        }
        day = day.checked_add(1.day()).unwrap();
    }
    found
        .into_iter()
        .filter(|at| *at > base())
        .take(COUNT)
        .collect()
}

/// Numbers of a field: lists, ranges, steps and English names.
fn set(field: &str, low: u32, high: u32) -> BTreeSet<u32> {
    const NAMES: [&str; 19] = [
        "sun", "mon", "tue", "wed", "thu", "fri", "sat", "jan", "feb", "mar", "apr", "may", "jun",
        "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let number = |text: &str| -> u32 {
        let name = NAMES
            .iter()
            .position(|name| text.eq_ignore_ascii_case(name))
            .map(|at| at as u32);
        name.map_or_else(
            || text.parse().unwrap(),
            |at| if at < 7 { at } else { at - 6 },
        )
    };
    let mut found = BTreeSet::new();
    for part in field.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None if range == "*" => (low, high),
            None => (number(range), number(range)),
        };
        found.extend((from..=to).step_by(step.parse().unwrap()));
    }
    found
}

/// The next instants of an installed timer, as systemd itself tells them.
fn timer_instants(timer: &Path) -> Vec<Timestamp> {
    let text = std::fs::read_to_string(timer).unwrap();
    let calendars: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("OnCalendar="))
        .collect();
    assert!(!calendars.is_empty(), "{text}");
    let output = Command::new("systemd-analyze")
        .args([
            "calendar",
            "--iterations",
            &COUNT.to_string(),
            "--base-time",
            "2026-02-28 05:00:00 UTC",
        ])
        .args(&calendars)
        .env("TZ", "UTC")
        .env("LANG", "C")
        .output()
        .unwrap();
    assert!(output.status.success(), "{calendars:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    let mut found = BTreeSet::new();
    for line in told.lines() {
        let Some((head, rest)) = line.split_once(": ") else {
            continue;
        };
        if head.trim() == "Next elapse" || head.trim().starts_with("Iter") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            assert_eq!(words[3], "UTC", "{line}");
            found.insert(format!("{}T{}Z", words[1], words[2]).parse().unwrap());
        }
    }
    found.into_iter().take(COUNT).collect()
}

#[test]
fn a_crontab_of_ones_own_goes_the_same_way() {
    if !tools_are_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let crontab = folder.path().join("mine");
    let text = "# mine\nPATH=/usr/bin:/bin\n\n15 4 * * 1-5 backup home\n0 1 * * * mail -s x%body\n@reboot listen\nnonsense\n";
    std::fs::write(&crontab, text).unwrap();
    let bench = Bench::new(&[
        format!("source.path={}", crontab.display()),
        "source.zone=UTC".to_owned(),
    ]);
    let report = bench.run().expect_code(10).json();
    assert_eq!(report["jobs"]["total"], 4);
    let jobs = bench.jobs();
    for (job, state, reason) in [
        ("mine.4", "awaiting_approval", ""),
        ("mine.5", "handed_over", "percent sign"),
        ("mine.6", "awaiting_approval", ""),
        ("mine.7", "handed_over", "no crontab entry"),
    ] {
        assert_eq!(jobs[job].0, state, "{job}");
        assert!(jobs[job].1.contains(reason), "{:?}", jobs[job]);
    }
    // One is approved, the other rejected.
    let open = json(&bench.ledger(), &["approvals", "--json"]);
    let digest = open["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["job"] == "mine.4")
        .unwrap()["digest"]
        .clone();
    call(
        &bench.ledger(),
        &["approve", "mine.4", "--digest", digest.as_str().unwrap()],
    )
    .expect_code(0);
    call(
        &bench.ledger(),
        &["reject", "mine.6", "--reason", "the listener is gone"],
    )
    .expect_code(0);
    bench.run().expect_code(0);
    let jobs = bench.jobs();
    assert_eq!(jobs["mine.4"].0, "cut_over");
    assert_eq!(jobs["mine.6"].0, "handed_over");
    assert!(
        jobs["mine.6"].1.contains("the listener is gone"),
        "{:?}",
        jobs["mine.6"]
    );
    assert_eq!(
        names(&bench.production()),
        units_of(&BTreeSet::from(["mine.4".to_owned()]))
    );
    assert_eq!(
        std::fs::read_to_string(&crontab).unwrap(),
        text,
        "the old side is read only"
    );
    let wrong = cron_instants("16 4 * * 1-5 backup", "UTC");
    let timer = timer_instants(&bench.production().join("mine.4.timer"));
    assert_ne!(wrong, timer);
    assert_eq!(cron_instants("15 4 * * 1-5 backup", "UTC"), timer);
}
