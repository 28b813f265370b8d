//! The providers' client against the stub: whole loops, every failure of the table, byte-stable prompts.

use crate::stub_provider::{Stub, scenario};
use dogwatch::contract::ProviderSettings;
use dogwatch::contract::parse::parse_providers;
use dogwatch::model::TimeMs;
use dogwatch::worker::provider::{
    BlockKind, CacheMark, Cancel, HttpProvider, Message, Outcome, Provider, RawJson, SystemBlock,
    Tool, TurnFailure, TurnFailureClass as Class, TurnLimits, TurnReply, TurnRequest, UsageSource,
    UserPart,
};
use std::path::Path;
use std::time::{Duration, Instant};

const NOW: TimeMs = TimeMs(1_795_954_000_000);
const BOTH: [&str; 2] = ["anthropic", "openai-chat"];

fn settings(stub: &Stub, protocol: &str, more: &str) -> ProviderSettings {
    let url = match protocol {
        "anthropic" => stub.base_url(),
        _ => stub.chat_url(),
    };
    let text = format!("[provider.p]\nprotocol = \"{protocol}\"\nbase_url = \"{url}\"\n{more}");
    parse_providers(&text).unwrap().remove("p").unwrap()
}

fn provider_with(stub: &Stub, protocol: &str, more: &str) -> HttpProvider {
    HttpProvider::new(settings(stub, protocol, more), Path::new("/")).unwrap()
}

fn provider(stub: &Stub, protocol: &str) -> HttpProvider {
    provider_with(stub, protocol, "auth = \"none\"\nidle_timeout = \"3s\"\n")
}

fn limits(within_ms: i64) -> TurnLimits {
    TurnLimits {
        now: NOW,
        within_ms,
        cancel: Cancel::default(),
    }
}

fn text(words: &str) -> UserPart {
    UserPart::Text {
        text: words.to_owned(),
        cache: Some(CacheMark::FiveMinutes),
    }
}

fn request() -> TurnRequest {
    let schema = r#"{"type":"object","properties":{"which":{"type":"string"}},"required":["which"],"additionalProperties":false}"#;
    TurnRequest {
        model: "stub-1".to_owned(),
        max_output_tokens: 500,
        effort: None,
        tools: vec![Tool {
            name: "read_config".to_owned(),
            description: "Returns a text.".to_owned(),
            input_schema: RawJson::parse(schema.to_owned()).unwrap(),
        }],
        system: vec![SystemBlock {
            text: "Rules that never change. ".repeat(200),
            cache: Some(CacheMark::FiveMinutes),
        }],
        messages: vec![Message::User(vec![text(
            "job: orders\ncontract version: 3\nnext step: repair\n<<config\na: BROKEN\nconfig>>",
        )])],
    }
}

fn ask(provider: &HttpProvider) -> Result<TurnReply, Box<TurnFailure>> {
    provider.turn(&request(), &limits(20_000))
}

/// Answers each call of a reply, as the loop does.
fn answered(request: &mut TurnRequest, reply: &TurnReply) {
    for message in &mut request.messages {
        if let Message::User(parts) = message {
            for part in parts {
                let (UserPart::Text { cache, .. } | UserPart::ToolResult { cache, .. }) = part;
                *cache = None;
            }
        }
    }
    let results = reply.calls().map(|(id, name, _)| UserPart::ToolResult {
        call: id.to_owned(),
        text: format!(
            "{name} answered, \"quoted\" \u{2028} and long: {}",
            "x ".repeat(300)
        ),
        failed: false,
        cache: Some(CacheMark::FiveMinutes),
    });
    let results: Vec<UserPart> = results.collect();
    request
        .messages
        .push(Message::Assistant(reply.blocks.clone()));
    request.messages.push(Message::User(results));
}

