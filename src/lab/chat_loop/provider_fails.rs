//! Providers that fail, and what that costs.

use super::bench::*;
use super::script::*;
use super::small::*;
use crate::engine::run::Finish;
use crate::ledger::verify;
use crate::model::{JobId, JobState, TimeMs, WorldPart};
use crate::worker::provider::{
    Provider, TurnFailure, TurnFailureClass, TurnLimits, TurnReply, TurnRequest,
};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn failures_of_the_provider_cost_no_round_and_each_try_is_a_turn_of_its_own() {
    let mut limited = failure(TurnFailureClass::Wait);
    limited.status = Some(429);
    limited.not_before = Some(START.plus_ms(3_600_000));
    let mut billed = failure(TurnFailureClass::Retry);
    billed.maybe_billed = true;
    billed.message = "cut stream".to_owned();
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        Say::Fails(limited),
        // While the first job pauses, the second has the only slot.
        ack("two", "propose_config"),
        calls(&[finish("cannot")]),
        Say::Fails(billed),
        hand_in("good"),
    ]));
    bench.run();
    let rows = bench.turns("one");
    let outcomes: Vec<&str> = rows.iter().map(|row| row.outcome.as_str()).collect();
    assert_eq!(outcomes, ["tools", "failed", "failed", "tools"]);
    assert!(
        rows[2].started_at >= START.plus_ms(3_600_000),
        "retry-after was honoured"
    );
    assert_eq!(rows[1].tokens(), 0, "nothing was billed");
    assert_eq!(rows[2].source, "unknown");
    assert_eq!(
        rows[2].tokens(),
        rows[2].reserved_tokens,
        "what may be billed counts in full"
    );
    assert_eq!(rows[2].cost, rows[2].reserved_money);
    let asked = bench.model.asked();
    assert_eq!(
        asked[1].messages, asked[5].messages,
        "the same request again"
    );
    let facts = bench.facts("one");
    assert_eq!((facts.state, facts.attempt.0), (JobState::CutOver, 1));
    assert_eq!(facts.tokens(), 2 * 105 + rows[2].reserved_tokens);
}

#[test]
fn a_spend_cap_holds_the_provider_for_every_job_until_it_answers_again() {
    let capped = Say::Fails(failure(TurnFailureClass::StopBudget));
    let bench = Bench::new(&script(&[
        capped.clone(),
        capped,
        ack("one", "propose_config"),
        hand_in("good"),
    ]));
    let mut engine = bench.engine();
    while bench.alerts("provider") == 0 {
        engine.turn().unwrap();
    }
    let asked = bench.model.asked().len();
    while engine.now().since(START) < 3_000_000 {
        engine.turn().unwrap();
    }
    assert_eq!(bench.model.asked().len(), asked, "nobody asks it meanwhile");
    engine.run().unwrap();
    let rows = bench.turns("one");
    assert!(rows[1].started_at.since(rows[0].started_at) >= 3_600_000);
    assert_eq!(bench.facts("one").state, JobState::CutOver);
    assert_eq!(bench.alerts("provider"), 1, "the same is told once");
    let open = bench.reader().view().alerts(&goal()).unwrap();
    assert!(
        open.iter().all(|alert| alert.cleared_at.is_some()),
        "{open:?}"
    );
}

/// Refuses every turn until an instant, then does the job that it is asked about.
struct Down {
    until: TimeMs,
    how: TurnFailure,
    model: Scripted,
    asked: Mutex<Vec<TimeMs>>,
}

impl Provider for Down {
    fn name(&self) -> &str {
        "scripted"
    }
    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        self.model.body(request)
    }
    fn price(&self, model: &str) -> Option<crate::contract::Price> {
        self.model.price(model)
    }
    fn turn(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        self.asked.lock().unwrap().push(limits.now);
        if limits.now < self.until {
            return Err(Box::new(self.how.clone()));
        }
        let first = opening(request);
        let job = first.lines().next().unwrap().trim_start_matches("job: ");
        let say = if request.messages.len() == 1 {
            ack(job, "propose_config")
        } else {
            hand_in("good")
        };
        self.model.script.lock().unwrap().push_back(say);
        self.model.turn(request, limits)
    }
}

