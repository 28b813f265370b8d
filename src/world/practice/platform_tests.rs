use super::*;

struct Seen {
    status: Result<i32, String>,
    tasks: u32,
    effects: Vec<String>,
    log: String,
}

fn run_on(old: bool, command: &str, environment: &[(&str, &str)]) -> Seen {
    let held = BTreeMap::from([("/var/lock/events.lock".to_owned(), "events-load".to_owned())]);
    let hosts = BTreeMap::from([
        ("api.oldads.example".to_owned(), "HTTP 410".to_owned()),
        ("gone.example".to_owned(), "does not resolve".to_owned()),
    ]);
    let mut sql = |_: &BTreeSet<String>| Ok("t: 1 rows".to_owned());
    let mut platform = Platform {
        old,
        day: 455,
        held: &held,
        taken: BTreeSet::new(),
        hosts: &hosts,
        nonce: "n1".to_owned(),
        run_sql: &mut sql,
        tasks: 0,
        effects: Vec::new(),
        log: String::new(),
    };
    let mut shell = Shell {
        environment: environment
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        folder: "/srv/etl".to_owned(),
        host: &mut platform,
        depth: 0,
    };
    let status = shell
        .run(command)
        .map(|(status, _)| status)
        .map_err(|e| e.0);
    Seen {
        status,
        tasks: platform.tasks,
        effects: platform.effects,
        log: platform.log,
    }
}

const PATH: (&str, &str) = ("PATH", "/opt/etl/bin:/usr/bin:/bin");

#[test]
fn a_program_off_the_path_is_not_found() {
    assert_eq!(run_on(false, "run-sql jobs/a.sql", &[]).status, Ok(127));
    let seen = run_on(false, "run-sql jobs/a.sql", &[PATH]);
    assert_eq!((seen.status, seen.tasks), (Ok(0), 1));
    let seen = run_on(false, "/opt/etl/bin/run-sql jobs/a.sql", &[]);
    assert_eq!(seen.status, Ok(0));
}

#[test]
fn percent_signs_mean_what_the_shell_says() {
    let good = run_on(
        false,
        "run-sql --stamp \"$(date '+%Y%m%d')\" jobs/a.sql",
        &[PATH],
    );
    assert_eq!(good.effects, ["run-sql --stamp 20240331 jobs/a.sql"]);
    let cron = run_on(
        false,
        "run-sql --stamp \"$(date '+\\%Y\\%m\\%d')\" jobs/a.sql",
        &[PATH],
    );
    assert_eq!(cron.status, Ok(2));
    assert!(cron.log.contains("--stamp"), "{}", cron.log);
    let systemd = run_on(
        false,
        "run-sql --stamp \"$(date +%%Y%%m%%d)\" jobs/a.sql",
        &[PATH],
    );
    assert_eq!(systemd.status, Ok(2));
    let dump = run_on(
        false,
        "dump-warehouse --to backup/w-$(date '+\\%Y').dump",
        &[PATH],
    );
    assert_eq!(dump.effects, ["dump-warehouse --to backup/w-\\2024.dump"]);
}

#[test]
fn locks_skip_or_wait() {
    let skip = run_on(true, "flock -n /var/lock/events.lock purge-events", &[PATH]);
    assert_eq!((skip.status, skip.tasks), (Ok(1), 0));
    assert!(skip.log.contains("skipped: lock held"));
    let wait = run_on(true, "flock /var/lock/events.lock purge-events", &[PATH]);
    assert_eq!((wait.status, wait.tasks), (Ok(0), 1));
    let none = run_on(true, "purge-events", &[PATH]);
    assert_eq!(none.tasks, 1);
}

#[test]
fn what_only_the_old_hosts_have() {
    assert_eq!(
        run_on(true, "cd /home/etl/etl && run-sql jobs/a.sql", &[PATH]).status,
        Ok(0)
    );
    assert_eq!(
        run_on(false, "cd /home/etl/etl && run-sql jobs/a.sql", &[PATH]).status,
        Ok(1)
    );
    let ssh = "ssh -i /home/oozie/.ssh/k etl@files.example push-manifest";
    assert_eq!(run_on(true, ssh, &[PATH]).status, Ok(0));
    assert_eq!(run_on(false, ssh, &[PATH]).status, Ok(255));
}

#[test]
fn a_source_that_is_gone() {
    let seen = run_on(
        true,
        "curl -fsS https://api.oldads.example/v1 -o in/x || true",
        &[PATH],
    );
    assert_eq!((seen.status, seen.tasks), (Ok(0), 0));
    assert!(seen.log.contains("HTTP 410"));
    let seen = run_on(true, "curl -fsS http://gone.example/ping", &[PATH]);
    assert!(seen.log.contains("Could not resolve"));
}

#[test]
fn the_last_day_of_the_month_guard() {
    let seen = run_on(
        false,
        "[ \"$(date -d tomorrow +%d)\" = 01 ] && run-sql jobs/a.sql",
        &[PATH],
    );
    assert_eq!((seen.status, seen.tasks), (Ok(0), 1));
}