#[test]
fn a_whole_loop_runs_over_both_protocols_and_its_prefix_is_served_from_the_cache() {
    for protocol in BOTH {
        let stub = Stub::named("good-repair");
        let provider = provider(&stub, protocol);
        let mut request = request();
        let (mut calls, mut bodies, mut input, mut read) = (Vec::new(), Vec::new(), 0, 0);
        for _ in 0..8 {
            bodies.push(String::from_utf8(provider.body(&request)).unwrap());
            let reply = provider.turn(&request, &limits(20_000)).unwrap();
            assert_eq!(reply.usage.source, UsageSource::Reported);
            assert_eq!(reply.request_id.as_deref(), Some("req_stub"));
            input += reply.usage.input();
            read += reply.usage.cache_read.unwrap();
            calls.extend(
                reply
                    .calls()
                    .map(|(_, name, input)| (name.to_owned(), input.to_owned())),
            );
            if reply.outcome == Outcome::Done {
                break;
            }
            assert_eq!(reply.outcome, Outcome::Tools, "{protocol}");
            answered(&mut request, &reply);
        }
        let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "acknowledge",
                "read_config",
                "read_evidence",
                "propose_config",
                "finish"
            ],
            "{protocol}"
        );
        assert_eq!(
            calls[0].1,
            r#"{"contract_version":3,"job":"orders","next_step":"repair"}"#
        );
        assert!(calls[3].1.contains("a: MENDED"), "{}", calls[3].1);
        // What was counted here is what the stub billed.
        let billed = stub.accounting();
        assert_eq!(
            (billed.input(), billed.sum.read),
            (input, read),
            "{protocol}"
        );
        assert!(billed.hit_ratio() > 0.6, "{protocol}: {billed:?}");
        assert_prefixes(&bodies);
        for (sent, seen) in bodies.iter().zip(stub.turns()) {
            assert_eq!(*sent, seen.body);
        }
    }
}

