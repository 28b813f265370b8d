//! Adapters that misbehave: each failure has its class, and no effect is ever guessed.

use crate::contract::WorldRule;
use crate::model::{Action, Digest, FailureClass, JobId, OperationId, TimeMs};
use crate::world::ports::{Effect, EffectRef, EffectRequest, FiringQuestion, Lookup, Side};
use crate::world::{OpenError, World, open_world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const INFO: &str = r#"{"name":"t","version":"1","one_effect_per_id":{"stage":true}}"#;

/// A world whose adapters run `script`; `$call` is the call's name, and `info` is answered properly.
fn world_with(script: &str, more: &Value) -> Result<World, OpenError> {
    let script = format!(
        "read -r request; call=$(printf '%s' \"$request\" | sed 's/.*\"call\":\"\\([a-z_]*\\)\".*/\\1/')\n\
         if [ \"$call\" = info ]; then echo '{INFO}'; exit 0; fi\n{script}"
    );
    // Short only where a time-out is the point: the machine may be busy.
    let timeout = if script.contains("sleep 60") {
        "1s"
    } else {
        "1m"
    };
    let mut table = json!({
        "adapter": "command", "run": ["/bin/sh", "-c", script], "timeout": timeout, "dialect": "sqlite",
    });
    for (key, value) in more.as_object().unwrap() {
        table[key] = value.clone();
    }
    let table = table.as_object().unwrap().clone();
    let mut ports = BTreeMap::new();
    for port in ["source", "target", "warehouse", "probe"] {
        ports.insert(port.to_owned(), table.clone());
    }
    open_world(&WorldRule { ports }, Path::new("/"))
}

/// The script goes through a file's worth of text, so `read -r` needs the newline that is not sent: the
/// shell's `read` still fills the variable at the end of input.
fn world(script: &str) -> World {
    world_with(script, &json!({})).unwrap()
}

fn request() -> EffectRequest {
    EffectRequest {
        operation_id: OperationId::from("0123456789abcdef"),
        action: Action::Stage,
        job: JobId::from("a"),
        config: "c".to_owned(),
        config_digest: Digest("d".to_owned()),
        upstream: Vec::new(),
        logical_date: None,
        at: TimeMs(0),
    }
}

fn look_up(world: &World) -> Lookup {
    let id = OperationId::from("0123456789abcdef");
    world
        .target
        .look_up(Action::Stage, &id, &JobId::from("a"))
        .value
}

#[test]
fn whatever_breaks_after_the_start_leaves_an_effect_unknown() {
    for (script, part) in [
        ("sleep 60", "killed after 1 s"),
        ("echo garbage", "begins: garbage"),
        ("head -c 1000000000 /dev/zero", "16777216 bytes"),
        ("echo boom >&2; exit 3", "status 3: boom"),
        ("kill -9 $$", "signal 9"),
        ("true", "nothing"),
        (r#"echo '{"outcome":"applied"}'"#, "reference"),
        (
            r#"echo '{"outcome":"applied","reference":"r","config_digest":"other"}'"#,
            "another config",
        ),
        (
            r#"echo '{"outcome":"applied","reference":"r","config_digest":"d","x":1}'"#,
            "unknown key `x`",
        ),
        (
            r#"echo '{"outcome":"applied","reference":"","config_digest":"d"}'"#,
            "reference",
        ),
        (r#"echo '{"outcome":"done"}'"#, "done"),
        (
            r#"echo '{"error":{"what":"mid-flight","class":"environment"}}'"#,
            "mid-flight",
        ),
        (r#"echo '{"outcome":"unknown","why":"lost"}'"#, "lost"),
    ] {
        let started = Instant::now();
        let world = world(script);
        match world.target.effect(&request()).value {
            Effect::Unknown { why } => assert!(why.contains(part), "{script}: {why}"),
            other => panic!("{script}: {other:?}"),
        }
        assert!(started.elapsed() < Duration::from_secs(30));
        match look_up(&world) {
            Lookup::CannotTell { .. } => {}
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn an_adapter_that_never_ran_did_nothing() {
    let mut world = world("true");
    let gone = json!({"adapter": "command", "run": ["./gone"]});
    let adapter =
        super::Adapter::from_table("target", gone.as_object().unwrap(), Path::new("/")).unwrap();
    assert!(super::CommandTarget::open(adapter).is_err());
    // Its directory vanishes after it was opened.
    let folder = tempfile::tempdir().unwrap();
    let table = json!({"run": ["/bin/sh", "-c", format!("echo '{INFO}'")]});
    let adapter =
        super::Adapter::from_table("target", table.as_object().unwrap(), folder.path()).unwrap();
    world.target = std::sync::Arc::new(super::CommandTarget::open(adapter).unwrap());
    drop(folder);
    match world.target.effect(&request()).value {
        Effect::Refused { why, class, .. } => {
            assert_eq!(class, FailureClass::Environment);
            assert!(why.contains("could not be started"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn proper_answers_are_taken() {
    let world = world(
        r#"case $call in
        effect) echo '{"outcome":"applied","reference":"r","config_digest":"d","observed":"o"}';;
        look_up) echo '{"outcome":"found","operation_id":"0123456789abcdef","job":"a","reference":"r","config_digest":"d"}';;
        run_state) echo '{"state":"running","look_again_ms":1}';;
        consequences) echo '{"consequences":["c"]}';;
        query) echo '{"columns":["n"],"rows":[[1],["x"],[null]]}';;
        run_facts) echo '{"runs":[{"exit":0,"tasks":1,"effect_digest":null,"log_tail":""}]}';;
        esac"#,
    );
    let Effect::Applied(reference) = world.target.effect(&request()).value else {
        panic!()
    };
    assert_eq!(
        (reference.reference.as_str(), reference.observed.as_str()),
        ("r", "o")
    );
    assert!(matches!(look_up(&world), Lookup::Found(found) if found.reference == "r"));
    let job = JobId::from("a");
    assert!(world.target.run_state(&job, &reference, TimeMs(0)).is_ok());
    assert_eq!(
        world
            .target
            .consequences(&job, "c", TimeMs(0))
            .unwrap()
            .value,
        ["c"]
    );
    let warehouse = world.warehouse.unwrap();
    assert_eq!(warehouse.query("select 1").unwrap().value.rows.len(), 3);
    assert_eq!(warehouse.table(Side::Legacy, &job, "t", None), "legacy.t");
    assert_eq!(
        world
            .probe
            .unwrap()
            .run_facts(Side::Legacy, &job, None)
            .unwrap()
            .value
            .len(),
        1
    );
    assert_eq!(
        world.target.info().one_effect_per_id.get("stage"),
        Some(&true)
    );
}

#[test]
fn a_look_up_that_returns_another_object_cannot_tell() {
    for (id, job) in [("ffffffffffffffff", "a"), ("0123456789abcdef", "b")] {
        let script = format!(
            r#"echo '{{"outcome":"found","operation_id":"{id}","job":"{job}","reference":"r","config_digest":"d"}}'"#
        );
        match look_up(&world(&script)) {
            Lookup::CannotTell { why } => assert!(why.contains("asked for"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        look_up(&world(r#"echo '{"outcome":"absent"}'"#)),
        Lookup::Absent
    );
}

#[test]
fn questions_fail_with_a_class() {
    use FailureClass::{Environment, Job, Unclear};
    for (script, class) in [
        ("sleep 60", Environment),
        ("exit 3", Unclear),
        ("echo garbage", Unclear),
        ("head -c 1000000000 /dev/zero", Unclear),
        (
            r#"echo '{"error":{"what":"w","class":"job","retry_after_ms":-5}}'"#,
            Job,
        ),
        (r#"echo '{"error":{"what":"w","class":"nobody"}}'"#, Unclear),
    ] {
        let world = world(script);
        let error = world.source.list().unwrap_err();
        assert_eq!(error.class, class, "{script}: {error}");
        assert!(error.retry_after_ms.is_none_or(|ms| ms >= 0));
        let staged = EffectRef {
            reference: "r".to_owned(),
            config_digest: Digest("d".to_owned()),
            observed: String::new(),
        };
        let error = world
            .target
            .run_state(&JobId::from("a"), &staged, TimeMs(0))
            .unwrap_err();
        assert_eq!(error.class, class, "{script}: {error}");
    }
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    for (jobs, part) in [
        (
            r#"{"jobs":[{"id":"a","title":"","definition":""},{"id":"a","title":"","definition":""}]}"#,
            "two jobs",
        ),
        (
            r#"{"jobs":[{"id":"-rf","title":"","definition":""}]}"#,
            "no id",
        ),
        (
            r#"{"jobs":[{"id":"a","title":"","definition":"","tag":[]}]}"#,
            "unknown key `tag`",
        ),
        (
            r#"{"jobs":[{"id":"a","title":"","definition":"","hold":{"kind":"x","reason":"","evidence":[]}}]}"#,
            "retire",
        ),
        (
            r#"{"jobs":[],"accounting":{"lines":5,"kinds":{"job":1,"blank":3}}}"#,
            "5 lines were read and 4",
        ),
        (r#"{"jobs":{}}"#, "sequence"),
    ] {
        let error = world(&format!("echo '{jobs}'")).source.list().unwrap_err();
        assert!(error.what.contains(part), "{jobs}: {error}");
    }
}

#[test]
fn firing_times_come_from_cron_or_from_the_adapter() {
    let question = FiringQuestion {
        starts: vec![TimeMs(0)],
        count: 2,
    };
    let job = JobId::from("a");
    let list = |more: &str| {
        format!(
            r#"[ $call = list ] && echo '{{"jobs":[{{"id":"a","title":"","definition":"","schedule":{{"cron":"30 * * * *","zone":"UTC"}}}}]{more}}}' || echo '{{"windows":[[7]],"method":"own"}}'"#
        )
    };
    let times = world(&list(""))
        .source
        .firing_times(&job, &question)
        .unwrap()
        .value;
    assert_eq!(times.windows, [[TimeMs(1_800_000), TimeMs(5_400_000)]]);
    assert!(times.method.contains("croner"));
    let own = list(r#","answers_firing_times":true"#);
    let times = world(&own)
        .source
        .firing_times(&job, &question)
        .unwrap()
        .value;
    assert_eq!(
        (times.windows, times.method.as_str()),
        (vec![vec![TimeMs(7)]], "own")
    );
    let error = world(&list(""))
        .source
        .firing_times(&JobId::from("b"), &question)
        .unwrap_err();
    assert_eq!(error.class, FailureClass::Job);
    // An adapter whose instants do not ascend, or lie before the start, is not believed.
    for windows in ["[[9,7]]", "[[0]]", "[[1,2,3]]", "[]"] {
        let script = own.replace("[[7]]", windows);
        let error = world(&script)
            .source
            .firing_times(&job, &question)
            .unwrap_err();
        assert_eq!(error.class, FailureClass::Unclear, "{windows}");
    }
}

#[test]
fn a_secret_reaches_the_adapter_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "hunter2-long\n").unwrap();
    let more = json!({"login": {"api_token": {"file": file}}});
    let script = r#"printf '%s' "$request" | grep -q '"api_token":"hunter2-long"' || exit 9
        env | grep -q hunter2 && exit 8
        echo '{"error":{"what":"bad token hunter2-long","class":"job"}}'"#;
    let world = world_with(script, &more).unwrap();
    let error = world.source.list().unwrap_err();
    assert_eq!(error.what, "source adapter, list: bad token [secret]");
    // The same on stderr.
    let loud = world_with("echo hunter2-long >&2; exit 1", &more).unwrap();
    assert!(!loud.source.list().unwrap_err().what.contains("hunter2"));
    let missing = json!({"api_token": {"env": "DOGWATCH_TEST_NOT_SET"}});
    let Err(OpenError::Setting(why)) = world_with("true", &missing) else {
        panic!()
    };
    assert!(why.contains("DOGWATCH_TEST_NOT_SET is not set"), "{why}");
}

#[test]
fn a_guide_and_what_stands_beside_a_job_are_bounded_and_asked_for_only_where_offered() {
    let answer = |info: &str, list: &str, beside: usize| {
        format!(
            "read r; case \"$r\" in *'\"call\":\"info\"'*) echo '{info}';; *'\"call\":\"list\"'*) echo '{list}';; \
             *) printf '{{\"text\":\"'; head -c {beside} /dev/zero | tr '\\0' x; printf '\"}}';; esac"
        )
    };
    let open = |script: &str| {
        let table = json!({"adapter": "command", "run": ["/bin/sh", "-c", script]});
        let ports = ["source", "target"]
            .map(|port| (port.to_owned(), table.as_object().unwrap().clone()))
            .into();
        open_world(&WorldRule { ports }, Path::new("/"))
    };
    let info = r#"{"name":"x","version":"1","one_effect_per_id":{}}"#;
    let offers = r#"{"jobs":[],"answers_beside":true}"#;
    let job = JobId::from("a");
    let world = open(&answer(info, offers, 300)).unwrap();
    assert_eq!(world.source.beside(&job).unwrap().value.len(), 300);
    assert_eq!(world.target.guide(), "");
    let world = open(&answer(info, r#"{"jobs":[]}"#, 300)).unwrap();
    assert_eq!(world.source.beside(&job).unwrap().value, "", "not asked");
    let world = open(&answer(info, offers, 70_000)).unwrap();
    let why = world.source.beside(&job).unwrap_err().what;
    assert!(why.contains("70000 bytes"), "{why}");
    let long = format!(
        r#"{{"name":"x","version":"1","one_effect_per_id":{{}},"guide":"{}"}}"#,
        "g".repeat(40_000)
    );
    let Err(error) = open(&answer(&long, offers, 1)) else {
        panic!("a guide of any length was taken")
    };
    assert!(
        error.to_string().contains("a guide of 40000 bytes"),
        "{error}"
    );
}

#[test]
fn an_unknown_adapter_is_named() {
    let Err(error) = world_with("true", &json!({"adapter": "airflow"})) else {
        panic!()
    };
    assert!(error.to_string().contains("airflow"), "{error}");
}

/// The blocks of docs/adapters.md: (heading, kind, text), where kind follows `json`.
fn documented() -> Vec<(String, String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/adapters.md");
    let text = std::fs::read_to_string(file).unwrap();
    let mut blocks = Vec::new();
    let mut heading = String::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some((kind, mut block)) = open.take() {
            if line == "```" {
                blocks.push((heading.clone(), kind, block));
            } else {
                block.push_str(line);
                block.push('\n');
                open = Some((kind, block));
            }
        } else if let Some(kind) = line.strip_prefix("```json ") {
            open = Some((kind.to_owned(), String::new()));
        } else if let Some(title) = line.strip_prefix("### ") {
            heading = title.to_owned();
        }
    }
    blocks
}

/// Makes the call that a documented request shows; what went wrong with the reply, if anything.
fn make_call(world: &World, heading: &str, params: &Value) -> Result<(), String> {
    let get = |key: &str| params[key].clone();
    let job = || serde_json::from_value::<JobId>(get("job")).unwrap();
    let question = || {
        serde_json::from_value::<FiringQuestion>(
            json!({"starts": get("starts"), "count": get("count")}),
        )
        .unwrap()
    };
    let config = || get("config").as_str().unwrap().to_owned();
    let at = || serde_json::from_value::<TimeMs>(get("at")).unwrap();
    let failed = |error: crate::world::ports::PortError| error.what;
    match heading {
        "source: list" => world.source.list().map(drop).map_err(failed),
        "source: beside" => world
            .source
            .beside(&job())
            .map(|text| assert!(text.value.starts_with("--- /home/etl/.profile ---\nexport")))
            .map_err(failed),
        "source: other_dates" => world
            .source
            .other_dates(&job())
            .map(|dates| assert_eq!(dates.value[0].as_str(), "2026-02-27"))
            .map_err(failed),
        "source: firing_times" => world
            .source
            .firing_times(&job(), &question())
            .map(drop)
            .map_err(failed),
        "target: info" => {
            assert!(world.target.guide().contains("five cron fields"));
            Ok(())
        }
        "target: effect" => {
            let request = serde_json::from_value(params.clone()).unwrap();
            match world.target.effect(&request).value {
                Effect::Unknown { why }
                    if why != "the connection broke after the request was sent" =>
                {
                    Err(why)
                }
                _ => Ok(()),
            }
        }
        "target: look_up" => {
            let id = serde_json::from_value(get("operation_id")).unwrap();
            match world.target.look_up(Action::Stage, &id, &job()).value {
                Lookup::CannotTell { why } if why != "two runs carry this id" => Err(why),
                _ => Ok(()),
            }
        }
        "target: run_state" => {
            let staged = serde_json::from_value(get("staged")).unwrap();
            world
                .target
                .run_state(&job(), &staged, at())
                .map(drop)
                .map_err(failed)
        }
        "target: firing_times" => world
            .target
            .firing_times(&job(), &config(), &question())
            .map(drop)
            .map_err(failed),
        "target: consequences" => world
            .target
            .consequences(&job(), &config(), at())
            .map(drop)
            .map_err(failed),
        "target: production" => world.target.production().map(drop).map_err(failed),
        "warehouse: query" => {
            let sql = get("sql");
            world
                .warehouse
                .as_ref()
                .unwrap()
                .query(sql.as_str().unwrap())
                .map(drop)
                .map_err(failed)
        }
        "probe: run_facts" => {
            let probe = world.probe.as_ref().unwrap();
            probe
                .run_facts(Side::Legacy, &job(), None)
                .map(drop)
                .map_err(failed)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_documented_requests_are_sent_and_the_documented_replies_taken() {
    let folder = tempfile::tempdir().unwrap();
    let info = documented()
        .into_iter()
        .find(|block| block.0 == "target: info" && block.1 == "reply");
    std::fs::write(folder.path().join("info"), info.unwrap().2).unwrap();
    // A source that has not listed yet is asked for its list before its firing times.
    let list = r#"{"jobs":[],"answers_firing_times":true,"answers_beside":true,"answers_other_dates":true}"#;
    std::fs::write(folder.path().join("list-first"), list).unwrap();
    let script = "cat > request.new; \
        if grep -q '\"call\":\"info\"' request.new; then cp request.new request-info; cat info; exit 0; fi; \
        if grep -q '\"call\":\"list\"' request.new && [ -e list-first ]; then cat list-first; exit 0; fi; \
        mv request.new request; cat reply";
    let mut table = json!({"adapter": "command", "run": ["/bin/sh", "-c", script], "path": "jobs"});
    let mut ports = BTreeMap::new();
    for port in ["source", "target", "probe"] {
        ports.insert(port.to_owned(), table.as_object().unwrap().clone());
    }
    table["dialect"] = json!("sqlite");
    ports.insert("warehouse".to_owned(), table.as_object().unwrap().clone());
    let rule = WorldRule { ports };
    let mut request = Value::Null;
    let mut replies = 0;
    for (heading, kind, text) in documented() {
        match kind.as_str() {
            "request" => request = serde_json::from_str(&text).unwrap(),
            "reply" => {
                std::fs::write(folder.path().join("reply"), &text).unwrap();
                if heading == "source: list" {
                    let _ = std::fs::remove_file(folder.path().join("list-first"));
                } else {
                    std::fs::write(folder.path().join("list-first"), list).unwrap();
                }
                let world = open_world(&rule, folder.path()).unwrap();
                make_call(&world, &heading, &request["params"])
                    .unwrap_or_else(|why| panic!("{heading}: {why}"));
                let file = if heading == "target: info" {
                    "request-info"
                } else {
                    "request"
                };
                let sent = std::fs::read_to_string(folder.path().join(file)).unwrap();
                let sent: Value = serde_json::from_str(&sent).unwrap();
                assert_eq!(sent, request, "{heading}");
                replies += 1;
            }
            _ => {}
        }
    }
    assert_eq!(replies, 19);
}
