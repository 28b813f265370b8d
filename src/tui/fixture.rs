//! A small ledger built from real entries, with fixed times and no text of this machine.

use crate::contract::{
    ApprovalRule, Budgets, Contract, Goal, HeartbeatRule, JobsRule, Limits, RenewingBudget,
    SpinRule, Strategy, TotalBudget, Workdays, WorldRule,
};
use crate::ledger::{Act, Actor, Batch, Entry, Event, Ledger, Reader};
use crate::model::{
    Account, Action, ApprovalId, AttemptNo, ClauseId, ContractVersion, DecisionId, Digest,
    FailureClass, GoalId, JobId, JobState, OperationId, TimeMs, Verdict, WaitKind, Wake,
    digest_bytes,
};
use crate::tui::app::load::Loader;
use crate::tui::app::msg::{Effect, Msg, Now};
use crate::tui::app::{Model, update};
use crate::tui::keymap::Key;
use crate::tui::theme::Theme;
use crate::tui::view;
use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// 2024-04-01T09:00:00Z, the first morning.
pub const START: TimeMs = TimeMs(1_711_962_000_000);
pub const GOAL: &str = "etl-migration";
const MINUTE: i64 = 60_000;
const OLD: &[u8] = b"# nightly orders\n15 2 * * * run-sql jobs/orders.sql\n";

/// A ledger, its reader and an interface over it.
pub struct World {
    dir: tempfile::TempDir,
    pub ledger: Ledger,
    reader: Reader,
    loader: Loader,
    pub model: Model,
    pub now: Now,
    at: TimeMs,
    digest_of_old: Digest,
    pending: Batch,
}