/// Each body without its marks begins with the one before, up to the end of its messages.
fn assert_prefixes(bodies: &[String]) {
    let bare: Vec<String> = bodies
        .iter()
        .map(|body| body.replace(r#","cache_control":{"type":"ephemeral"}"#, ""))
        .collect();
    assert!(bare.len() > 3);
    for pair in bare.windows(2) {
        let before = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(before), "\n{before}\n{}", pair[1]);
    }
}

#[test]
fn what_was_said_goes_back_byte_for_byte_also_what_is_not_known() {
    let scenario = "name = \"x\"\n[[turn]]\nthinking = \"hm\"\nsay = \"I look.\"\nunknown = true\n[[turn.call]]\n\
                    tool = \"read_config\"\nraw = '{\"which\": \"old\", \"n\": 1.50}'\n";
    let stub = Stub::start(scenario);
    let provider = provider(&stub, "anthropic");
    let mut request = request();
    let reply = provider.turn(&request, &limits(20_000)).unwrap();
    let kinds: Vec<&BlockKind> = reply.blocks.iter().map(|block| &block.kind).collect();
    assert!(
        matches!(
            kinds[..],
            [
                BlockKind::Thinking,
                BlockKind::Other(_),
                BlockKind::Text(_),
                BlockKind::ToolCall { .. }
            ]
        ),
        "{kinds:?}"
    );
    answered(&mut request, &reply);
    let body = String::from_utf8(provider.body(&request)).unwrap();
    for part in [
        r#"{"type":"thinking","thinking":"hm","signature":"c3R1Yg=="}"#,
        r#"{"type":"hologram","payload":{"b":1,"a":2.5}}"#,
        r#""input":{"which": "old", "n": 1.50}}"#,
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    assert!(provider.turn(&request, &limits(20_000)).is_ok());
}

#[test]
fn every_end_of_a_turn_has_its_outcome() {
    for (stop, anthropic, chat) in [
        (
            "max_tokens",
            Some(Outcome::Truncated),
            Some(Outcome::Truncated),
        ),
        ("refusal", Some(Outcome::Refused), Some(Outcome::Refused)),
        ("pause_turn", Some(Outcome::Paused), None),
        (
            "model_context_window_exceeded",
            Some(Outcome::ContextFull),
            None,
        ),
        ("stop_sequence", Some(Outcome::Done), None),
        ("brand_new", Some(Outcome::Done), None),
        ("abort", Some(Outcome::Done), None),
    ] {
        let scenario = format!("name = \"x\"\n[[turn]]\nsay = \"words\"\nstop = \"{stop}\"\n");
        let stub = Stub::start(&scenario);
        for (protocol, wanted) in [("anthropic", anthropic), ("openai-chat", chat)] {
            match (ask(&provider(&stub, protocol)), wanted) {
                (Ok(reply), Some(outcome)) => {
                    assert_eq!(reply.outcome, outcome, "{protocol} {stop}");
                    // The partial text of a refusal is not kept.
                    assert_eq!(
                        reply.blocks.is_empty(),
                        outcome == Outcome::Refused,
                        "{stop}"
                    );
                }
                (Err(failure), None) => {
                    assert_eq!(
                        (failure.class, failure.code.as_str()),
                        (Class::FailStep, "unknown_end")
                    );
                    assert!(failure.maybe_billed);
                }
                (got, _) => panic!("{protocol} {stop}: {got:?}"),
            }
        }
    }
    // A new word together with tool calls: fail visibly rather than guess.
    let call =
        "name = \"x\"\n[[turn]]\nstop = \"brand_new\"\n[[turn.call]]\ntool = \"read_config\"\n";
    let failure = ask(&provider(&Stub::start(call), "anthropic")).unwrap_err();
    assert_eq!(failure.code, "unknown_end");
}

/// Status, `[[turn.fail]]` keys, protocol or both, class, whether it may be billed, a part of code or message.
type Row = (u16, &'static str, &'static str, Class, bool, &'static str);

const ROWS: &[Row] = &[
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"roles must alternate\"",
        "",
        Class::FailStep,
        false,
        "roles must",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"prompt is too long: 9 tokens\"",
        "",
        Class::FailStep,
        false,
        "context_full",
    ),
    (
        400,
        "code = \"context_length_exceeded\"",
        "openai-chat",
        Class::FailStep,
        false,
        "context_full",
    ),
    (
        400,
        "type = \"exceed_context_size_error\"\ncode = 400",
        "openai-chat",
        Class::FailStep,
        false,
        "context_full",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"You have reached your specified API usage limits.\"",
        "anthropic",
        Class::StopBudget,
        false,
        "usage limits",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"You have reached your specified workspace API usage limits.\"",
        "anthropic",
        Class::StopBudget,
        false,
        "usage limits",
    ),
    (
        400,
        "code = \"unsupported_parameter\"\nparam = \"max_tokens\"\nmessage = \"use the other\"",
        "openai-chat",
        Class::StopConfig,
        false,
        "use the other",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"tool_choice is not supported by this model\"",
        "",
        Class::StopConfig,
        false,
        "tool_choice",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nmessage = \"The compiled grammar is too large\"",
        "",
        Class::Retry,
        false,
        "schema_too_large",
    ),
    (
        400,
        "type = \"budget_exceeded\"\nmessage = \"ExceededBudget\"",
        "openai-chat",
        Class::StopBudget,
        false,
        "budget",
    ),
    (
        401,
        "type = \"authentication_error\"",
        "",
        Class::StopConfig,
        false,
        "authentication_error",
    ),
    (
        402,
        "type = \"billing_error\"",
        "",
        Class::StopBudget,
        false,
        "billing_error",
    ),
    (
        402,
        "message = \"credits\"\nheaders = { retry-after = \"30\" }",
        "openai-chat",
        Class::Wait,
        false,
        "credits",
    ),
    (
        403,
        "type = \"permission_error\"",
        "",
        Class::StopConfig,
        false,
        "permission_error",
    ),
    (
        404,
        "type = \"not_found_error\"",
        "",
        Class::StopConfig,
        false,
        "not_found_error",
    ),
    (408, "", "", Class::Retry, true, "408"),
    (
        409,
        "type = \"conflict_error\"",
        "",
        Class::Retry,
        false,
        "conflict",
    ),
    (
        413,
        "body = \"<html>too large</html>\"",
        "",
        Class::FailStep,
        false,
        "request_too_large",
    ),
    (
        422,
        "message = \"unprocessable\"",
        "",
        Class::FailStep,
        false,
        "unprocessable",
    ),
    (
        429,
        "type = \"rate_limit_error\"\nheaders = { retry-after = \"7\" }",
        "",
        Class::Wait,
        false,
        "rate_limit",
    ),
    (
        429,
        "type = \"rate_limit_error\"",
        "",
        Class::Retry,
        false,
        "rate_limit",
    ),
    (
        429,
        "type = \"rate_limit_error\"\ncode = \"enforced_spend_limit_reached\"",
        "anthropic",
        Class::StopBudget,
        false,
        "enforced_spend",
    ),
    (
        429,
        "type = \"rate_limit_error\"\ncode = \"contract_spend_limit_reached\"\nheaders = { retry-after = \"7\" }",
        "anthropic",
        Class::StopBudget,
        false,
        "contract_spend",
    ),
    (
        429,
        "type = \"insufficient_quota\"\ncode = \"credit_balance_exhausted\"",
        "openai-chat",
        Class::StopBudget,
        false,
        "credit_balance",
    ),
    (
        429,
        "type = \"insufficient_quota\"\ncode = \"insufficient_quota\"\nheaders = { x-should-retry = \"true\" }",
        "openai-chat",
        Class::StopBudget,
        false,
        "insufficient",
    ),
    (
        429,
        "type = \"rate_limit_error\"\ncode = \"ramp_limit_exceeded\"",
        "anthropic",
        Class::Retry,
        false,
        "ramp_limit",
    ),
    (
        503,
        "code = \"slow_down\"",
        "openai-chat",
        Class::Retry,
        false,
        "slow_down",
    ),
    (
        400,
        "type = \"invalid_request_error\"\nheaders = { x-should-retry = \"true\" }",
        "",
        Class::Retry,
        false,
        "invalid",
    ),
    (
        429,
        "type = \"rate_limit_error\"\nheaders = { x-should-retry = \"false\" }",
        "",
        Class::FailStep,
        false,
        "not to send it again",
    ),
    (
        500,
        "type = \"api_error\"",
        "",
        Class::Retry,
        true,
        "api_error",
    ),
    (
        502,
        "body = \"<html><h1>Bad gateway</h1></html>\"",
        "",
        Class::Retry,
        true,
        "Bad gateway",
    ),
    (
        503,
        "body = \"busy\"\nheaders = { retry-after = \"3\" }",
        "",
        Class::Wait,
        false,
        "busy",
    ),
    (
        503,
        "type = \"unavailable_error\"\nmessage = \"Loading model\"\ncode = 503",
        "openai-chat",
        Class::Wait,
        false,
        "loading",
    ),
    (
        504,
        "type = \"timeout_error\"",
        "",
        Class::Retry,
        true,
        "timeout",
    ),
    (
        529,
        "type = \"overloaded_error\"",
        "",
        Class::Retry,
        false,
        "overloaded",
    ),
    (
        302,
        "headers = { location = \"http://127.0.0.1:1/\" }\nbody = \"\"",
        "",
        Class::StopConfig,
        false,
        "redirect",
    ),
    (
        200,
        "body = \"<html>Sign in</html>\"",
        "",
        Class::Retry,
        false,
        "not_an_api",
    ),
    (
        200,
        "body = '{\"error\":{\"code\":402,\"message\":\"no credits\"}}'\nheaders = {}",
        "openai-chat",
        Class::StopBudget,
        true,
        "no credits",
    ),
    (
        200,
        "body = '{\"error\":{\"code\":502,\"message\":\"upstream\"}}'",
        "openai-chat",
        Class::Retry,
        true,
        "upstream",
    ),
    (
        200,
        "body = '{\"choices\":[]}'",
        "openai-chat",
        Class::Retry,
        true,
        "broken_answer",
    ),
    (0, "close = true", "", Class::Retry, true, "lost_request"),
];

#[test]
fn every_answer_that_is_no_success_says_what_it_allows() {
    for (status, keys, only, class, billed, part) in ROWS {
        let scenario = format!(
            "name = \"x\"\n[[turn]]\nsay = \"ok\"\n[[turn.fail]]\nstatus = {status}\n{keys}\n"
        );
        for protocol in BOTH
            .into_iter()
            .filter(|one| only.is_empty() || one == only)
        {
            let stub = Stub::start(&scenario);
            let provider = provider(&stub, protocol);
            let failure = ask(&provider).unwrap_err();
            let what = format!("{protocol} {status} {keys}: {failure:?}");
            assert_eq!(failure.class, *class, "{what}");
            assert_eq!(failure.maybe_billed, *billed, "{what}");
            assert!(
                failure.code.contains(part) || failure.message.contains(part),
                "{what}"
            );
            assert_eq!(
                failure.not_before.is_some(),
                *class == Class::Wait,
                "{what}"
            );
            if *class != Class::Wait && *class != Class::Retry {
                assert_eq!(failure.most_retries, 0, "{what}");
            }
            if *status != 0 {
                assert_eq!(failure.status, Some(*status), "{what}");
            }
            // One attempt, whatever happened.
            assert_eq!(stub.turns().len().max(1), 1, "{what}");
            assert_eq!(stub.accounting().turns, 0, "{what}");
        }
    }
}

#[test]
fn waits_count_from_the_answer_and_slow_servers_are_spared() {
    let fail = |keys: &str| format!("name = \"x\"\n[[turn]]\n[[turn.fail]]\n{keys}\n");
    let stub = Stub::start(&fail("status = 429\nheaders = { retry-after = \"7\" }"));
    let failure = ask(&provider(&stub, "anthropic")).unwrap_err();
    let wait = failure.not_before.unwrap().since(NOW);
    assert!((7_000..12_000).contains(&wait), "{wait}");
    let stub = Stub::start(&fail("status = 429\ncode = \"ramp_limit_exceeded\""));
    assert!(ask(&provider(&stub, "anthropic")).unwrap_err().slow_down);
    let stub = Stub::start(&fail("status = 529"));
    assert!(ask(&provider(&stub, "anthropic")).unwrap_err().fallback);
    let stub = Stub::start(&fail("status = 404"));
    assert!(ask(&provider(&stub, "anthropic")).unwrap_err().fallback);
}

#[test]
fn errors_inside_a_stream_go_by_their_own_word_and_keep_what_was_counted() {
    for (kind, class) in [
        ("overloaded_error", Class::Retry),
        ("api_error", Class::Retry),
        ("timeout_error", Class::Retry),
        ("rate_limit_error", Class::Retry),
        ("invalid_request_error", Class::FailStep),
        ("billing_error", Class::StopBudget),
    ] {
        let scenario = format!(
            "name = \"x\"\n[[turn]]\nsay = \"some words\"\nerror_after = 3\nerror = {{ type = \"{kind}\", message = \"m\" }}\n"
        );
        for protocol in BOTH {
            let stub = Stub::start(&scenario);
            let failure = ask(&provider(&stub, protocol)).unwrap_err();
            assert_eq!(failure.class, class, "{protocol} {kind}: {failure:?}");
            assert_eq!((failure.status, failure.maybe_billed), (Some(200), true));
            if protocol == "anthropic" {
                let counted = failure.usage.unwrap();
                assert!(counted.input() > 500 && counted.output >= 1, "{counted:?}");
                // The output side is no fact.
                assert_eq!(counted.source, UsageSource::Estimated);
            }
        }
    }
}

#[test]
fn half_an_answer_is_no_answer_wherever_it_is_cut() {
    for cut in ["clean", "chunked"] {
        for protocol in BOTH {
            let mut whole = 0;
            for after in 0..9 {
                let scenario = format!(
                    "name = \"x\"\n[[turn]]\nsay = \"some words\"\ncut_after = {after}\ncut = \"{cut}\"\n"
                );
                let stub = Stub::start(&scenario);
                match ask(&provider(&stub, protocol)) {
                    Ok(reply) => {
                        // Only what follows the terminal event was cut.
                        assert_eq!(reply.text(), "some words");
                        whole += 1;
                    }
                    Err(failure) => {
                        assert_eq!(
                            failure.code, "cut_stream",
                            "{protocol} {cut} {after}: {failure:?}"
                        );
                        assert_eq!((failure.class, failure.maybe_billed), (Class::Retry, true));
                    }
                }
            }
            assert!((1..=5).contains(&whole), "{protocol} {cut}: {whole}");
        }
    }
}

#[test]
fn a_stream_that_falls_silent_drips_or_is_called_off_ends_in_time() {
    let loris = "name = \"x\"\n[[turn]]\nsay = \"slowly\"\npings = 500\npace_ms = 20\n";
    for protocol in BOTH {
        let stub = Stub::start(loris);
        let provider = provider(&stub, protocol);
        let began = Instant::now();
        let failure = provider.turn(&request(), &limits(200)).unwrap_err();
        assert_eq!(
            (failure.class, failure.code.as_str()),
            (Class::FailStep, "deadline"),
            "{failure:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(10));
        let limits = limits(60_000);
        let cancel = limits.cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            cancel.cancel();
        });
        let began = Instant::now();
        let failure = provider.turn(&request(), &limits).unwrap_err();
        assert_eq!(
            (failure.code.as_str(), failure.maybe_billed),
            ("cancelled", true)
        );
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    // Silence is told from dripping: pings keep a stream alive, nothing does not. The dripping ones above were
    // not silent for as long as this one.
    let silent = "name = \"x\"\n[[turn]]\nsay = \"late\"\npace_ms = 2000\n";
    let stub = Stub::start(silent);
    let mut settings = settings(&stub, "anthropic", "auth = \"none\"\n");
    settings.idle_ms = 150;
    let failure = ask(&HttpProvider::new(settings, Path::new("/")).unwrap()).unwrap_err();
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (Class::Retry, "silent_stream")
    );
}

/// A server that takes the connection and says nothing: once more, then another model.
#[test]
fn a_server_that_never_answers_is_left_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stub = Stub::named("good-repair");
    let mut settings = settings(&stub, "anthropic", "auth = \"none\"\n");
    settings.base_url = format!("http://{}", silent.local_addr().unwrap());
    settings.first_byte_ms = 150;
    let failure = ask(&HttpProvider::new(settings, Path::new("/")).unwrap()).unwrap_err();
    assert_eq!(
        (failure.class, failure.code.as_str(), failure.most_retries),
        (Class::Retry, "first_byte", 1),
        "{failure:?}"
    );
    assert!(failure.fallback && failure.maybe_billed);
}

