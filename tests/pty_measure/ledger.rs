//! A ledger of many jobs in the midst of their migration, written as an engine would have written it.

use dogwatch::ledger::{Actor, Batch, Entry, Event, Ledger};
use dogwatch::model::{
    Account, Action, ApprovalId, AttemptNo, ContractVersion, Digest, GoalId, JobId, JobState,
    OperationId, TimeMs, Verdict, WaitKind, Wake, digest_bytes,
};
use serde_json::json;
use std::path::Path;

pub const START: TimeMs = TimeMs(1_711_962_000_000);
const HOUR_MS: i64 = 3_600_000;
/// Entries a commit; more only cost memory here.
const BATCH: usize = 5_000;

/// Where the jobs stand, by their number modulo 100: ten cut over, one each before the approver, to verify
/// and handed over, five waiting, one paused, the others not begun.
pub fn build(path: &Path, jobs: u64) -> Ledger {
    let mut built = Built {
        ledger: Ledger::open_for_engine(path).unwrap(),
        batch: Batch::default(),
        config: digest_bytes(CONFIG),
        detail: digest_bytes(DETAIL),
    };
    for bytes in [OLD, CONFIG, DETAIL, b"log"] {
        built.batch.blob(bytes);
    }
    built.adopt();
    for position in 0..jobs {
        let job = format!("job_{position:06}");
        built.add(&job, position);
        match position % 100 {
            90..100 => built.cut_over(&job, position),
            20 => built.asks(&job, position),
            30..35 => built.waits(&job),
            40 => built.unknown(&job, position),
            50 => built.job(&job, 0, moved(JobState::HandedOver, "no equivalent")),
            60 => built.job(&job, 0, Event::JobPaused {}),
            _ => {}
        }
    }
    built.entry(None, 0, Event::GoalListed { jobs });
    built.commit();
    built.ledger
}

const OLD: &[u8] = b"15 2 * * * run-sql jobs/orders.sql\n";
const CONFIG: &[u8] = b"[schedule]\ncron = \"15 2 * * *\"\n\n[run]\nsql = \"jobs/orders.sql\"\n";
const DETAIL: &[u8] = b"{\"numbers\":{\"old\":48210,\"new\":48210},\"queries\":[\"SELECT 1\"]}";

struct Built {
    ledger: Ledger,
    batch: Batch,
    config: Digest,
    detail: Digest,
}

fn moved(state: JobState, reason: &str) -> Event {
    Event::JobMoved {
        state,
        reason: reason.into(),
    }
}

/// An id of its own, without asking for randomness.
fn id(kind: u64, position: u64) -> String {
    format!("{:016x}", kind << 40 | position)
}

impl Built {
    fn commit(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.ledger.append(&batch).unwrap();
    }

    fn entry(&mut self, job: Option<&str>, attempt: u32, event: Event) {
        self.batch.entries.push(Entry {
            at: START,
            goal: GoalId::from("etl"),
            job: job.map(JobId::from),
            attempt: (attempt > 0).then_some(AttemptNo(attempt)),
            actor: Actor::Engine,
            event,
        });
        if self.batch.entries.len() >= BATCH {
            self.commit();
        }
    }

    fn job(&mut self, job: &str, attempt: u32, event: Event) {
        self.entry(Some(job), attempt, event);
    }

    fn adopt(&mut self) {
        let text = self.batch.blob(b"[goal]\nid = \"etl\"\n");
        let event = Event::GoalAdopted {
            version: ContractVersion(1),
            contract_digest: digest_bytes(b"contract"),
            text,
            base_dir: "/".into(),
            overrides: vec![],
            me: Account("owner".into()),
            objective: "Move everything.".into(),
            owner: Account("owner".into()),
            deadline: Some(START.plus_ms(96 * HOUR_MS)),
            answers: vec![],
        };
        self.entry(None, 0, event);
    }

    fn add(&mut self, job: &str, position: u64) {
        let upstream = position / 10 * 10;
        let depends_on = if upstream < position {
            vec![JobId(format!("job_{upstream:06}"))]
        } else {
            vec![]
        };
        let event = Event::JobAdded {
            position,
            title: format!("Orders by day and store, part {position}"),
            tags: vec!["daily".into()],
            depends_on,
            origin: format!("sales.crontab:{position}"),
            definition: digest_bytes(OLD),
            output: Some(json!({"table": format!("mart.orders_{position}"), "keys": ["id"]})),
            hold: None,
            high_risk: position.is_multiple_of(50),
            clauses: vec!["rows".into(), "checksum".into()],
        };
        self.job(job, 0, event);
    }

