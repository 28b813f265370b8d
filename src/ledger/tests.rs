//! The ledger as its users meet it: append, read, verify, damage.

use super::*;
use crate::model::{
    Account, Action, AttemptNo, ClauseId, ContractVersion, DecisionId, Digest, GoalId, JobId,
    JobState, OperationId, OperationState, TimeMs, Verdict, digest_bytes,
};
use read::JobQuery;
use std::path::PathBuf;

const GOAL: &str = "etl";

fn entry(at: i64, job: Option<&str>, event: Event) -> Entry {
    Entry {
        at: TimeMs(at),
        goal: GOAL.into(),
        job: job.map(JobId::from),
        attempt: job.map(|_| AttemptNo(1)),
        actor: Actor::Engine,
        event,
    }
}

fn adopted() -> Event {
    Event::GoalAdopted {
        version: ContractVersion(1),
        contract_digest: digest_bytes(b"contract"),
        text: digest_bytes(b"text"),
        base_dir: "/".into(),
        overrides: vec![],
        me: Account("me".into()),
        objective: "Move everything.".into(),
        owner: Account("me".into()),
        deadline: None,
        answers: vec![],
    }
}

fn added(position: u64) -> Event {
    Event::JobAdded {
        position,
        title: format!("Job {position}"),
        tags: vec![],
        depends_on: vec![],
        origin: "crontab:1".into(),
        definition: digest_bytes(b"old"),
        output: None,
        hold: None,
        high_risk: false,
        clauses: vec![ClauseId::from("rows")],
    }
}

fn sample(path: &std::path::Path) -> Ledger {
    let mut ledger = Ledger::open_for_engine(path).unwrap();
    let config = digest_bytes(b"new");
    let op = OperationId::from("00112233445566aa");
    let mut batch = Batch::default();
    batch.blob(b"text");
    batch.blob(b"new");
    batch.entries = vec![
        entry(1, None, adopted()),
        entry(2, Some("a"), added(0)),
        entry(2, Some("b"), added(1)),
        entry(
            3,
            Some("a"),
            Event::AttemptStarted {
                strategy: "script".into(),
                strategy_index: 0,
                words: None,
                plan: 0,
            },
        ),
        entry(
            4,
            Some("a"),
            Event::ConfigProposed {
                config: config.clone(),
                remark: "done!".into(),
                changes: Vec::new(),
            },
        ),
        entry(
            5,
            Some("a"),
            Event::OpIntended {
                operation: op.clone(),
                action: Action::Stage,
                config: config.clone(),
                ordinal: 1,
                upstream: serde_json::json!([]),
                approval: None,
                day: String::new(),
            },
        ),
        entry(
            6,
            Some("a"),
            Event::OpApplied {
                operation: op.clone(),
                reference: "run-1".into(),
                observed: String::new(),
                how: "reply".into(),
            },
        ),
        entry(
            7,
            Some("a"),
            Event::CheckStarted {
                clause: "rows".into(),
                reserved: 2,
                day: "2024-04-01".into(),
            },
        ),
        entry(
            8,
            Some("a"),
            Event::EvidenceRecorded {
                clause: "rows".into(),
                clause_digest: digest_bytes(b"clause"),
                config,
                lineage: digest_bytes(b"lineage"),
                checker: digest_bytes(b"checker"),
                operation: op,
                by: Default::default(),
                verdict: Verdict::Pass,
                summary: "2 rows and 2 rows".into(),
                detail: digest_bytes(b"new"),
                spent: 2,
                reserved: 2,
                day: "2024-04-01".into(),
            },
        ),
    ];
    ledger.append(&batch).unwrap();
    ledger
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    (dir, path)
}

#[test]
fn what_was_appended_is_read_back_and_verifies() {
    let (_dir, path) = place();
    let ledger = sample(&path);
    let reader = Reader::open(&path).unwrap();
    let view = reader.view();
    let goal = GoalId::from(GOAL);
    let ids = view.job_ids(&goal, &JobQuery::default()).unwrap();
    assert_eq!(ids, vec![JobId::from("a"), JobId::from("b")]);
    let rows = view.job_rows(&goal, &ids).unwrap();
    assert_eq!(
        (rows[0].tries, rows[0].clauses_passed, rows[0].clauses_total),
        (1, 1, 1)
    );
    assert_eq!(rows[1].state, JobState::Pending);
    let operations = view.operations(&goal, &ids[0]).unwrap();
    assert_eq!(operations[0].state, OperationState::Applied);
    let days = view.budget_days(&goal).unwrap();
    assert_eq!((days[0].reserved, days[0].spent), (0, 2));
    let filter = filter::Filter::parse("clause:rows=pass tries:>0 !1").unwrap();
    let found = view
        .job_ids(
            &goal,
            &JobQuery {
                filter,
                ..JobQuery::default()
            },
        )
        .unwrap();
    assert_eq!(found, vec![JobId::from("a")]);
    drop(ledger);
    let report = verify(&path).unwrap();
    assert_eq!(report.word(), "ok");
    assert_eq!((report.entries, report.chains), (9, 3));
}

