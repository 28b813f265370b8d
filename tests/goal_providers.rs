//! `[provider.NAME]` as an owner meets it: defaults, prices, and what is refused with its place.

use dogwatch::contract::parse::parse_providers;
use dogwatch::contract::{
    AuthStyle, GoalError, Price, Protocol, ProviderSettings, ProxyRule, parse_goal,
};
use std::collections::BTreeMap;
use std::path::Path;

fn parse(text: &str) -> Result<BTreeMap<String, ProviderSettings>, GoalError> {
    parse_providers(text)
}

#[test]
fn two_well_known_names_need_only_a_key() {
    let found = parse(
        "theme = \"dark\"\n[provider.anthropic]\napi_key = { env = \"A\" }\n[provider.openai]\napi_key = { file = \"k\" }\n",
    )
    .unwrap();
    let anthropic = &found["anthropic"];
    assert_eq!(anthropic.protocol, Protocol::Anthropic);
    assert_eq!(anthropic.base_url, "https://api.anthropic.com");
    assert_eq!(anthropic.version, "2026-10-21");
    assert_eq!(
        (anthropic.auth, &anthropic.proxy),
        (AuthStyle::Bearer, &ProxyRule::System)
    );
    assert_eq!(anthropic.api_key.as_ref().unwrap()["env"], "A");
    let openai = &found["openai"];
    assert_eq!(openai.protocol, Protocol::OpenaiChat);
    assert_eq!(openai.output_field, "max_completion_tokens");
}

#[test]
fn a_local_server_says_how_it_differs() {
    let found = parse(
        "[provider.local]\nprotocol = \"openai-chat\"\nbase_url = \"http://127.0.0.1:8080/v1/\"\nauth = \"none\"\n\
         output_field = \"max_tokens\"\nstrict_tools = false\ntool_choice = false\ntemperature = 0\n\
         idle_timeout = \"10m\"\nproxy = \"none\"\n",
    )
    .unwrap();
    let local = &found["local"];
    assert_eq!(local.base_url, "http://127.0.0.1:8080/v1");
    assert_eq!(
        (local.auth, &local.proxy),
        (AuthStyle::None, &ProxyRule::Direct)
    );
    assert!(!local.strict_tools && !local.tool_choice && local.stream_options);
    assert_eq!((local.temperature, local.idle_ms), (Some(0.0), 600_000));
}

#[test]
fn prices_are_exact_and_patterns_give_way_to_names() {
    let found = parse(
        "[provider.anthropic.price.\"claude-*\"]\ninput = 3\noutput = 15.0\ncache_read = 0.15\n\
         [provider.anthropic.price.claude-small]\ninput = 0.8\noutput = 4\ncache_write = 1\ncache_write_1h = 1.6\n",
    )
    .unwrap();
    let price = |model: &str| found["anthropic"].price(model);
    assert_eq!(
        price("claude-large-20260901"),
        Some(Price {
            input: 3_000_000,
            output: 15_000_000,
            cache_read: 150_000,
            cache_write: 3_750_000,
            cache_write_1h: 6_000_000,
        })
    );
    assert_eq!(price("claude-small").unwrap().input, 800_000);
    assert_eq!(price("claude-small").unwrap().cache_read, 800_000);
    assert_eq!(price("other"), None);
}

#[test]
fn every_slip_is_named_with_its_line() {
    const LOCAL: &str = "[provider.x]\nprotocol = \"openai-chat\"\nbase_url = \"http://h/v1\"\n";
    for (text, line, part) in [
        (
            "[provider.x]\nbase_url = \"http://h\"\n".to_owned(),
            1,
            "has no `protocol`",
        ),
        (
            "[provider.x]\nprotocol = \"openai-chat\"\n".to_owned(),
            1,
            "has no `base_url`",
        ),
        (
            "[provider.anthropic]\nprotocol = \"antropic\"\n".to_owned(),
            2,
            "unknown protocol",
        ),
        (
            "[provider.anthropic]\napi_key = \"sk-1\"\n".to_owned(),
            2,
            "secret in plain text",
        ),
        (
            "[provider.anthropic]\ntemperature = 0.5\n".to_owned(),
            2,
            "refused by Anthropic",
        ),
        (
            "[provider.practice]\nprotocol = \"anthropic\"\nbase_url = \"http://h\"\n".to_owned(),
            1,
            "practice world",
        ),
        (
            format!("{LOCAL}base_ur = \"x\"\n"),
            4,
            "unknown key `base_ur`",
        ),
        (format!("{LOCAL}auth = \"basic\"\n"), 4, "`auth`"),
        (
            format!("{LOCAL}auth = \"none\"\napi_key = {{ env = \"K\" }}\n"),
            5,
            "beside auth",
        ),
        (
            format!("{LOCAL}proxy = \"socks\"\n"),
            4,
            "not a http or https address",
        ),
        (
            format!("{LOCAL}proxy = \"http://me:pw@h\"\n"),
            4,
            "a name or a password",
        ),
        (format!("{LOCAL}temperature = 3\n"), 4, "expected 0 to 2"),
        (format!("{LOCAL}idle_timeout = \"0s\"\n"), 4, "too short"),
        (
            format!("{LOCAL}[provider.x.price.m]\ninput = 1\n"),
            4,
            "has no `output`",
        ),
        (
            format!("{LOCAL}[provider.x.price.m]\ninput = -1\noutput = 1\n"),
            5,
            "from 0 to",
        ),
        (
            format!("{LOCAL}[provider.x.price.m]\ninput = 0.0000001\noutput = 1\n"),
            5,
            "finer than",
        ),
        (
            "[provider.x]\nprotocol = \"openai-chat\"\nbase_url = \"ftp://h\"\n".to_owned(),
            3,
            "not a http",
        ),
        ("provider = 1\n".to_owned(), 1, "expected a table"),
        ("[provider.x\n".to_owned(), 1, ""),
    ] {
        let problems = parse(&text).unwrap_err().problems;
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert_eq!(problems[0].line, line, "{text}: {problems:?}");
        assert!(problems[0].message.contains(part), "{text}: {problems:?}");
    }
}

#[test]
fn a_wall_of_money_wants_a_price_for_every_model_that_is_named() {
    let goal = |price: &str| {
        let text = format!(
            "[goal]\nid = \"g\"\nobjective = \"o\"\nowner = \"me\"\n[[accept]]\nid = \"rows\"\ncheck = \"row_count\"\n\
             [budget.money]\nlimit = 5\n[[strategy]]\nid = \"s\"\nworker = \"chat\"\nprovider = \"anthropic\"\n\
             model = \"m\"\n[provider.anthropic]\napi_key = {{ env = \"K\" }}\n{price}"
        );
        parse_goal(&text, Path::new("/"), None)
    };
    let problems = goal("").unwrap_err().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("no price for the model \"m\""));
    let priced = goal("[provider.anthropic.price.m]\ninput = 1\noutput = 2\n").unwrap();
    assert_eq!(
        priced.providers["anthropic"].price("m").unwrap().output,
        2_000_000
    );
    // Neither strategies nor providers are contract.
    let other = goal("[provider.anthropic.price.m]\ninput = 9\noutput = 9\n").unwrap();
    assert_eq!(priced.contract.digest, other.contract.digest);
}
