//! The real migration: ten crontabs of public repositories, real systemd tools, the adapters of
//! `goals/crontab-to-timers` as the goal file names them. `crontab_run.rs` takes every entry the whole way.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dogwatch::check::Known;
use dogwatch::contract::{Goal, apply_overrides, read_goal_file};
use dogwatch::model::{Action, AttemptNo, FailureClass, JobId, OperationId, TimeMs, digest_bytes};
use dogwatch::worker::script::prepare;
use dogwatch::worker::{PrepareFailure, PrepareRequest};
use dogwatch::world::ports::{Effect, EffectRef, EffectRequest, FiringQuestion, Lookup, SourceJob};
use dogwatch::world::{World, open_world};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const COUNT: usize = 200;
/// A goal in front of its own directory.
struct Bench {
    goal: Goal,
    world: World,
    folder: tempfile::TempDir,
}

/// `None`, with the reason printed, where systemd's tools are missing.
fn bench(overrides: &[String]) -> Option<Bench> {
    let found = Command::new("systemd-analyze").arg("--version").output();
    if found.is_err() {
        println!("skipped: this host has no systemd-analyze");
        return None;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("goals/crontab-to-timers.toml");
    let (mut goal, _) = read_goal_file(&file, Some(&Known))
        .map_err(|(error, _)| error)
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec![format!("target.directory={}", folder.path().display())];
    all.extend_from_slice(overrides);
    apply_overrides(&mut goal, &all).unwrap();
    let world = open_world(&goal.contract.world, &goal.base_dir).unwrap();
    Some(Bench {
        goal,
        world,
        folder,
    })
}

/// A bench over one crontab of the test's own, in UTC unless the crontab says otherwise.
fn bench_of(crontab: &str) -> Option<(Bench, tempfile::NamedTempFile)> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), crontab).unwrap();
    let overrides = [
        format!("source.path={}", file.path().display()),
        "source.zone=UTC".to_owned(),
    ];
    Some((bench(&overrides)?, file))
}

impl Bench {
    fn jobs(&self) -> Vec<SourceJob> {
        self.world.source.list().unwrap().value
    }

    fn convert(&self, job: &SourceJob) -> Result<String, PrepareFailure> {
        let request = PrepareRequest {
            job: job.id.clone(),
            attempt: AttemptNo(1),
            origin: job.origin.clone(),
            definition: job.definition.clone(),
            depends_on: Vec::new(),
            output_table: None,
            previous: None,
            comment: None,
        };
        let scratch = tempfile::tempdir().unwrap();
        prepare(
            &self.goal.strategies[0],
            &request,
            &self.goal.base_dir,
            scratch.path(),
        )
        .map(|reply| reply.config)
    }

    fn request(&self, action: Action, job: &JobId, config: &str) -> EffectRequest {
        let digest = digest_bytes(config.as_bytes());
        EffectRequest {
            operation_id: OperationId(digest.0[..15].to_owned() + &action.word()[..1]),
            action,
            job: job.clone(),
            config: config.to_owned(),
            config_digest: digest,
            upstream: Vec::new(),
            logical_date: None,
            at: now(),
        }
    }

    fn apply(&self, request: &EffectRequest) -> EffectRef {
        match self.world.target.effect(request).value {
            Effect::Applied(reference) => reference,
            other => panic!("{other:?}"),
        }
    }

    /// Whether old and new fire at the same instants over all windows.
    fn same_instants(&self, job: &JobId, config: &str) -> bool {
        let question = question();
        let old = self
            .world
            .source
            .firing_times(job, &question)
            .unwrap()
            .value;
        let new = self
            .world
            .target
            .firing_times(job, config, &question)
            .unwrap()
            .value;
        for window in &old.windows {
            assert_eq!(window.len(), COUNT, "{job}");
        }
        old.windows == new.windows
    }
}

fn at(text: &str) -> TimeMs {
    TimeMs::from_timestamp(text.parse().unwrap())
}

fn now() -> TimeMs {
    at("2026-01-10T12:00:00Z")
}

/// The end of a short month, and one hour before both clock changes in New York: 200 instants of a job
/// that fires every minute reach past them, those of a daily one past half a year.
fn question() -> FiringQuestion {
    let starts = [
        "2026-02-28T05:00:00Z",
        "2026-03-08T06:00:00Z",
        "2026-11-01T04:00:00Z",
    ];
    FiringQuestion {
        starts: starts.map(at).to_vec(),
        count: COUNT,
    }
}

