//! Revised plans, claims that change nothing, and what a new cutover upstream makes stale.

use dogwatch::contract::{Strategy, parse_goal};
use dogwatch::engine::adopt::Adoption;
use dogwatch::engine::replan::revise;
use dogwatch::lab::story::{Stage, StoryWorker, replaced};
use dogwatch::ledger::facts::JobFacts;
use dogwatch::ledger::{Act, Batch, Ledger};
use dogwatch::model::{FailureClass, JobId, JobState, digest_bytes};
use dogwatch::worker::{Claim, PrepareFailure, PrepareReply, PrepareRequest, Worker};
use dogwatch::world::practice::goal::goal_text;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `blind` cannot do anything; any other strategy translates, and the first job's worker holds a clause to
/// be wrong. `again` makes the next configs other ones that mean the same.
struct Test {
    again: Arc<AtomicBool>,
    only_kept: bool,
}

/// Three levels of a lineage, and jobs beside it: of many jobs the only ones that are worked on.
const KEPT: [&str; 9] = [
    "stg_order_lines",
    "stg_orders",
    "stg_returns",
    "fct_orders",
    "fct_returns",
    "mart_sales_daily_store",
    "stg_stores",
    "stg_employees",
    "dim_employee",
];

impl Worker for Test {
    fn prepare(
        &self,
        strategy: &Strategy,
        request: &PrepareRequest,
    ) -> Result<PrepareReply, PrepareFailure> {
        let left = self.only_kept && !KEPT.contains(&request.job.as_str());
        if strategy.id.0 == "blind" || left {
            return Err(PrepareFailure {
                why: "it sees nothing".to_owned(),
                class: FailureClass::Job,
            });
        }
        let mut reply = StoryWorker.prepare(strategy, request)?;
        if self.again.load(Ordering::Relaxed) {
            reply.config.push_str("\n# made again\n");
        }
        reply.claim = Some(Claim {
            clause: "rows".to_owned(),
            why: "the old side counts a row twice".to_owned(),
        });
        Ok(reply)
    }
}

fn plan(ids: &[&str], jobs: usize) -> String {
    let text = goal_text(3, jobs);
    let begin = text.find("[[strategy]]").unwrap();
    let end = text.find("[world.practice]").unwrap();
    let strategies: String = ids
        .iter()
        .map(|id| {
            format!("[[strategy]]\nid = \"{id}\"\nworker = \"script\"\nrun = [\"dogwatch\", \"practice\", \"convert\"]\n\n")
        })
        .collect();
    replaced(&text, &text[begin..end], &strategies).unwrap()
}

fn stage(dir: &Path, text: &str, only_kept: bool) -> (Stage, Arc<AtomicBool>) {
    let mut stage = Stage::new("plans", 3, dir, Box::new(|_| {})).unwrap();
    let again = Arc::new(AtomicBool::new(false));
    stage.set_worker(Arc::new(Test {
        again: Arc::clone(&again),
        only_kept,
    }));
    stage.adopt(text).unwrap();
    (stage, again)
}

fn facts(stage: &Stage) -> Vec<JobFacts> {
    stage
        .look(|moment| moment.view.all_facts(moment.goal))
        .unwrap()
}

/// Keeps a text in the ledger and asks the engine to take its strategies.
fn ask(stage: &mut Stage, from: u32, text: &str, hypothesis: &str) -> (bool, String) {
    let mut batch = Batch::default();
    batch.blob(text.as_bytes());
    let act = Act::RevisePlan {
        from,
        text: digest_bytes(text.as_bytes()),
        hypothesis: hypothesis.to_owned(),
    };
    // A body is kept by an entry's transaction; an overtaken act is as good as any.
    let owner = stage.owner();
    batch.entries.push(dogwatch::ledger::decide::entry(
        stage.goal_id(),
        &JobId::from(""),
        Act::RevisePlan {
            from: 99,
            text: digest_bytes(b"x"),
            hypothesis: "overtaken".to_owned(),
        },
        &owner,
        "",
        stage.now(),
        dogwatch::model::TimeMs(i64::from(from) + hypothesis.len() as i64),
    ));
    Ledger::open_for_decisions(&stage.ledger_path())
        .unwrap()
        .append(&batch)
        .unwrap();
    stage.act(&JobId::from(""), act, &owner).unwrap()
}