#[test]
fn no_connection_is_surely_not_billed() {
    let text = "[provider.p]\nprotocol = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\nauth = \"none\"\n";
    let settings = parse_providers(text).unwrap().remove("p").unwrap();
    let provider = HttpProvider::new(settings, Path::new("/")).unwrap();
    let failure = ask(&provider).unwrap_err();
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (Class::Retry, "connect"),
        "{failure:?}"
    );
    assert!(!failure.maybe_billed && failure.fallback);
}

#[test]
fn the_key_is_sent_as_configured_and_never_told() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key"), "sesame-open-1234\n").unwrap();
    let scenario = "name = \"x\"\nkey = \"sesame-open-1234\"\n[[turn]]\nsay = \"ok\"\n";
    let wrong = scenario.replace("1234", "5678");
    for (protocol, auth, header, value) in [
        (
            "anthropic",
            "bearer",
            "authorization",
            "Bearer sesame-open-1234",
        ),
        ("anthropic", "x-api-key", "x-api-key", "sesame-open-1234"),
        (
            "openai-chat",
            "bearer",
            "authorization",
            "Bearer sesame-open-1234",
        ),
    ] {
        let path = dir.path().join("key");
        let more = format!(
            "auth = \"{auth}\"\napi_key = {{ file = \"{}\" }}\n",
            path.display()
        );
        let stub = Stub::start(scenario);
        let asked = provider_with(&stub, protocol, &more);
        assert!(ask(&asked).is_ok());
        let seen = &stub.turns()[0];
        assert_eq!(seen.headers[header], value);
        assert_eq!(
            seen.headers.contains_key("anthropic-version"),
            protocol == "anthropic"
        );
        // The stub repeats the key in its refusal, as some gateways do.
        let stub = Stub::start(&wrong);
        let failure = ask(&provider_with(&stub, protocol, &more)).unwrap_err();
        assert_eq!(failure.class, Class::StopConfig);
        let told = format!("{failure:?}{failure}");
        assert!(
            told.contains("[secret]") && !told.contains("sesame"),
            "{told}"
        );
        assert!(stub.turns().is_empty() || stub.turns()[0].status == 401);
    }
}