fn down(how: TurnFailure) -> Arc<Down> {
    Arc::new(Down {
        until: START.plus_ms(3_600_000),
        how,
        model: Scripted::default(),
        asked: Mutex::default(),
    })
}

#[test]
fn an_outage_of_the_provider_is_one_alert_costs_nothing_and_ends_with_a_probe() {
    for status in [Some(529), Some(503), None] {
        let mut how = failure(TurnFailureClass::Retry);
        how.status = status;
        how.fallback = true;
        let provider = down(how);
        let bench = Bench::many(8, Arc::clone(&provider) as Arc<dyn Provider>);
        assert_eq!(bench.run(), Finish::Ended);
        let reader = bench.reader();
        let outages = reader.view().outages(&goal()).unwrap();
        assert_eq!(outages.len(), 1, "{status:?}: {outages:?}");
        let outage = &outages[0];
        assert_eq!(outage.part, WorldPart::Provider("scripted".to_owned()));
        assert!(outage.ended_at.is_some() && outage.probes > 0, "{outage:?}");
        assert_eq!((bench.alerts("outage"), bench.alerts("provider")), (1, 0));
        let alerts = reader.view().alerts(&goal()).unwrap();
        assert!(alerts.iter().all(|one| one.cleared_at.is_some()));
        assert!(
            alerts[0]
                .evidence
                .contains("the provider scripted seems to be out")
        );
        // From then on one job asks at a time, and ever more rarely.
        let asked = provider.asked.lock().unwrap().clone();
        let probes: Vec<&TimeMs> = asked
            .iter()
            .filter(|at| **at > outage.began_at.plus_ms(5_000) && **at < provider.until)
            .collect();
        assert!(
            probes.len() <= 12,
            "{status:?}: {} asked in vain",
            probes.len()
        );
        for job in &bench.small.jobs {
            let facts = bench.facts(job);
            assert_eq!(facts.state, JobState::CutOver, "{job}: {}", facts.reason);
            assert_eq!((facts.attempt.0, facts.repair_rounds), (1, 0), "{job}");
            let paid = bench
                .turns(job)
                .iter()
                .filter(|row| row.tokens() > 0)
                .count();
            assert_eq!(paid, 2, "{job}: what failed cost nothing");
        }
    }
}

#[test]
fn a_provider_that_names_its_time_is_not_out() {
    let mut how = failure(TurnFailureClass::Wait);
    how.status = Some(429);
    how.not_before = Some(START.plus_ms(3_600_000));
    let provider = down(how);
    let bench = Bench::many(8, Arc::clone(&provider) as Arc<dyn Provider>);
    bench.run();
    assert_eq!(bench.alerts("outage") + bench.alerts("provider"), 0);
    let asked = provider.asked.lock().unwrap().clone();
    assert_eq!(asked.iter().filter(|at| **at < provider.until).count(), 8);
    assert_eq!(bench.facts("job-00").state, JobState::CutOver);
}

/// How long a turn takes in these tests.
const TURN_MS: i64 = 1_000;

/// A provider that takes fewer turns at once than the engine has jobs.
struct Narrow {
    at_once: usize,
    /// When each turn that it took is over.
    flying: Mutex<Vec<TimeMs>>,
    refused: AtomicU64,
    most: AtomicU64,
    down: Arc<Down>,
}

impl Provider for Narrow {
    fn name(&self) -> &str {
        "scripted"
    }
    fn body(&self, request: &TurnRequest) -> Vec<u8> {
        self.down.body(request)
    }
    fn price(&self, model: &str) -> Option<crate::contract::Price> {
        self.down.price(model)
    }
    fn turn(
        &self,
        request: &TurnRequest,
        limits: &TurnLimits,
    ) -> Result<TurnReply, Box<TurnFailure>> {
        let mut flying = self.flying.lock().unwrap();
        flying.retain(|until| *until > limits.now);
        if flying.len() >= self.at_once {
            self.refused.fetch_add(1, Ordering::Relaxed);
            let mut how = failure(TurnFailureClass::Wait);
            how.status = Some(429);
            how.slow_down = true;
            how.most_retries = u8::MAX;
            how.not_before = Some(limits.now.plus_ms(10_000));
            return Err(Box::new(how));
        }
        flying.push(limits.now.plus_ms(TURN_MS));
        self.most.fetch_max(flying.len() as u64, Ordering::Relaxed);
        drop(flying);
        self.down.turn(request, limits)
    }
}

