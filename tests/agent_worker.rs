//! Command-line agents as workers: stand-ins that print what the real ones print, and try what they must not.

use crate::stub_provider::Stub;
use dogwatch::contract::Strategy;
use dogwatch::contract::parse::parse_providers;
use dogwatch::model::{AttemptNo, FailureClass, JobId, PicoDollars, StrategyId};
use dogwatch::worker::provider::HttpProvider;
use dogwatch::worker::{PrepareRequest, Prepared, ProcessWorker, Worker};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY: &str = "the-real-key-9876";

struct Bench {
    stub: Stub,
    folder: tempfile::TempDir,
    worker: ProcessWorker,
}

impl Bench {
    fn new(protocol: &str) -> Self {
        let stub = Stub::start(&format!(
            "name = \"x\"\nkey = \"{KEY}\"\n[[turn]]\nsay = \"some words of an answer\"\n"
        ));
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("key"), KEY).unwrap();
        std::fs::write(at("checker.py"), "print('fail')").unwrap();
        let scratch = at("scratch");
        std::fs::create_dir(&scratch).unwrap();
        let url = match protocol {
            "anthropic" => stub.base_url(),
            _ => stub.chat_url(),
        };
        let text = format!(
            "[provider.p]\nprotocol = \"{protocol}\"\nbase_url = \"{url}\"\napi_key = {{ file = \"key\" }}\n\
             [provider.p.price.stub-1]\ninput = 1\noutput = 5\n"
        );
        let settings = parse_providers(&text).unwrap().remove("p").unwrap();
        let provider = HttpProvider::new(settings, folder.path()).unwrap();
        let worker = ProcessWorker {
            providers: BTreeMap::from([("p".to_owned(), Arc::new(provider))]),
            watched: vec![at("checker.py")],
            ..ProcessWorker::new(folder.path().to_path_buf(), scratch)
        };
        Self {
            stub,
            folder,
            worker,
        }
    }

    fn attempt(
        &self,
        mode: &[&str],
        profile: &str,
        more: &[(&str, Value)],
        timeout_ms: i64,
    ) -> Prepared {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_agents/agent.py");
        let mut run = vec!["python3".to_owned(), script.to_string_lossy().into_owned()];
        run.extend(mode.iter().map(|word| (*word).to_owned()));
        let mut params: Map<String, Value> = Map::new();
        for (key, value) in [
            ("profile", profile),
            ("provider", "p"),
            ("model", "stub-1"),
            ("sandbox", "none"),
        ] {
            params.insert(key.to_owned(), json!(value));
        }
        for (key, value) in more {
            params.insert((*key).to_owned(), value.clone());
        }
        let strategy = Strategy {
            id: StrategyId::from("agent"),
            worker: "command".to_owned(),
            run,
            timeout_ms,
            params,
        };
        self.worker.attempt(&strategy, &request())
    }

    fn claude(&self, mode: &[&str]) -> Prepared {
        self.attempt(mode, "claude", &[], 60_000)
    }

    /// What is left in the scratch folder.
    fn left(&self) -> usize {
        std::fs::read_dir(&self.worker.scratch_dir).unwrap().count()
    }
}

fn request() -> PrepareRequest {
    PrepareRequest {
        job: JobId::from("orders"),
        attempt: AttemptNo(2),
        origin: "crontab:7".to_owned(),
        definition: "the old text".to_owned(),
        depends_on: Vec::new(),
        output_table: None,
        previous: None,
        comment: Some("mind the calendar".to_owned()),
    }
}

#[test]
fn a_proposal_comes_from_the_file_and_the_costs_from_the_meter() {
    let bench = Bench::new("anthropic");
    let prepared = bench.claude(&["good"]);
    let reply = prepared.result.unwrap();
    assert_eq!(
        (reply.config.as_str(), reply.remark.as_str()),
        ("THE OLD TEXT", "I did it")
    );
    let (spent, billed) = (prepared.spent.unwrap(), bench.stub.accounting());
    assert_eq!(billed.turns, 1);
    assert_eq!(spent.tokens, billed.input() + billed.sum.output);
    assert!(spent.sure);
    let by_hand = billed.sum.uncached * 1_000_000 + billed.sum.output * 5_000_000;
    // What it says about its own costs (99 dollars) is nobody's fact.
    assert_eq!(
        spent.money,
        Some(PicoDollars(i64::try_from(by_hand).unwrap()))
    );
    assert_eq!(bench.left(), 0);
}