#[test]
fn every_line_of_every_file_is_accounted_for() {
    let Some(bench) = bench(&[]) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/crontabs");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("goals/crontab-to-timers/source.py");
    let output = Command::new("python3")
        .args([script.as_path(), Path::new("--account"), folder.as_path()])
        .output()
        .unwrap();
    let listing = String::from_utf8(output.stdout).unwrap();
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for line in listing.lines() {
        let mut cells = line.split('\t');
        let (origin, kind) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(
            told.insert(origin.to_owned(), kind.to_owned()).is_none(),
            "{origin} twice"
        );
    }
    // An independent count: what is not blank, not a comment and no NAME=VALUE must be a job.
    let (mut lines, mut expected) = (0, BTreeSet::new());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_none());
    assert_eq!(files.len(), 10);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for (index, line) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            lines += 1;
            let origin = format!("{name}:{}", index + 1);
            let text = line.trim();
            let first = text.split([' ', '=']).next().unwrap();
            let sets = text[first.len()..].starts_with('=');
            if !text.is_empty() && !text.starts_with('#') && !sets {
                expected.insert(origin.clone());
            }
            assert!(told.contains_key(&origin), "{origin} is not accounted for");
        }
    }
    assert_eq!(told.len(), lines);
    let listed: BTreeSet<String> = bench.jobs().into_iter().map(|job| job.origin).collect();
    assert_eq!(listed, expected);
    assert_eq!(listed.len(), 40);
}

#[test]
fn a_wrong_calendar_is_found_unequal() {
    let Some(bench) = bench(&[]) else { return };
    let jobs = bench.jobs();
    let job = |id: &str| jobs.iter().find(|job| job.id.0 == id).unwrap();
    for (id, right, wrong) in [
        (
            "la-metro-councilmatic__scripts__lametro-crontasks.13",
            ":55:00 UTC",
            ":56:00 UTC",
        ),
        ("pulse__deploy__crontab.5", "Mon,Wed,Fri", "Mon,Wed"),
        (
            "ancfinder__conf__crontab.2",
            "03:14:00 America/New_York",
            "08:14:00 UTC",
        ),
        ("externallinks__crontab.30", "-10 ", "-11 "),
    ] {
        let config = bench.convert(job(id)).unwrap();
        assert!(config.contains(right), "{config}");
        assert!(bench.same_instants(&job(id).id, &config), "{id}");
        let wrong = config.replace(right, wrong);
        assert!(!bench.same_instants(&job(id).id, &wrong), "{id}");
    }
}

#[test]
fn schedules_of_every_shape_are_carried_over() {
    let Some((bench, _file)) = bench_of(
        "CRON_TZ=America/New_York\n\
         0 4 13 * 5 either day\n\
         0 4 */2 * 5 both days\n\
         0 4 1-7 jan-mar,nov mon-fri names\n\
         15 5 1,15 * * lists\n\
         */7 6-22/3 * * 1-5 steps\n\
         0 12 * * 7 sunday\n\
         5-50/15 * * * * within the hour\n\
         @weekly nickname\n\
         0 0 31 * * long months\n",
    ) else {
        return;
    };
    let jobs = bench.jobs();
    assert_eq!(jobs.len(), 9);
    for job in jobs {
        let config = bench.convert(&job).unwrap();
        assert!(
            bench.same_instants(&job.id, &config),
            "{}\n{config}",
            job.title
        );
    }
}