/// A turn that was asked for and ended.
fn turn(job: &str, number: u32, source: &str, tokens: (u64, Option<u64>, u64)) -> [Entry; 2] {
    let (uncached, cache_read, output) = tokens;
    let started = Event::TurnStarted(event::TurnStarted {
        turn: number,
        provider: "stub".into(),
        model: "stub-1".into(),
        prefix: digest_bytes(b"prefix"),
        system: digest_bytes(b"system"),
        message: None,
        tokens: 9_000,
        money: None,
    });
    let ended = Event::TurnEnded(event::TurnEnded {
        turn: number,
        outcome: "done".into(),
        why: String::new(),
        uncached,
        cache_write: 50,
        cache_read,
        output,
        reasoning: 0,
        source: source.into(),
        money: None,
        request_id: None,
        model: "stub-1".into(),
        answer: None,
        calls: vec![],
        retry_at: None,
        ends: None,
    });
    [entry(9, Some(job), started), entry(10, Some(job), ended)]
}

#[test]
fn turns_are_measured_by_what_providers_counted() {
    let (_dir, path) = place();
    let mut ledger = sample(&path);
    let goal = GoalId::from(GOAL);
    assert_eq!(ledger.read().turn_measure(&goal).unwrap().turns, 0);
    let mut batch = Batch::default();
    let told = [
        turn("a", 1, "reported", (100, Some(850), 30)),
        turn("a", 2, "reported", (200, None, 20)),
        turn("a", 3, "estimated", (7_000, Some(7_000), 7_000)),
    ];
    batch.entries = told.concat();
    // Still under way: neither a turn nor its tokens.
    batch
        .entries
        .push(turn("a", 4, "", (0, None, 0))[0].clone());
    ledger.append(&batch).unwrap();
    let found = ledger.read().turn_measure(&goal).unwrap();
    assert_eq!((found.turns, found.attempts, found.jobs), (3, 1, 1));
    assert_eq!((found.reported, found.input, found.output), (2, 1_250, 50));
    assert_eq!(found.of_cache, 1);
    assert_eq!(
        (found.uncached, found.cache_write, found.cache_read),
        (100, 50, 850)
    );
}