#[test]
fn a_provider_that_asks_for_fewer_calls_gets_fewer_at_once() {
    let narrow = Arc::new(Narrow {
        at_once: 2,
        flying: Mutex::default(),
        refused: AtomicU64::new(0),
        most: AtomicU64::new(0),
        down: Arc::new(Down {
            until: START,
            how: failure(TurnFailureClass::Retry),
            model: Scripted::default(),
            asked: Mutex::default(),
        }),
    });
    let bench = Bench::many(16, Arc::clone(&narrow) as Arc<dyn Provider>);
    assert_eq!(bench.run(), Finish::Ended);
    for job in &bench.small.jobs {
        let facts = bench.facts(job);
        assert_eq!(facts.state, JobState::CutOver, "{job}: {}", facts.reason);
        assert_eq!(facts.attempt.0, 1, "{job}");
    }
    let refused = narrow.refused.load(Ordering::Relaxed);
    assert_eq!(narrow.most.load(Ordering::Relaxed), 2);
    // 32 turns two at a time: fourteen are refused at once, and then as many as it takes to find two.
    println!("refused {refused} turns");
    assert!((14..=30).contains(&refused), "{refused}");
    assert_eq!(bench.alerts("outage") + bench.alerts("provider"), 0);
    let reader = bench.reader();
    let reasons: Vec<String> = bench
        .small
        .jobs
        .iter()
        .flat_map(|job| {
            let rows = reader
                .view()
                .job_events(&goal(), &JobId::from(job.as_str()));
            rows.unwrap()
                .into_iter()
                .map(|row| format!("{:?}", row.event))
        })
        .collect();
    let waited = |what: &str| reasons.iter().filter(|body| body.contains(what)).count();
    assert!(waited("it asked for fewer calls: at most") > 0);
    assert!(waited("turns were repeated within a minute") > 0);
    // A wait is told once and not at each turn of the others.
    assert!(
        waited("it asked for fewer calls") < 100,
        "{}",
        waited("it asked for fewer calls")
    );
}

#[test]
fn an_engine_that_starts_in_an_outage_knows_of_it() {
    let mut how = failure(TurnFailureClass::Retry);
    how.status = None;
    let provider = down(how);
    let bench = Bench::many(8, Arc::clone(&provider) as Arc<dyn Provider>);
    let mut engine = bench.engine();
    while bench.alerts("outage") == 0 {
        engine.turn().unwrap();
    }
    drop(engine);
    let before = provider.asked.lock().unwrap().len();
    let mut engine = bench.engine();
    for _ in 0..10 {
        engine.turn().unwrap();
    }
    assert!(
        provider.asked.lock().unwrap().len() <= before + 2,
        "one job probes"
    );
    engine.run().unwrap();
    drop(engine);
    assert_eq!(bench.alerts("outage"), 1);
    assert_eq!(bench.facts("job-07").state, JobState::CutOver);
    assert_eq!(verify(&bench.path).unwrap().word(), "ok");
}

#[test]
fn a_cache_that_serves_nothing_is_told_once_and_taken_back_when_it_does() {
    let bench = Bench::new(&script(&[
        ack("one", "propose_config"),
        calls(&[("read_config", json!({"which": "old"}))]),
        calls(&[("read_evidence", json!({"clause": "all"}))]),
        hand_in("good"),
    ]));
    bench.model.cold.store(true, Ordering::Relaxed);
    let mut engine = bench.engine();
    while bench.turns("one").len() < 4 {
        engine.turn().unwrap();
    }
    let alerts = bench.reader().view().alerts(&goal()).unwrap();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert!(
        alerts[0]
            .evidence
            .contains("none of 5020 input tokens came from its cache in turn 2")
    );
    bench.model.cold.store(false, Ordering::Relaxed);
    engine.run().unwrap();
    let alerts = bench.reader().view().alerts(&goal()).unwrap();
    assert!(alerts[0].cleared_at.is_some(), "{alerts:?}");
    assert_eq!(bench.alerts("cache"), 1);
}