#[test]
fn what_has_no_equivalent_is_refused_with_the_reason() {
    let Some((bench, _file)) = bench_of(
        "0 1 * * * mail -s x%body of the mail\n\
         @reboot /usr/local/bin/start\n\
         0 2 * * * date +\\%F > \"$HOME/a b\"\n\
         0 3 * * * run {{ name }}\n\
         61 3 * * * never\n\
         this is no entry\n",
    ) else {
        return;
    };
    let jobs = bench.jobs();
    assert_eq!(jobs.len(), 6);
    let refused = bench.convert(&jobs[0]).unwrap_err();
    assert_eq!(refused.class, FailureClass::Job);
    assert!(refused.why.contains("percent sign"), "{}", refused.why);
    // A start at boot has an equivalent, and neither side has a calendar for it.
    let config = bench.convert(&jobs[1]).unwrap();
    assert!(config.contains("OnBootSec=1min") && !config.contains("OnCalendar"));
    assert_eq!(jobs[1].tags, ["boot"]);
    let (source, target) = (&bench.world.source, &bench.world.target);
    assert_eq!(
        source
            .firing_times(&jobs[1].id, &question())
            .unwrap_err()
            .class,
        FailureClass::Job
    );
    assert_eq!(
        target
            .firing_times(&jobs[1].id, &config, &question())
            .unwrap_err()
            .class,
        FailureClass::Job
    );
    // An escaped percent sign is text, and systemd must take it and the dollar as text too.
    let config = bench.convert(&jobs[2]).unwrap();
    assert!(
        config.contains(r#"ExecStart=/bin/sh -c "date +%%F > \"$$HOME/a b\"""#),
        "{config}"
    );
    for (index, part) in [(3, "template"), (5, "no crontab entry")] {
        let hold = jobs[index].hold.as_ref().unwrap();
        assert!(hold.reason.contains(part), "{}", hold.reason);
    }
    let refused = bench.convert(&jobs[4]).unwrap_err();
    assert!(refused.why.contains("61"), "{}", refused.why);
}

#[test]
fn system_crontabs_have_a_user_column() {
    let Some((bench, _file)) = bench_of(
        "# /etc/crontab: system-wide crontab\n17 * * * * root cd / && run-parts /etc/cron.hourly\n",
    ) else {
        return;
    };
    let job = &bench.jobs()[0];
    let config = bench.convert(job).unwrap();
    assert!(config.contains("User=root\n"));
    assert!(config.contains("\"PATH=/usr/bin:/bin\""), "{config}");
    assert!(
        config.contains("\"cd / && run-parts /etc/cron.hourly\""),
        "{config}"
    );
}

#[test]
fn the_crontab_s_environment_and_shell_go_along() {
    let Some((bench, _file)) = bench_of(
        "SHELL=/bin/bash\nMAILTO=me@example.org\nRATE=\"50% of $X\"\n0 1 * * * echo $RATE\n",
    ) else {
        return;
    };
    let config = bench.convert(&bench.jobs()[0]).unwrap();
    assert!(
        config.contains("Environment=\"RATE=50%% of $X\"\n"),
        "{config}"
    );
    assert!(config.contains("Environment=\"SHELL=/bin/bash\"\n"));
    assert!(!config.contains("MAILTO"));
    let start = r#"ExecStart=/bin/sh -c "exec \"$$SHELL\" -c \"$$1\"" sh "echo $$RATE""#;
    assert!(config.contains(start), "{config}");
}

#[test]
fn one_operation_id_has_one_effect() {
    let Some(bench) = bench(&[]) else { return };
    let jobs = bench.jobs();
    let job = jobs.iter().find(|job| job.hold.is_none()).unwrap();
    let config = bench.convert(job).unwrap();
    for action in [Action::Stage, Action::CutOver] {
        let request = bench.request(action, &job.id, &config);
        let look_up = || {
            bench
                .world
                .target
                .look_up(action, &request.operation_id, &job.id)
                .value
        };
        assert_eq!(look_up(), Lookup::Absent);
        // Several processes at once, and once more afterwards.
        let applied: BTreeSet<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| bench.apply(&request).reference))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(applied.len(), 1);
        let again = bench.apply(&request);
        assert_eq!(look_up(), Lookup::Found(again));
        // The same id for another job is not answered as if it were this one's.
        let mut other = request.clone();
        other.job = JobId::from("another");
        other.config = config.replace(job.id.as_str(), "another");
        assert!(matches!(
            bench.world.target.effect(&other).value,
            Effect::Unknown { .. }
        ));
        let found = bench
            .world
            .target
            .look_up(action, &request.operation_id, &other.job)
            .value;
        assert!(matches!(found, Lookup::CannotTell { .. }), "{found:?}");
    }
    let staged = visible(&bench.folder.path().join("staging"));
    assert_eq!(staged.len(), 1, "{staged:?}");
    let production = bench.folder.path().join("production");
    let expected = [format!("{}.service", job.id), format!("{}.timer", job.id)];
    assert_eq!(visible(&production), expected);
    // Production that someone changed by hand is noticed.
    std::fs::write(production.join(&expected[0]), "changed").unwrap();
    let request = bench.request(Action::CutOver, &job.id, &config);
    let found = bench
        .world
        .target
        .look_up(Action::CutOver, &request.operation_id, &job.id)
        .value;
    assert!(matches!(found, Lookup::CannotTell { .. }), "{found:?}");
}

/// Names in a folder; leftovers of a lost race would be among them.
fn visible(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_config_that_is_none_is_refused_before_anything_is_written() {
    let Some(bench) = bench(&[]) else { return };
    for config in [
        "",
        "[Timer]\n",
        "### ../a.timer\nx\n### a.service\ny\n",
        "### b.timer\nx\n### b.service\ny\n",
    ] {
        let request = bench.request(Action::Stage, &JobId::from("a"), config);
        match bench.world.target.effect(&request).value {
            Effect::Refused { class, .. } => assert_eq!(class, FailureClass::Job),
            other => panic!("{other:?}"),
        }
    }
    assert!(!bench.folder.path().join("staging").exists());
}
