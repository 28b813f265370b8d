//! A goal over shell scripts that say whatever a file tells them: the real command adapter, the real script
//! worker and the real command checker.

use crate::support::{Ended, Running, dogwatch};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const GOAL: &str = r#"[goal]
id = "hostile"
objective = "Every small job is moved."
owner = "@me"
deadline = "none"
zone = "UTC"

[[accept]]
id = "judge"
check = "command"
run = ["./judge.sh"]

[approval.cutover]
by = ["@me"]

[limits]
concurrent_jobs = 64

[[strategy]]
id = "convert"
worker = "script"
run = ["./convert.sh", "{job}"]

[world.source]
adapter = "command"
run = ["./source.sh"]
timeout = "20s"

[world.target]
adapter = "command"
run = ["./target.sh"]
timeout = "20s"
"#;

/// Says `say/CALL-JOB` where there is such a file, and otherwise what a good target says.
const TARGET: &str = r#"request=$(cat)
call=$(printf %s "$request" | sed 's/.*"call":"\([a-z_]*\)".*/\1/')
job=$(printf %s "$request" | sed 's/.*"job":"\([a-z0-9-]*\)".*/\1/')
[ -x "say/$call-$job" ] && exec "say/$call-$job"
[ -f "say/$call-$job" ] && exec cat "say/$call-$job"
digest=$(printf %s "$request" | sed 's/.*"config_digest":"\([0-9a-f]*\)".*/\1/')
case $call in
  info) echo '{"name":"small","version":"1","one_effect_per_id":{}}';;
  effect)
    printf '%s\n' "$request" | sed 's/.*"operation_id":"\([^"]*\)".*"action":"\([a-z_]*\)".*/\1 \2/' >> effects.log
    printf '{"outcome":"applied","reference":"run-%s","config_digest":"%s"}' "$job" "$digest";;
  run_state) echo '{"state":"succeeded","log":"fine"}';;
  consequences) echo '{"consequences":[]}';;
  look_up) echo '{"outcome":"absent"}';;
esac"#;

/// A folder with the goal and its scripts.
pub struct Stage {
    pub dir: tempfile::TempDir,
}

impl Stage {
    /// Jobs with titles and definitions as JSON texts.
    pub fn new(jobs: &[(String, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stage = Self { dir };
        std::fs::create_dir(stage.path("say")).unwrap();
        let listed: Vec<String> = jobs
            .iter()
            .map(|(id, text)| {
                format!(
                    "{{\"id\":\"{id}\",\"title\":{text},\"definition\":{text},\"origin\":{text}}}"
                )
            })
            .collect();
        std::fs::write(
            stage.path("jobs.json"),
            format!("{{\"jobs\":[{}]}}", listed.join(",")),
        )
        .unwrap();
        stage.script("source.sh", "cat > /dev/null; cat jobs.json");
        stage.script("target.sh", TARGET);
        let convert = "cat > /dev/null; cd \"$(dirname \"$0\")\"; \
                       [ -x \"say/convert-$1\" ] && exec \"say/convert-$1\"; \
                       [ -f \"say/convert-$1\" ] && exec cat \"say/convert-$1\"; printf '{\"config\":\"job = %s\"}' $1";
        stage.script("convert.sh", convert);
        let judge = "job=$(sed 's/.*\"job\":\"\\([a-z0-9-]*\\)\".*/\\1/'); cd \"$(dirname \"$0\")\"; \
                     [ -x \"say/judge-$job\" ] && exec \"say/judge-$job\"; \
                     [ -f \"say/judge-$job\" ] && exec cat \"say/judge-$job\"; \
                     echo '{\"verdict\":\"pass\",\"summary\":\"fine\"}'";
        stage.script("judge.sh", judge);
        std::fs::write(stage.path("goal.toml"), GOAL).unwrap();
        stage
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn ledger(&self) -> PathBuf {
        self.path("ledger.db")
    }

    pub fn script(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(name), mode).unwrap();
    }

    /// What is answered to a call for a job: `convert`, `judge`, `effect`, `run_state`, `look_up`, …
    pub fn says(&self, call: &str, job: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path("say").join(format!("{call}-{job}")), bytes).unwrap();
    }

    /// A program that answers instead.
    pub fn answers_by(&self, call: &str, job: &str, program: &str) {
        self.script(&format!("say/{call}-{job}"), program);
    }

    /// Works until each job has met what it was listed for, then asks it to stop; how it ended, and the most
    /// memory it held, in KiB. It is not left to its end: what failed for an unclear reason is tried again
    /// after pauses of minutes.
    pub fn run(&self, jobs: usize, patience: Duration) -> (Ended, u64) {
        let mut command = dogwatch(&self.ledger());
        command.arg("run").arg(self.path("goal.toml")).args([
            "--yes",
            "--headless",
            "--exit-when-waiting",
            "--json",
        ]);
        let mut running = Running::start(&mut command);
        let mut peak = 0;
        let until = std::time::Instant::now() + patience;
        let met = "select count(distinct job) from events where kind in ('prepare.failed', 'config.failed', 'op.unknown', \
                   'op.refused', 'run.failed', 'evidence.recorded', 'check.failed', 'approval.requested')";
        loop {
            peak = peak.max(peak_kib(running.id()));
            if let Some(ended) = running.wait(Duration::from_millis(50)) {
                return (ended, peak);
            }
            let count: i64 = rusqlite::Connection::open(self.ledger())
                .and_then(|conn| conn.query_row(met, [], |row| row.get(0)))
                .unwrap_or(0);
            if count as usize >= jobs {
                // The last replies are written down.
                std::thread::sleep(Duration::from_secs(1));
                running.signal(nix::sys::signal::Signal::SIGTERM);
                return (running.wait(patience).expect("it does not stop"), peak);
            }
            assert!(
                std::time::Instant::now() < until,
                "{count} of {jobs} jobs only"
            );
        }
    }
}

fn peak_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
    text.unwrap_or_default()
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0)
}