    fn proposes(&mut self, job: &str) {
        let config = self.config.clone();
        let started = Event::AttemptStarted {
            strategy: "script".into(),
            strategy_index: 0,
            words: None,
            plan: 0,
        };
        self.job(job, 1, started);
        let remark = "converted the crontab line".into();
        self.job(
            job,
            1,
            Event::ConfigProposed {
                config,
                remark,
                changes: Vec::new(),
            },
        );
    }

    fn intends(&mut self, job: &str, operation: &str, action: Action) {
        let config = self.config.clone();
        let event = Event::OpIntended {
            operation: OperationId::from(operation),
            action,
            config,
            ordinal: 1,
            upstream: json!([]),
            approval: None,
            day: String::new(),
        };
        self.job(job, 1, event);
    }

    fn applied(&mut self, job: &str, operation: &str) {
        let event = Event::OpApplied {
            operation: OperationId::from(operation),
            reference: format!("run-{operation}"),
            observed: String::new(),
            how: "reply".into(),
        };
        self.job(job, 1, event);
    }

    /// Staged, checked, and before the approver.
    fn asks(&mut self, job: &str, position: u64) {
        self.reconciles(job, position);
        let asked = Event::ApprovalRequested {
            action: Action::CutOver,
            approval: ApprovalId(id(1, position)),
            digest: digest_bytes(job.as_bytes()),
            parts: json!({"contract": digest_bytes(b"contract"), "config": self.config}),
            consequences: vec!["the next tick is 02:15".into()],
            expires_at: None,
        };
        self.job(job, 1, moved(JobState::AwaitingApproval, "all passed"));
        self.job(job, 1, asked);
        let waits = wait(WaitKind::Person, "owner decides", vec![Wake::Approval]);
        self.job(job, 1, waits);
    }

    fn reconciles(&mut self, job: &str, position: u64) {
        self.proposes(job);
        let operation = id(2, position);
        self.intends(job, &operation, Action::Stage);
        self.applied(job, &operation);
        let succeeded = Event::RunSucceeded {
            operation: OperationId(operation),
            log: digest_bytes(b"log"),
        };
        self.job(job, 1, succeeded);
        for clause in ["rows", "checksum"] {
            self.job(job, 1, self.passed(clause));
        }
    }

    fn passed(&self, clause: &str) -> Event {
        Event::EvidenceRecorded {
            clause: clause.into(),
            clause_digest: digest_bytes(clause.as_bytes()),
            config: self.config.clone(),
            lineage: digest_bytes(b"lineage"),
            checker: digest_bytes(b"checker"),
            operation: OperationId::from("00"),
            by: Default::default(),
            verdict: Verdict::Pass,
            summary: "48,210 rows on both sides".into(),
            detail: self.detail.clone(),
            spent: 2,
            reserved: 0,
            day: "2024-04-01".into(),
        }
    }

    fn cut_over(&mut self, job: &str, position: u64) {
        self.reconciles(job, position);
        let operation = id(3, position);
        self.intends(job, &operation, Action::CutOver);
        self.applied(job, &operation);
        self.job(job, 1, moved(JobState::CutOver, "applied"));
    }

    fn waits(&mut self, job: &str) {
        self.proposes(job);
        let reason = "staging run 1 of 3 failed (node staging-2 lost its disk)";
        self.job(job, 1, wait(WaitKind::World, reason, vec![]));
    }

    fn unknown(&mut self, job: &str, position: u64) {
        self.proposes(job);
        let operation = id(2, position);
        self.intends(job, &operation, Action::Stage);
        let event = Event::OpLookedUp {
            operation: OperationId(operation),
            answer: "absent".into(),
            why: "none is visible under that id".into(),
            next_look: START.plus_ms(HOUR_MS),
            to_verify: true,
        };
        self.job(job, 1, event);
    }
}

fn wait(kind: WaitKind, reason: &str, wakes: Vec<Wake>) -> Event {
    Event::WaitStarted {
        wait: kind,
        reason: reason.into(),
        wakes,
        next_check: START.plus_ms(HOUR_MS),
        overdue: START.plus_ms(24 * HOUR_MS),
    }
}