#[test]
fn a_key_that_was_renewed_where_it_is_kept_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, "the-old-token").unwrap();
    let stub = Stub::start("name = \"x\"\nkey = \"the-new-token\"\n[[turn]]\nsay = \"ok\"\n");
    let more = format!("api_key = {{ file = \"{}\" }}\n", path.display());
    let provider = provider_with(&stub, "anthropic", &more);
    assert_eq!(ask(&provider).unwrap_err().class, Class::StopConfig);
    std::fs::write(&path, "the-new-token").unwrap();
    let failure = ask(&provider).unwrap_err();
    assert_eq!((failure.class, failure.most_retries), (Class::Retry, 1));
    assert!(ask(&provider).is_ok());
}

#[test]
fn schemas_that_are_too_large_together_are_sent_without_strict_from_then_on() {
    let stub = Stub::start(
        "name = \"x\"\n[[turn]]\nsay = \"ok\"\n[[turn.fail]]\nstatus = 400\ntype = \"invalid_request_error\"\n\
         message = \"The compiled grammar is too large\"\n",
    );
    let provider = provider(&stub, "openai-chat");
    assert!(
        String::from_utf8(provider.body(&request()))
            .unwrap()
            .contains("\"strict\":true")
    );
    let failure = ask(&provider).unwrap_err();
    assert_eq!((failure.class, failure.most_retries), (Class::Retry, 1));
    let body = String::from_utf8(provider.body(&request())).unwrap();
    assert!(!body.contains("strict"), "{body}");
}

