use super::*;
use crate::contract::parse_goal;
use crate::engine::forecast::{ApprovalOutlook, BudgetOutlook, Spread};
use crate::model::{Budget, safe_text::is_hidden};

fn outlook() -> Outlook {
    let spread = Spread {
        p10: 1.0,
        p50: 2.0,
        p90: 3.0,
    };
    Outlook {
        at: TimeMs(0),
        jobs_open: 2,
        jobs_measured: 9,
        measured: true,
        trials: 400,
        seed: 1,
        deadline: None,
        budgets: vec![BudgetOutlook {
            budget: Budget::Tokens,
            per_day: false,
            limit: 1_000_000,
            spent: 810_000,
            reserved: 0,
            need: Some(Spread {
                p10: 200_000.0,
                p50: 300_000.0,
                p90: 430_000.0,
            }),
            left: Some(190_000),
            fits: Some(0.1),
            short: 110_000.0,
            handoff_at: None,
            wall_at: None,
        }],
        approvals: ApprovalOutlook {
            requests: 2,
            need_minutes: spread,
            left_minutes: None,
            fits: None,
        },
        finish: None,
        finish_fits: None,
    }
}

fn package() -> Package {
    Package {
        schema: SCHEMA.to_owned(),
        goal: "g".into(),
        objective: "Move\u{1b}[2J everything | now".to_owned(),
        owner: Account("ann".to_owned()),
        contract_version: ContractVersion(1),
        why: "tokens: 80 % of 1,000,000 tokens is used".to_owned(),
        at: TimeMs(1_711_954_800_000),
        entry: Seq(7),
        deadline: None,
        zone: "Europe/Berlin".to_owned(),
        jobs: JobCounts {
            total: 4,
            cut_over: 1,
            handed_over: 1,
            cancelled: 0,
            open: 2,
        },
        done: Cut::default(),
        handed_over: Cut::default(),
        cancelled: Cut::default(),
        in_progress: Cut::default(),
        not_started: Cut::default(),
        to_verify: Cut::default(),
        approvals: Cut::default(),
        staging: Cut::default(),
        budgets: Vec::new(),
        forecast: outlook(),
        decision: Vec::new(),
    }
}

fn contract() -> crate::contract::Contract {
    let text = "[goal]\nid = \"g\"\nobjective = \"o\"\nowner = \"ann\"\nzone = \"UTC\"\n\
                [[accept]]\nid = \"rows\"\ncheck = \"row_count\"\n[budget.tokens]\nlimit = 1000000\n";
    parse_goal(text, std::path::Path::new("/"), None)
        .unwrap()
        .contract
}

#[test]
fn what_is_asked_of_the_owner_has_a_number_and_a_command() {
    let choices = decision::choices(&contract(), &package());
    let more = choices
        .iter()
        .find(|one| one.kind == "more_budget")
        .unwrap();
    // 810,000 spent and 430,000 to come are 80 % of 1,550,000; two digits round it up.
    assert_eq!(
        more.command.as_deref(),
        Some("dogwatch budget raise tokens \"1600000\" --why \"…\"")
    );
    assert!(more.what.contains("430,000 tokens more"), "{}", more.what);
    assert!(choices.iter().any(|one| one.kind == "less_scope"));
}

#[test]
fn words_from_outside_do_nothing_on_a_screen_or_in_a_reader() {
    let mut own = package();
    let nasty = "[x](http://evil) `rm` <b> | a_b _c_ \u{202e}\u{1b}]0;t\u{7}\nnext # line";
    own.handed_over.push(Given {
        job: nasty.into(),
        title: nasty.to_owned(),
        origin: nasty.to_owned(),
        reason: nasty.to_owned(),
        tried: vec![Tried {
            attempt: 1,
            strategy: "script".to_owned(),
            outcome: "failed".to_owned(),
            reason: nasty.to_owned(),
        }],
        evidence: vec![Word {
            clause: "rows".to_owned(),
            verdict: "fail".to_owned(),
            summary: nasty.to_owned(),
        }],
    });
    let text = markdown(&own);
    assert!(
        text.chars()
            .all(|c| c == '\n' || (!c.is_control() && !is_hidden(c))),
        "{text:?}"
    );
    // What stands as code is read as it stands; outside of it nothing is a link or a tag.
    let unescaped = text.replace("\\`", "").replace("\\]", "");
    let outside: String = unescaped.split('`').step_by(2).collect();
    assert!(
        !outside.contains("](http") && !outside.contains(" <b>"),
        "{outside}"
    );
    assert!(
        text.contains("\\[x\\](http") && text.contains("a_b \\_c\\_"),
        "{text}"
    );
    assert!(!text.lines().any(|line| line.starts_with("next")), "{text}");
}

#[test]
fn a_long_list_is_cut_and_says_by_how_much() {
    let mut own = package();
    for index in 0..MOST_ROWS + 50 {
        own.not_started.push(Named {
            job: format!("job{index}").as_str().into(),
            title: "t".repeat(5_000),
        });
    }
    assert_eq!(
        (own.not_started.rows.len(), own.not_started.more()),
        (MOST_ROWS, 50)
    );
    let text = markdown(&own);
    assert!(text.contains("## Not started (1050)"), "{text}");
    assert!(text.contains("… and 990 more: see `handoff.json`."));
    assert_eq!(short(&"x".repeat(5_000)).chars().count(), MOST_CHARS + 1);
}

#[test]
fn it_reads_from_the_top_for_someone_who_knows_nothing() {
    let text = markdown(&package());
    for part in [
        "# Handoff: g",
        "Written Mon 2024-04-01 09:00 CEST because tokens: 80 % of 1,000,000 tokens is used.",
        "| handed over to people | 1 |",
        "*Done* is a checker's word",
        "- tokens: 200,000 tokens to 430,000 tokens are needed, 190,000 tokens are left: about 110,000 tokens short",
    ] {
        assert!(text.contains(part), "{part}\n---\n{text}");
    }
}
