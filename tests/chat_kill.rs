//! A real process is killed in the middle of a model's turn.

use crate::stub_provider::Stub;
use crate::support::{Running, call, dogwatch, look};
use dogwatch::world::practice::goal::goal_text;
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant};

/// The practice goal with a chat worker alone, whose provider is the stub.
fn goal(stub: &Stub) -> String {
    let text = goal_text(1, 12);
    let (before, rest) = text.split_once("[[strategy]]").unwrap();
    let (_, world) = rest.split_once("[world.practice]").unwrap();
    format!(
        "{before}[[strategy]]\nid = \"repair\"\nworker = \"chat\"\nprovider = \"stub\"\nmodel = \"stub-1\"\n\n\
         [provider.stub]\nprotocol = \"anthropic\"\nbase_url = \"{}\"\nauth = \"none\"\n\n[provider.stub.price.stub-1]\ninput = 1\noutput = 5\n\n[world.practice]{world}",
        stub.base_url()
    )
}

#[track_caller]
fn until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn number(ledger: &Connection, sql: &str) -> i64 {
    ledger
        .query_row(sql, [], |row| row.get::<_, Option<i64>>(0))
        .unwrap()
        .unwrap_or(0)
}

fn engine(folder: &Path, ledger: &Path) -> Running {
    Running::start(
        dogwatch(ledger)
            .args(["run", "goal.toml", "--headless", "--yes", "--speed", "max"])
            .current_dir(folder),
    )
}

#[test]
fn a_kill_in_the_middle_of_a_turn_loses_one_call_and_not_its_price() {
    // Its second answer drips for longer than this test takes.
    let stub = Stub::named("slow-loris");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    std::fs::write(folder.path().join("goal.toml"), goal(&stub)).unwrap();

    let first = engine(folder.path(), &path);
    until("no turn is under way", || {
        path.exists() && {
            let ledger = look(&path);
            let begun = "select count(*) from sqlite_master where name = 'turns'";
            number(&ledger, begun) == 1
                && number(
                    &ledger,
                    "select count(*) from turns where outcome = 'open' and turn = 2",
                ) > 0
        }
    });
    until("the stub was not asked", || stub.turns().len() >= 2);
    drop(first);

    let ledger = look(&path);
    let open = number(&ledger, "select count(*) from turns where outcome = 'open'");
    let reserved = number(
        &ledger,
        "select sum(tokens) from turns where outcome = 'open'",
    );
    assert!(open >= 1 && reserved > 4_096, "{open} {reserved}");
    let counted = "select sum(uncached + cache_write + coalesce(cache_read, 0) + output) from turns \
                   where source = 'reported'";
    let before = number(&ledger, counted);

    let second = engine(folder.path(), &path);
    until("the lost turns are not told", || {
        number(
            &look(&path),
            "select count(*) from events where kind = 'turn.unknown'",
        ) == open
    });
    drop(second);
    let ledger = look(&path);
    // What was lost counts as all that was set aside for it, in the turns and in the budget.
    assert_eq!(
        number(
            &ledger,
            "select sum(tokens) from turns where outcome = 'unknown'"
        ),
        reserved
    );
    let settled = number(
        &ledger,
        "select sum(body -> 'spent' ->> 'tokens') from events where kind = 'budget.settled'",
    );
    assert!(
        settled >= before + reserved,
        "{settled}, {before} + {reserved}"
    );
    call(&path, &["verify"]).expect_code(0);
}