#[test]
fn counts_that_are_missing_or_impossible_are_not_taken_for_facts() {
    let stub = Stub::start("name = \"x\"\n[[turn]]\nsay = \"ok\"\nno_usage = true\n");
    let reply = ask(&provider(&stub, "openai-chat")).unwrap();
    assert_eq!(reply.usage.source, UsageSource::Estimated);
    assert!(reply.usage.uncached > 1_000, "{:?}", reply.usage);
    // A server that cut the prompt answered something else than what was asked.
    let stub = Stub::start("name = \"x\"\n[[turn]]\nsay = \"ok\"\ncounted = 40\n");
    let mut long = request();
    long.system[0].text = "Rules that never change. ".repeat(2_000);
    let failure = provider(&stub, "openai-chat")
        .turn(&long, &limits(20_000))
        .unwrap_err();
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (Class::StopConfig, "cut_prompt")
    );
    // Priced by the model that answered.
    let stub =
        Stub::start("name = \"x\"\n[[turn]]\nsay = \"ok\"\nanswers_as = \"stub-1-20261101\"\n");
    assert_eq!(
        ask(&provider(&stub, "anthropic")).unwrap().model,
        "stub-1-20261101"
    );
}

#[test]
fn a_field_that_is_missing_is_a_typed_failure_and_never_a_panic() {
    const DROPS: &[(&str, &str)] = &[
        ("anthropic", "message_start/type"),
        ("anthropic", "message_start/message"),
        ("anthropic", "message_start/message/id"),
        ("anthropic", "message_start/message/type"),
        ("anthropic", "message_start/message/role"),
        ("anthropic", "message_start/message/model"),
        ("anthropic", "message_start/message/content"),
        ("anthropic", "message_start/message/usage"),
        ("anthropic", "message_start/message/usage/input_tokens"),
        ("anthropic", "message_start/message/usage/output_tokens"),
        ("anthropic", "content_block_start/index"),
        ("anthropic", "content_block_start/content_block"),
        ("anthropic", "content_block_start/content_block/type"),
        ("anthropic", "content_block_delta/index"),
        ("anthropic", "content_block_delta/delta"),
        ("anthropic", "content_block_delta/delta/type"),
        ("anthropic", "content_block_delta/delta/text"),
        ("anthropic", "content_block_delta/delta/partial_json"),
        ("anthropic", "content_block_stop/index"),
        ("anthropic", "message_delta/delta"),
        ("anthropic", "message_delta/delta/stop_reason"),
        ("anthropic", "message_delta/usage"),
        ("anthropic", "message_delta/usage/output_tokens"),
        ("anthropic", "message_stop/type"),
        ("openai-chat", "chunk/choices"),
        ("openai-chat", "chunk/choices/0/delta"),
        ("openai-chat", "chunk/choices/0/delta/tool_calls/0/function"),
        (
            "openai-chat",
            "chunk/choices/0/delta/tool_calls/0/function/name",
        ),
    ];
    let scenario = "name = \"x\"\n[[turn]]\nsay = \"I look.\"\n[[turn.call]]\ntool = \"read_config\"\n\
                    input = { which = \"old\" }\n";
    for (protocol, spec) in DROPS {
        let stub = Stub::start(&format!("drop = \"{spec}\"\n{scenario}"));
        let failure = ask(&provider(&stub, protocol)).expect_err(spec);
        assert!(
            ["broken_answer", "cut_stream"].contains(&failure.code.as_str())
                && failure.maybe_billed,
            "{spec}: {failure:?}"
        );
    }
}