#[test]
fn a_plan_is_revised_for_jobs_that_are_not_done_with_its_hypothesis_and_author() {
    let dir = tempfile::tempdir().unwrap();
    let (mut stage, _) = stage(dir.path(), &plan(&["blind"], 6), false);
    let (owner, goal_id) = (stage.owner(), stage.goal_id().clone());
    // While no engine runs the ledger takes it itself.
    let two = plan(&["blind", "sees"], 6);
    let mut parsed = parse_goal(&two, stage.dir(), None).unwrap();
    parsed.contract = parsed.contract.resolve_me(&owner);
    let adoption = Adoption {
        goal: &parsed,
        text: &two,
        overrides: &[],
        me: &owner,
        answers: vec![],
    };
    let now = stage.now();
    let mut ledger = Ledger::open_for_engine(&stage.ledger_path()).unwrap();
    let why = revise(&mut ledger, &adoption, "  ", now).unwrap_err();
    assert!(why.to_string().contains("hypothesis"), "{why}");
    assert_eq!(
        revise(&mut ledger, &adoption, "somebody must see", now).unwrap(),
        1
    );
    let why = revise(&mut ledger, &adoption, "again", now).unwrap_err();
    assert!(why.to_string().contains("in force already"), "{why}");
    drop(ledger);
    stage
        .until("a request", |moment| {
            Ok(moment.count(JobState::AwaitingApproval)? > 1)
        })
        .unwrap();
    let before: Vec<JobFacts> = facts(&stage)
        .into_iter()
        .filter(|one| one.state == JobState::AwaitingApproval)
        .collect();
    assert!(
        before
            .iter()
            .all(|one| (one.strategy, one.plan) == (Some(1), 1))
    );
    // In the middle of the work: reordered, one taken out, one added.
    let three = plan(&["sees", "sees-too"], 6);
    let (accepted, why) = ask(&mut stage, 1, &three, " ");
    assert!(!accepted && why.contains("hypothesis"), "{why}");
    let other = three.replace("staging_tries = ", "staging_tries = 1");
    assert_ne!(other, three);
    let (accepted, why) = ask(&mut stage, 1, &other, "more tries");
    assert!(!accepted && why.contains("amendment"), "{why}");
    let (accepted, why) = ask(&mut stage, 1, &three, "the blind one costs a turn");
    assert!(accepted && why.contains("revision 2"), "{why}");
    stage
        .until("the jobs stand in the new plan", |moment| {
            let all = moment.view.all_facts(moment.goal)?;
            Ok(all.iter().all(|one| one.state.has_ended() || one.plan == 2))
        })
        .unwrap();
    for was in &before {
        let is = facts(&stage)
            .into_iter()
            .find(|one| one.id == was.id)
            .unwrap();
        assert_eq!(
            (is.strategy, is.attempt),
            (Some(0), was.attempt),
            "{}",
            is.id
        );
        assert_eq!(
            is.requests, was.requests,
            "{} was not asked for again",
            is.id
        );
        assert_eq!(is.evidence, was.evidence, "{} was not judged again", is.id);
    }
    let rows = stage.look(|moment| moment.view.plans(moment.goal)).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[1].revision, &rows[1].by), (2, &owner));
    assert_eq!(rows[1].hypothesis, "the blind one costs a turn");
    let changes = rows[1].changes.join("; ");
    assert_eq!(
        changes,
        "sees moved from place 2 to 1; sees-too added at place 2; blind taken out"
    );
    // A worker's claim is listed for the owner and changes nothing.
    let claims = stage
        .look(|moment| moment.view.claims(moment.goal))
        .unwrap();
    assert!(
        claims
            .iter()
            .any(|one| one.clause == "rows" && one.why.contains("twice"))
    );
    let row = stage
        .look(|moment| moment.view.contract(moment.goal))
        .unwrap()
        .unwrap();
    assert_eq!((row.version.0, &row.digest), (1, &parsed.contract.digest));
    for one in &before {
        assert!(
            one.evidence.contains_key(&"rows".into()) || one.output.is_none(),
            "{}",
            one.id
        );
    }
    // It is taken up where it was left.
    stage.stop().unwrap();
    stage.owner_decides(true);
    stage.until_end().unwrap();
    assert_eq!(stage.goal_id(), &goal_id);
    assert_eq!(stage.end().unwrap().chain, "ok");
}