#[test]
fn the_key_stays_outside_and_so_does_the_environment() {
    let bench = Bench::new("anthropic");
    let reply = bench.claude(&["environment"]).result.unwrap();
    assert!(!reply.config.contains(KEY), "{}", reply.config);
    let seen: Value = serde_json::from_str(&reply.config).unwrap();
    let names: Vec<&String> = seen["env"].as_object().unwrap().keys().collect();
    for name in &names {
        let known = [
            "PATH", "LANG", "TZ", "HOME", "TMPDIR", "NO_PROXY", "no_proxy", "LC_CTYPE", "PWD",
        ];
        // A shim in front of python3 and the shell that it is written in add theirs.
        let own = ["ANTHROPIC_", "CLAUDE_CODE_", "PYENV_", "_", "SHLVL"]
            .iter()
            .any(|begin| name.starts_with(begin));
        assert!(own || known.contains(&name.as_str()), "{names:?}");
    }
    let prompt = seen["prompt"].as_str().unwrap();
    assert!(
        prompt.contains("job: orders") && prompt.contains("> mind the calendar"),
        "{prompt}"
    );
}

#[test]
fn what_it_says_about_itself_is_not_believed() {
    let bench = Bench::new("anthropic");
    for (mode, class, part) in [
        ("success-beside-error", FailureClass::Environment, "529"),
        ("interrupted", FailureClass::Unclear, "without a result"),
        ("nothing-left", FailureClass::Job, "left no new_config.txt"),
        ("cannot", FailureClass::Job, "there is no such table"),
    ] {
        let failure = bench.claude(&[mode]).result.unwrap_err();
        assert_eq!(failure.class, class, "{mode}: {}", failure.why);
        assert!(failure.why.contains(part), "{mode}: {}", failure.why);
    }
}

#[test]
fn a_changed_checker_voids_the_attempt_and_is_named() {
    let bench = Bench::new("anthropic");
    let checker = bench.folder.path().join("checker.py");
    let prepared = bench.claude(&["tamper", checker.to_str().unwrap()]);
    assert_eq!(prepared.tampered.len(), 1);
    let failure = prepared.result.unwrap_err();
    assert!(
        failure.why.contains("checker.py") && failure.why.contains("void"),
        "{}",
        failure.why
    );
}

#[test]
fn a_script_worker_that_changes_a_checker_is_noticed_too() {
    let bench = Bench::new("anthropic");
    let checker = bench.folder.path().join("checker.py");
    let script = format!(
        "echo x >> {}; echo '{{\"config\":\"new\"}}'",
        checker.display()
    );
    let strategy = Strategy {
        id: StrategyId::from("script"),
        worker: "script".to_owned(),
        run: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
        timeout_ms: 60_000,
        params: Map::new(),
    };
    let prepared = bench.worker.attempt(&strategy, &request());
    assert_eq!(prepared.tampered.len(), 1);
    assert!(prepared.result.is_err() && prepared.spent.is_none());
}

#[test]
fn the_wall_is_the_meters_and_the_call_that_could_cross_it_is_never_sent() {
    let bench = Bench::new("anthropic");
    // A call reserves some 650 input and 100 output tokens.
    let limit = json!(2_500);
    let prepared = bench.attempt(&["greedy"], "claude", &[("attempt_tokens", limit)], 60_000);
    let failure = prepared.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::Job);
    assert!(
        failure.why.contains("could cross 2500 tokens"),
        "{}",
        failure.why
    );
    let spent = prepared.spent.unwrap();
    assert!(
        spent.tokens <= 2_500 && bench.stub.accounting().turns >= 2,
        "{spent:?}"
    );
    assert_eq!(
        spent.tokens,
        bench.stub.accounting().input() + bench.stub.accounting().sum.output
    );
    // The same in money and in calls.
    let more = [("attempt_dollars", json!(0.001))];
    let failure = bench
        .attempt(&["greedy"], "claude", &more, 60_000)
        .result
        .unwrap_err();
    assert!(
        failure.why.contains("could cross $0.001"),
        "{}",
        failure.why
    );
    let before = bench.stub.accounting().turns;
    let failure = bench
        .attempt(&["greedy"], "claude", &[("turns", json!(2))], 60_000)
        .result
        .unwrap_err();
    assert!(failure.why.contains("4 calls"), "{}", failure.why);
    assert_eq!(bench.stub.accounting().turns - before, 4);
}