impl World {
    /// Only a goal.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("ledger.db");
        let mut ledger = Ledger::open_for_engine(&path).unwrap();
        let mut batch = Batch::default();
        let text = batch.blob(b"[goal]\nid = \"etl-migration\"\nowner = \"@me\"\n");
        batch.blob(OLD);
        batch.entries.push(Entry {
            at: START,
            goal: GOAL.into(),
            job: None,
            attempt: None,
            actor: Actor::Person(Account("etl-owner".into())),
            event: Event::GoalAdopted {
                version: ContractVersion(1),
                contract_digest: digest_bytes(b"contract"),
                text,
                base_dir: "/srv/goals".into(),
                overrides: vec![],
                me: Account("etl-owner".into()),
                objective: "Every legacy ETL job runs on the new scheduler and reconciles, or is handed over with its reason.".into(),
                owner: Account("etl-owner".into()),
                deadline: Some(START.plus_ms(4 * 24 * 60 * MINUTE)),
                answers: vec!["Approvals are needed; etl-owner agreed.".into()],
            },
        });
        ledger.append(&batch).unwrap();
        let mut world = Self::over(dir, ledger, START);
        world.beat();
        world
    }

    fn over(dir: tempfile::TempDir, ledger: Ledger, at: TimeMs) -> Self {
        let reader = Reader::open(&dir.path().join("ledger.db")).unwrap();
        Self {
            dir,
            ledger,
            reader,
            loader: Loader::default(),
            model: Model::new(Some(GoalId::from(GOAL)), false, false),
            now: Now {
                ms: 10_000,
                wall: START,
            },
            at,
            digest_of_old: digest_bytes(OLD),
            pending: Batch::default(),
        }
    }

    /// Eight jobs in eight situations. The entries are appended once; each world gets a copy.
    pub fn filled() -> Self {
        static FILLED: OnceLock<(Vec<u8>, TimeMs)> = OnceLock::new();
        let (bytes, at) = FILLED.get_or_init(|| {
            let world = Self::fill();
            let path = world.dir.path().join("ledger.db");
            let at = world.at;
            drop(world.reader);
            drop(world.ledger);
            (std::fs::read(path).unwrap(), at)
        });
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        std::fs::write(&path, bytes).unwrap();
        let ledger = Ledger::open_for_engine(&path).unwrap();
        let mut world = Self::over(dir, ledger, *at);
        world.load();
        world
    }

    fn fill() -> Self {
        let mut world = Self::empty();
        let jobs = [
            ("stg_orders", "Stage yesterday's orders"),
            ("fct_orders_daily", "Orders by day and store"),
            ("dim_customer", "Customers, slowly changing"),
            ("mart_revenue", "Revenue mart for the morning mail"),
            ("exp_partner_feed", "Export to the partner's mailbox"),
            ("finance_month_close", "Month close"),
            ("ops_agent_probe", "Probe through the old agent"),
            (
                "数据_清洗",
                "Cleaning with \u{202e}evil\u{202c} text and e\u{301}",
            ),
        ];
        for (position, (job, title)) in jobs.into_iter().enumerate() {
            world.add(job, position as u64, title);
        }
        world.goal_event(Event::GoalListed { jobs: 8 });
        world.until_approval("fct_orders_daily", "a1b2c3d4e5f60001");
        world.until_approval("finance_month_close", "a1b2c3d4e5f60002");
        world.cut_over("stg_orders");
        world.failing("mart_revenue");
        world.unknown("exp_partner_feed");
        world.event(
            "ops_agent_probe",
            1,
            Event::JobMoved {
                state: JobState::HandedOver,
                reason: "the agent's protocol has no equivalent on the new scheduler".into(),
            },
        );
        world.event(
            "dim_customer",
            0,
            Event::WaitStarted {
                wait: WaitKind::Quota,
                reason: "today's 300 warehouse queries are used up".into(),
                wakes: vec![Wake::QuotaReset {
                    budget: "warehouse_queries".into(),
                    at: START.plus_ms(15 * 60 * MINUTE),
                }],
                next_check: START.plus_ms(15 * 60 * MINUTE),
                overdue: START.plus_ms(16 * 60 * MINUTE),
            },
        );
        world.goal_event(Event::Heartbeat {
            decided: "wait".into(),
            reason: "nothing changed since 09:14".into(),
        });
        world.beat();
        world.load();
        world
    }

    fn append(&mut self, job: Option<&str>, attempt: u32, event: Event, blobs: &[&[u8]]) {
        self.at = self.at.plus_ms(20_000);
        for bytes in blobs {
            self.pending.blob(bytes);
        }
        self.pending.entries.push(Entry {
            at: self.at,
            goal: GOAL.into(),
            job: job.map(JobId::from),
            attempt: (attempt > 0).then_some(AttemptNo(attempt)),
            actor: Actor::Engine,
            event,
        });
    }

    /// Commits what happened since; one commit for all of it, since each costs a flush.
    pub fn commit(&mut self) {
        let batch = std::mem::take(&mut self.pending);
        self.ledger.append(&batch).unwrap();
    }

    pub fn event(&mut self, job: &str, attempt: u32, event: Event) {
        self.append(Some(job), attempt, event, &[]);
    }

    pub fn goal_event(&mut self, event: Event) {
        self.append(None, 0, event, &[]);
    }

    /// The engine's heart, at the ledger's time.
    pub fn beat(&mut self) {
        self.commit();
        self.ledger.beat(self.now.wall, self.at, 1_000, "running");
    }

    pub fn add(&mut self, job: &str, position: u64, title: &str) {
        let definition = self.digest_of_old.clone();
        self.event(
            job,
            0,
            Event::JobAdded {
                position,
                title: title.into(),
                tags: vec![],
                depends_on: if position == 0 {
                    vec![]
                } else {
                    vec!["stg_orders".into()]
                },
                origin: format!("sales.crontab:{}", 10 + position),
                definition,
                output: None,
                hold: None,
                high_risk: job.starts_with("finance"),
                clauses: vec!["rows".into(), "checksum".into()],
            },
        );
    }

    fn attempt(&mut self, job: &str, number: u32, config: &str) -> Digest {
        self.event(
            job,
            number,
            Event::AttemptStarted {
                strategy: "script".into(),
                strategy_index: 0,
            },
        );
        let digest = digest_bytes(config.as_bytes());
        self.append(
            Some(job),
            number,
            Event::ConfigProposed {
                config: digest.clone(),
                remark: "converted the crontab line".into(),
            },
            &[config.as_bytes()],
        );
        digest
    }

    fn staged(&mut self, job: &str, number: u32, config: &Digest) -> OperationId {
        let operation =
            OperationId(digest_bytes(format!("{job}{number}").as_bytes()).0[..16].into());
        self.event(
            job,
            number,
            Event::OpIntended {
                operation: operation.clone(),
                action: Action::Stage,
                config: config.clone(),
                ordinal: 1,
                upstream: json!([]),
                approval: None,
                day: String::new(),
            },
        );
        self.event(
            job,
            number,
            Event::OpApplied {
                operation: operation.clone(),
                reference: format!("run-{job}-{number}"),
                observed: String::new(),
                how: "reply".into(),
            },
        );
        operation
    }

    fn judged(
        &mut self,
        job: &str,
        number: u32,
        config: &Digest,
        clause: &str,
        verdict: Verdict,
        summary: &str,
    ) {
        let detail = serde_json::to_vec(&json!({
            "verdict": verdict.word(), "summary": summary,
            "numbers": {"old": {"rows": 48210}, "new": {"rows": 48210}},
            "queries": ["SELECT count(*) FROM legacy.orders", "SELECT count(*) FROM staging.orders"],
        }))
        .unwrap();
        self.event(
            job,
            number,
            Event::CheckStarted {
                clause: clause.into(),
                reserved: 2,
                day: "2024-04-01".into(),
            },
        );
        self.append(
            Some(job),
            number,
            Event::EvidenceRecorded {
                clause: ClauseId::from(clause),
                clause_digest: digest_bytes(clause.as_bytes()),
                config: config.clone(),
                lineage: digest_bytes(b"lineage"),
                checker: digest_bytes(b"checker"),
                operation: OperationId::from("00"),
                verdict,
                summary: summary.into(),
                detail: digest_bytes(&detail),
                spent: 2,
                reserved: 2,
                day: "2024-04-01".into(),
            },
            &[&detail],
        );
    }

    pub fn until_approval(&mut self, job: &str, approval: &str) -> Digest {
        let config = self.attempt(job, 1, "[schedule]\ncron = \"15 2 * * *\"\nzone = \"Asia/Shanghai\"\n\n[run]\nsql = \"jobs/orders.sql\"\n");
        self.staged(job, 1, &config);
        self.event(
            job,
            1,
            Event::RunSucceeded {
                operation: OperationId::from("00"),
                log: digest_bytes(b"log"),
            },
        );
        self.judged(
            job,
            1,
            &config,
            "rows",
            Verdict::Pass,
            "48,210 rows on both sides",
        );
        self.judged(
            job,
            1,
            &config,
            "checksum",
            Verdict::Pass,
            "both sides hash to 9f2c",
        );
        self.event(
            job,
            1,
            Event::JobMoved {
                state: JobState::AwaitingApproval,
                reason: "all clauses passed".into(),
            },
        );
        self.request(job, approval, "digest one");
        config
    }

    pub fn request(&mut self, job: &str, approval: &str, seed: &str) {
        self.event(
            job,
            1,
            Event::ApprovalRequested {
                action: Action::CutOver,
                approval: ApprovalId::from(approval),
                digest: digest_bytes(format!("{job}{seed}").as_bytes()),
                parts: json!({"contract": digest_bytes(b"contract").0, "evidence": digest_bytes(b"evidence").0}),
                consequences: vec!["the next tick is 02:15; no missed tick would be caught up".into()],
                expires_at: None,
            },
        );
        self.event(
            job,
            1,
            Event::WaitStarted {
                wait: WaitKind::Person,
                reason: "etl-owner decides the cutover".into(),
                wakes: vec![Wake::Approval],
                next_check: self.at.plus_ms(15 * MINUTE),
                overdue: self.at.plus_ms(24 * 60 * MINUTE),
            },
        );
    }

    pub fn decided(&mut self, approval: &str, job: &str, approved: bool) {
        self.event(
            job,
            1,
            Event::ApprovalDecided {
                approval: ApprovalId::from(approval),
                approved,
                by: Account("etl-owner".into()),
                reason: String::new(),
            },
        );
    }

    fn cut_over(&mut self, job: &str) {
        let config = self.until_approval(job, "a1b2c3d4e5f60000");
        self.decided("a1b2c3d4e5f60000", job, true);
        let operation = OperationId::from("feedfeedfeedfeed");
        self.event(
            job,
            1,
            Event::OpIntended {
                operation: operation.clone(),
                action: Action::CutOver,
                config,
                ordinal: 1,
                upstream: json!([]),
                approval: Some(ApprovalId::from("a1b2c3d4e5f60000")),
                day: String::new(),
            },
        );
        self.event(
            job,
            1,
            Event::OpApplied {
                operation,
                reference: "prod-17".into(),
                observed: "first run at 02:15".into(),
                how: "reply".into(),
            },
        );
        self.event(
            job,
            1,
            Event::JobMoved {
                state: JobState::CutOver,
                reason: "approved by etl-owner, applied as prod-17".into(),
            },
        );
    }

    fn failing(&mut self, job: &str) {
        let first = self.attempt(
            job,
            1,
            "[schedule]\ncron = \"0 6 * * *\"\n\n[run]\nsql = \"jobs/revenue.sql\"\n",
        );
        self.staged(job, 1, &first);
        self.judged(
            job,
            1,
            &first,
            "rows",
            Verdict::Fail,
            "48,210 rows old, 48,102 rows new: 108 are missing",
        );
        self.event(
            job,
            1,
            Event::ConfigFailed {
                failures: vec!["rows: 108 rows are missing".into()],
            },
        );
        self.event(
            job,
            1,
            Event::AttemptEnded {
                outcome: "failed".into(),
                reason: "rows: 108 rows are missing".into(),
            },
        );
        let second = self.attempt(job, 2, "[schedule]\ncron = \"0 6 * * *\"\nzone = \"Asia/Shanghai\"\n\n[run]\nsql = \"jobs/revenue.sql\"\n");
        self.event(
            job,
            2,
            Event::JobMoved {
                state: JobState::Working,
                reason: String::new(),
            },
        );
        let operation = self.staged(job, 2, &second);
        self.event(
            job,
            2,
            Event::RunFailed {
                operation,
                class: FailureClass::Environment,
                why: "node staging-2 lost its disk".into(),
                log: digest_bytes(b"log"),
                retry_at: Some(self.at.plus_ms(10 * MINUTE)),
            },
        );
        self.event(
            job,
            2,
            Event::WaitStarted {
                wait: WaitKind::World,
                reason: "staging run 1 of 3 failed (node staging-2 lost its disk)".into(),
                wakes: vec![],
                next_check: self.at.plus_ms(10 * MINUTE),
                overdue: self.at.plus_ms(60 * MINUTE),
            },
        );
    }

    fn unknown(&mut self, job: &str) {
        let config = self.attempt(job, 1, "[run]\ncommand = \"export\"\n");
        let operation = OperationId::from("0badc0de0badc0de");
        self.event(
            job,
            1,
            Event::OpIntended {
                operation: operation.clone(),
                action: Action::Stage,
                config,
                ordinal: 1,
                upstream: json!([]),
                approval: None,
                day: String::new(),
            },
        );
        let next_look = self.at.plus_ms(5 * MINUTE);
        self.event(
            job,
            1,
            Event::OpUnknown {
                operation: operation.clone(),
                why: "the reply was lost after sending".into(),
                next_look,
            },
        );
        self.event(
            job,
            1,
            Event::OpLookedUp {
                operation,
                answer: "absent".into(),
                why: "none is visible under that id".into(),
                next_look,
                to_verify: true,
            },
        );
    }

    /// A job whose every text comes from someone who means harm.
    pub fn hostile(&mut self, text: &str) {
        let job = format!("evil {text}");
        self.add(&job, 8, text);
        let config = self.attempt(&job, 1, text);
        self.judged(&job, 1, &config, "rows", Verdict::Fail, text);
        self.event(
            &job,
            1,
            Event::AttemptEnded {
                outcome: text.into(),
                reason: text.into(),
            },
        );
        self.event(
            &job,
            1,
            Event::JobMoved {
                state: JobState::HandedOver,
                reason: text.into(),
            },
        );
        self.goal_event(Event::AlertRaised {
            rule: text.into(),
            evidence: text.into(),
        });
        self.goal_event(Event::Heartbeat {
            decided: text.into(),
            reason: text.into(),
        });
        self.load();
    }

    /// The engine answers a decision.
    pub fn answer(&mut self, id: &str, accepted: bool, why: &str) {
        self.goal_event(Event::DecisionAnswered {
            decision: DecisionId::from(id),
            accepted,
            why: why.into(),
        });
    }

    /// Writes what an effect asks for, as the shell would.
    pub fn submit(&mut self, effects: &[Effect], id: &str) {
        for effect in effects {
            if let Effect::Submit {
                local, job, act, ..
            } = effect
            {
                self.submitted(job.as_str(), act.clone(), id);
                let msg = Msg::Submitted {
                    local: *local,
                    result: Ok(DecisionId::from(id)),
                };
                self.send(msg);
            }
        }
    }

    fn submitted(&mut self, job: &str, act: Act, id: &str) {
        self.event(
            job,
            0,
            Event::DecisionSubmitted {
                decision: DecisionId::from(id),
                act,
                from: "pts/1".into(),
            },
        );
    }

    pub fn send(&mut self, msg: Msg) -> Vec<Effect> {
        update(&mut self.model, self.now, msg)
    }

    /// Takes a snapshot of what the model wants, until it wants nothing else.
    pub fn load(&mut self) -> Vec<Effect> {
        self.commit();
        let mut effects = Vec::new();
        for _ in 0..3 {
            let want = self.model.want();
            let shot = self.loader.load(&self.reader, &want, false).unwrap();
            effects.extend(self.send(Msg::Snapshot(Box::new(shot))));
            if self.model.want() == want {
                break;
            }
        }
        effects
    }

    /// A snapshot in a hurry, as after a key.
    pub fn turn_page(&mut self) {
        let want = self.model.want();
        let shot = self.loader.load(&self.reader, &want, true).unwrap();
        self.send(Msg::Snapshot(Box::new(shot)));
    }

    /// A key, then what it needs of the ledger.
    pub fn key(&mut self, key: Key) -> Vec<Effect> {
        let effects = self.send(Msg::Key(key));
        self.load();
        effects
    }

    /// Characters, with the snapshot as it is.
    pub fn keys_without_loading(&mut self, text: &str) {
        for c in text.chars() {
            self.send(Msg::Key(Key::char(c)));
        }
    }

    /// Characters, one key each; `\n` is Enter, `\t` Tab, `\x1b` Esc.
    pub fn keys(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for c in text.chars() {
            effects = self.key(match c {
                '\n' => Key::plain(KeyCode::Enter),
                '\t' => Key::plain(KeyCode::Tab),
                '\x1b' => Key::plain(KeyCode::Esc),
                c => Key::char(c),
            });
        }
        effects
    }

    /// A frame reached the screen, then time passed.
    pub fn drawn_and(&mut self, ms: u64) {
        self.send(Msg::Drawn);
        self.wait(ms);
    }

    pub fn wait(&mut self, ms: u64) {
        self.now.ms += ms;
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.send(Msg::Tick);
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.send(Msg::Resize(width, height));
        self.load();
    }

    pub fn buffer(&self, theme: &Theme, ascii: bool) -> Buffer {
        let (width, height) = self.model.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view::draw(&self.model, theme, ascii, &mut buffer);
        buffer
    }

    /// The screen as text.
    pub fn screen(&self) -> String {
        text_of(&self.buffer(&Theme::built_in("default").unwrap(), false))
    }
}