#[test]
fn events_cannot_be_changed_or_deleted_through_sql() {
    let (_dir, path) = place();
    drop(sample(&path));
    let conn = rusqlite::Connection::open(&path).unwrap();
    for sql in [
        "UPDATE events SET body = '{}' WHERE seq = 4",
        "DELETE FROM events WHERE seq = 9",
    ] {
        let error = conn.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
}

#[test]
fn a_changed_entry_a_changed_row_and_a_changed_blob_are_noticed() {
    let changes = [
        "DROP TRIGGER events_keep; UPDATE events SET body = replace(body, 'pass', 'fail') WHERE seq = 9",
        "DROP TRIGGER events_stay; DELETE FROM events WHERE seq = 9",
        "UPDATE jobs SET state = 'cut_over' WHERE job = 'a'",
        "UPDATE operations SET state = 'refused'",
        "UPDATE budgets SET spent = 0",
        "UPDATE chains SET head = 'x' WHERE job = 'b'",
        "UPDATE blobs SET data = x'00' WHERE digest = (SELECT min(digest) FROM blobs)",
    ];
    for change in changes {
        let (_dir, path) = place();
        drop(sample(&path));
        rusqlite::Connection::open(&path)
            .unwrap()
            .execute_batch(change)
            .unwrap();
        assert!(!verify(&path).unwrap().is_sound(), "not noticed: {change}");
    }
}

#[test]
fn damage_names_the_job_and_spares_the_others() {
    let (_dir, path) = place();
    drop(sample(&path));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TRIGGER events_keep; UPDATE events SET at_ms = 77 WHERE seq = 3")
        .unwrap();
    let reader = Reader::open(&path).unwrap();
    let broken = reader.view().broken_chains().unwrap();
    assert_eq!(
        broken
            .iter()
            .map(|one| one.job.as_str())
            .collect::<Vec<_>>(),
        vec!["b"]
    );
}

#[test]
fn one_engine_a_ledger_and_decisions_from_any_process() {
    let (_dir, path) = place();
    let engine = sample(&path);
    let error = Ledger::open_for_engine(&path).unwrap_err();
    assert!(matches!(error, LedgerError::Held { .. }), "{error}");
    assert!(
        error.to_string().contains(&std::process::id().to_string()),
        "{error}"
    );

    let mut other = Ledger::open_for_decisions(&path).unwrap();
    let decision = Batch {
        entries: vec![Entry {
            actor: Actor::Person(Account("ann".into())),
            ..entry(
                9,
                Some("a"),
                Event::DecisionSubmitted {
                    decision: DecisionId::from("d1"),
                    act: Act::Pause,
                    from: "tty".into(),
                },
            )
        }],
        blobs: vec![],
    };
    other.append(&decision).unwrap();
    let forbidden = Batch {
        entries: vec![entry(9, Some("a"), Event::JobPaused {})],
        blobs: vec![],
    };
    assert!(matches!(
        other.append(&forbidden),
        Err(LedgerError::Refused(_))
    ));
    let pending = engine.read().pending_decisions(&GOAL.into()).unwrap();
    assert_eq!((pending.len(), pending[0].by.0.as_str()), (1, "ann"));
    drop(engine);
    Ledger::open_for_engine(&path).unwrap();
    assert_eq!(verify(&path).unwrap().word(), "ok");
}

#[test]
fn files_that_are_no_ledger_are_refused_untouched() {
    let (dir, path) = place();
    assert!(matches!(Reader::open(&path), Err(LedgerError::Missing(_))));
    for (name, content) in [
        ("nonsense", vec![b'x'; 100_000]),
        ("short", b"SQLite format 3\0".to_vec()),
    ] {
        let file = dir.path().join(name);
        std::fs::write(&file, &content).unwrap();
        assert!(Ledger::open_for_engine(&file).is_err(), "{name}");
        assert_eq!(std::fs::read(&file).unwrap(), content, "{name} was changed");
    }
    let foreign = dir.path().join("foreign.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t(x)")
        .unwrap();
    assert!(matches!(
        Ledger::open_for_engine(&foreign),
        Err(LedgerError::NotALedger { .. })
    ));
}

#[test]
fn a_file_without_tables_is_begun_again() {
    // What a kill before the first commit leaves: nothing at all, or the mark alone.
    for mark in [false, true] {
        let (_dir, path) = place();
        std::fs::write(&path, b"").unwrap();
        if mark {
            rusqlite::Connection::open(&path)
                .unwrap()
                .execute_batch("PRAGMA journal_mode=WAL; PRAGMA application_id=1146569544")
                .unwrap();
        }
        assert!(matches!(Reader::open(&path), Err(LedgerError::Empty(_))));
        assert!(matches!(
            Ledger::open_for_decisions(&path),
            Err(LedgerError::Empty(_))
        ));
        drop(sample(&path));
        assert_eq!(verify(&path).unwrap().word(), "ok");
    }
}

#[test]
fn a_first_write_that_was_cut_off_is_taken_back_by_whoever_reads() {
    let (dir, path) = place();
    let other = dir.path().join("other.db");
    let conn = rusqlite::Connection::open(&other).unwrap();
    // A cache of a few pages: some of this is in the file before its commit, and what was there is in the journal.
    conn.execute_batch(
        "PRAGMA cache_size=1; BEGIN; CREATE TABLE t(x); INSERT INTO t VALUES (randomblob(1000000))",
    )
    .unwrap();
    let journal = |path: &std::path::Path| path.with_extension("db-journal");
    std::fs::copy(&other, &path).unwrap();
    std::fs::copy(journal(&other), journal(&path)).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 100_000);
    let opened = Reader::open(&path);
    assert!(matches!(opened, Err(LedgerError::Empty(_))), "{opened:?}");
    drop(sample(&path));
    assert_eq!(verify(&path).unwrap().word(), "ok");
}

#[test]
fn a_newer_schema_is_refused() {
    let (_dir, path) = place();
    drop(sample(&path));
    rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    assert!(matches!(
        Reader::open(&path),
        Err(LedgerError::Newer { found: 99, .. })
    ));
    assert!(matches!(
        Ledger::open_for_engine(&path),
        Err(LedgerError::Newer { .. })
    ));
}

#[test]
fn an_older_copy_put_back_is_noticed() {
    let (dir, path) = place();
    let mut ledger = sample(&path);
    let copy = dir.path().join("copy.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    ledger
        .append(&Batch {
            entries: vec![entry(10, Some("a"), Event::JobPaused {})],
            blobs: vec![],
        })
        .unwrap();
    drop(ledger);
    for suffix in ["", "-wal", "-shm"] {
        drop(std::fs::remove_file(format!("{}{suffix}", path.display())));
    }
    std::fs::copy(&copy, &path).unwrap();
    assert!(matches!(
        Ledger::open_for_engine(&path),
        Err(LedgerError::OlderCopy {
            found: 9,
            known: 10,
            ..
        })
    ));
}

#[test]
fn a_blob_is_returned_only_if_it_matches() {
    let (_dir, path) = place();
    let mut ledger = Ledger::open_for_engine(&path).unwrap();
    let mut batch = Batch::default();
    let long = "a long body ".repeat(1000);
    let digest = batch.blob(long.as_bytes());
    ledger.append(&batch).unwrap();
    assert_eq!(ledger.blob(&digest).unwrap(), long.as_bytes());
    assert!(ledger.blob(&Digest("0".repeat(64))).is_err());
}