#[test]
fn an_agent_ends_with_the_engine() {
    let bench = Bench::new("anthropic");
    let cancel = bench.worker.cancel.clone();
    let began = Instant::now();
    let more = [
        ("attempt_tokens", json!(1_000_000_000)),
        ("turns", json!(1_000_000)),
    ];
    let prepared = std::thread::scope(|scope| {
        scope.spawn(|| {
            // The engine ends while the agent is at work.
            while bench.stub.accounting().turns == 0 && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(20));
            }
            cancel.cancel();
        });
        bench.attempt(&["greedy"], "claude", &more, 60_000)
    });
    assert!(began.elapsed() < Duration::from_secs(30));
    let failure = prepared.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::Environment);
    assert!(
        failure.why.contains("end with the engine"),
        "{}",
        failure.why
    );
    assert!(prepared.spent.unwrap().tokens > 0);
}

#[test]
fn nothing_else_passes_the_meter() {
    let bench = Bench::new("anthropic");
    let reply = bench.claude(&["other-paths"]).result.unwrap();
    assert_eq!(reply.config, "[404, 401]");
    assert!(bench.stub.requests().is_empty());
}

#[test]
fn one_that_hangs_is_ended_with_its_children_and_what_it_took_is_booked() {
    let bench = Bench::new("anthropic");
    let began = Instant::now();
    // Time enough for its one call, which a busy machine needs more of.
    let prepared = [700, 3_000, 12_000]
        .into_iter()
        .map(|within| bench.attempt(&["hang"], "claude", &[], within))
        .find(|prepared| prepared.spent.is_some_and(|spent| spent.tokens > 0))
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(60));
    let failure = prepared.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::Environment, "{}", failure.why);
    assert!(failure.why.contains("killed after"), "{}", failure.why);
    assert!(prepared.spent.unwrap().tokens > 100);
    assert_eq!(bench.left(), 0);
}

#[test]
fn codex_is_metered_at_the_proxy_and_a_reconnect_is_no_failure() {
    let bench = Bench::new("openai-chat");
    let prepared = bench.attempt(&["codex"], "codex", &[], 60_000);
    let reply = prepared.result.unwrap();
    assert_eq!(
        (reply.config.as_str(), reply.remark.as_str()),
        ("by codex", "done")
    );
    // 40 of 250 input tokens were cached, as the stub says in `response.completed`.
    let spent = prepared.spent.unwrap();
    assert_eq!((spent.tokens, spent.sure), (257, true));
    let failure = bench
        .attempt(&["codex-cut"], "codex", &[], 60_000)
        .result
        .unwrap_err();
    assert_eq!(failure.class, FailureClass::Unclear, "{}", failure.why);
    // An agent whose protocol the provider does not speak is not started.
    let failure = bench
        .attempt(&["good"], "claude", &[], 60_000)
        .result
        .unwrap_err();
    assert!(failure.why.contains("does not speak"), "{}", failure.why);
}

#[test]
fn a_sandbox_that_is_demanded_holds_or_nothing_starts() {
    let bench = Bench::new("anthropic");
    let more = [("sandbox", json!("bubblewrap"))];
    if dogwatch::worker::agent::find_bubblewrap().is_none() {
        let failure = bench
            .attempt(&["good"], "claude", &more, 60_000)
            .result
            .unwrap_err();
        assert!(
            failure.why.contains("bwrap is not in PATH"),
            "{}",
            failure.why
        );
        assert!(bench.stub.requests().is_empty());
        return;
    }
    // Inside it the work can be done, and what lies outside the folder stays as it is.
    let reply = bench.attempt(&["good"], "claude", &more, 60_000).result;
    assert!(!reply.unwrap().config.is_empty());
    let checker = bench.folder.path().join("checker.py");
    let word = checker.to_str().unwrap();
    let prepared = bench.attempt(&["tamper", word], "claude", &more, 60_000);
    // What it writes there is its own, and gone with it.
    assert_eq!(prepared.tampered, Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(&checker).unwrap(), "print('fail')");
}