/// A contract as a program that can read goal files would have parsed it.
pub fn contract() -> Goal {
    let digest = digest_bytes(b"contract");
    let contract = Contract {
        id: GOAL.into(),
        objective: "Every job runs.".into(),
        owner: Account("@me".into()),
        deadline: None,
        workdays: Workdays {
            zone: "Asia/Shanghai".into(),
            days: [true; 7],
            from_minute: 540,
            to_minute: 1080,
        },
        jobs: JobsRule {
            file: None,
            depends_on_source: true,
            high_risk: vec![],
        },
        accept: vec![],
        approval: ApprovalRule {
            required: true,
            by: vec![Account("@me".into()), Account("deputy".into())],
            minutes_each: 3.0,
            expires_after_ms: None,
        },
        cutover: crate::contract::cutover::CutoverRule::default(),
        soak: None,
        budgets: Budgets {
            total: BTreeMap::from([(
                "tokens".into(),
                TotalBudget {
                    limit: 30_000_000.0,
                },
            )]),
            per_day: BTreeMap::from([("warehouse_queries".into(), RenewingBudget { limit: 14 })]),
            handoff_at_percent: 80,
        },
        limits: Limits::default(),
        spin: SpinRule::default(),
        heartbeat: HeartbeatRule {
            every_ms: 900_000,
            wake_on: vec![],
        },
        world: WorldRule {
            ports: BTreeMap::new(),
        },
        digest,
    };
    Goal {
        contract,
        strategies: vec![Strategy {
            id: "script".into(),
            worker: "script".into(),
            run: vec![],
            timeout_ms: 1,
            params: serde_json::Map::new(),
        }],
        providers: std::collections::BTreeMap::new(),
        base_dir: "/".into(),
        questions: vec![],
        notes: vec![],
    }
}

/// A buffer as text, row by row, without trailing blanks.
pub fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let mut out = String::new();
    for y in area.top()..area.bottom() {
        let mut row = String::new();
        let mut skip = 0;
        for x in area.left()..area.right() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = buffer[(x, y)].symbol();
            skip = crate::tui::text::width(symbol).saturating_sub(1);
            row.push_str(symbol);
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}