/// Jobs below one, directly or through others.
fn below(all: &[JobFacts], top: &JobId) -> BTreeSet<JobId> {
    let mut found = BTreeSet::from([top.clone()]);
    loop {
        let more: Vec<JobId> = all
            .iter()
            .filter(|one| !found.contains(&one.id))
            .filter(|one| one.depends_on.iter().any(|up| found.contains(up)))
            .map(|one| one.id.clone())
            .collect();
        if more.is_empty() {
            found.remove(top);
            return found;
        }
        found.extend(more);
    }
}

#[test]
fn a_new_cutover_upstream_makes_exactly_the_passes_below_it_stale_however_far() {
    let dir = tempfile::tempdir().unwrap();
    let (mut stage, again) = stage(dir.path(), &plan(&["sees"], 60), true);
    stage.owner_decides(true);
    stage.until_end().unwrap();
    let all = facts(&stage);
    let cut_over: BTreeSet<JobId> = all
        .iter()
        .filter(|one| one.state == JobState::CutOver)
        .map(|one| one.id.clone())
        .collect();
    let top = JobId::from("stg_order_lines");
    // What is read from the old side does not change with the new.
    let new_side: Vec<JobFacts> = all
        .iter()
        .filter(|one| cut_over.contains(&one.id))
        .cloned()
        .collect();
    let stale = below(&new_side, &top);
    let far = |one: &&JobFacts| stale.contains(&one.id) && !one.depends_on.contains(&top);
    assert!(
        new_side.iter().any(|one| far(&one)),
        "nobody two levels below: {stale:?}"
    );
    assert!(stale.len() + 1 < cut_over.len(), "nobody beside: {stale:?}");
    let mark = stage
        .look(|moment| moment.view.overview(moment.goal))
        .unwrap()
        .last_seq;
    again.store(true, Ordering::Relaxed);
    let owner = stage.owner();
    let roll_back = Act::RollBack {
        reason: "a better one".to_owned(),
    };
    let (accepted, why) = stage.act(&top, roll_back, &owner).unwrap();
    assert!(accepted, "{why}");
    let state = |stage: &Stage, id: &JobId| {
        let all = facts(stage);
        all.into_iter().find(|one| one.id == *id).unwrap()
    };
    stage
        .until("it is back", |moment| {
            Ok(moment.view.facts(moment.goal, &top)?.unwrap().state == JobState::HandedOver)
        })
        .unwrap();
    let (accepted, why) = stage.act(&top, Act::Retry, &owner).unwrap();
    assert!(accepted, "{why}");
    stage.until_end().unwrap();
    let old = all.iter().find(|one| one.id == top).unwrap();
    let new = state(&stage, &top);
    assert_eq!(new.state, JobState::CutOver, "{}", new.reason);
    assert_ne!(new.production_config, old.production_config);
    let mut judged = BTreeSet::new();
    for one in &all {
        let evidence = stage
            .look(|moment| moment.view.evidence(moment.goal, &one.id))
            .unwrap();
        if evidence.iter().any(|row| row.seq > mark) {
            judged.insert(one.id.clone());
        }
    }
    judged.remove(&top);
    assert_eq!(judged, stale, "exactly what is below {top}");
    for id in &stale {
        let is = state(&stage, id);
        assert_eq!(is.state, JobState::CutOver, "{id}: {}", is.reason);
        let was = all.iter().find(|one| one.id == *id).unwrap();
        assert_eq!(is.production, was.production, "{id} was not cut over again");
    }
    assert_eq!(stage.end().unwrap().chain, "ok");
}