#[test]
fn every_scenario_is_one_that_the_stub_can_play() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let parsed = scenario::Scenario::parse(&scenario::text(name)).unwrap();
        assert_eq!(parsed.name, name);
        assert!(
            !parsed.turns.is_empty() && !parsed.about.is_empty(),
            "{name}"
        );
        count += 1;
    }
    assert!(count >= 19, "{count}");
}

#[test]
fn models_are_listed_for_free_and_a_wrong_key_is_told() {
    let stub = Stub::named("good-repair");
    for protocol in BOTH {
        let models = provider(&stub, protocol).models(&limits(20_000)).unwrap();
        assert_eq!(models[0].id, "stub-1");
        assert_eq!(models[0].max_input_tokens, Some(200_000));
    }
    assert_eq!(stub.accounting().turns, 0);
    let stub = Stub::start("name = \"x\"\nkey = \"another\"\n");
    let failure = provider(&stub, "anthropic")
        .models(&limits(20_000))
        .unwrap_err();
    assert_eq!(
        (failure.class, failure.status),
        (Class::StopConfig, Some(401))
    );
}

#[test]
fn requests_are_what_the_official_sdks_send_for_the_same_conversation() {
    let scenario = "name = \"x\"\n[[turn]]\nsay = \"I look.\"\n[[turn.call]]\ntool = \"read_config\"\n\
                    input = { which = \"old\" }\n";
    for (protocol, file) in [
        ("anthropic", "anthropic.json"),
        ("openai-chat", "openai.json"),
    ] {
        let stub = Stub::start(scenario);
        let provider = provider(&stub, protocol);
        let mut request = request();
        request.effort = Some("low".to_owned());
        request.system[0].text = "Rules.".to_owned();
        request.messages = vec![Message::User(vec![UserPart::Text {
            text: "Go.".to_owned(),
            cache: None,
        }])];
        let mut reply = provider.turn(&request, &limits(20_000)).unwrap();
        // The id is the stub's; the recording has its own.
        let mut told = serde_json::to_string(&reply.blocks).unwrap();
        let id = reply.calls().next().unwrap().0.to_owned();
        told = told.replace(&id, "t1");
        reply.blocks = serde_json::from_str(&told).unwrap();
        request.messages.push(Message::Assistant(reply.blocks));
        request
            .messages
            .push(Message::User(vec![UserPart::ToolResult {
                call: "t1".to_owned(),
                text: "no such text".to_owned(),
                failed: true,
                cache: Some(CacheMark::FiveMinutes),
            }]));
        let sent: serde_json::Value = serde_json::from_slice(&provider.body(&request)).unwrap();
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/stub_sdk")
            .join(file);
        let recorded: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(sent, recorded, "{protocol}");
    }
}
