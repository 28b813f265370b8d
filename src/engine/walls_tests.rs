use super::*;
use crate::contract::parse_goal;
use proptest::prelude::*;
use std::path::Path;

fn at(text: &str) -> TimeMs {
    TimeMs::from_timestamp(text.parse().unwrap())
}

/// Monday morning in Berlin.
fn start() -> TimeMs {
    at("2024-04-01T07:00:00Z")
}

fn contract(budgets: &str) -> Contract {
    let text = format!(
        "[goal]\nid = \"g\"\nobjective = \"o\"\nowner = \"ann\"\nzone = \"Europe/Berlin\"\n\
         [[accept]]\nid = \"rows\"\ncheck = \"row_count\"\n{budgets}"
    );
    parse_goal(&text, Path::new("/"), None).unwrap().contract
}

fn walls(budgets: &str) -> Walls {
    Walls::new(&contract(budgets), start(), &[], Vec::new(), start())
}

fn tokens(amount: u64) -> Amounts {
    Amounts::from([(Budget::Tokens, amount)])
}

fn queries(amount: u64) -> Amounts {
    Amounts::from([(Budget::WarehouseQueries, amount)])
}

#[test]
fn a_day_ends_at_local_midnight_also_when_the_clock_changes() {
    // 2024-03-31 has 23 hours in Berlin: 22:30 UTC is 00:30 on the 1st of April.
    let (day, next) = day_of("Europe/Berlin", at("2024-03-30T23:30:00Z"));
    assert_eq!(
        (day.as_str(), next),
        ("2024-03-31", at("2024-03-31T22:00:00Z"))
    );
    assert_eq!(
        day_of("Europe/Berlin", at("2024-03-31T22:30:00Z")).0,
        "2024-04-01"
    );
}

#[test]
fn a_days_queries_cannot_be_reserved_twice_and_renew_at_midnight() {
    let mut walls = walls("[budget.warehouse_queries]\nlimit = 10\nper = \"day\"\n");
    walls.add_reserved(&queries(6));
    let day = walls.day().to_owned();
    let left = |walls: &Walls| walls.queries().unwrap().left;
    assert_eq!(left(&walls), 4);
    assert_eq!(walls.room_for(&queries(5)).unwrap_err().left, 4);
    walls.move_use(&queries(6), &queries(4), &day);
    assert_eq!(left(&walls), 6);
    walls.roll(walls.queries().unwrap().renews_at);
    assert_eq!(left(&walls), 10);
    // Yesterday's answer gives nothing back today.
    walls.move_use(&queries(4), &queries(0), &day);
    assert_eq!(left(&walls), 10);
}

#[test]
fn what_is_set_aside_counts_until_it_is_settled() {
    let mut walls = walls("[budget.tokens]\nlimit = 1000\n");
    let job = JobId::from("a");
    walls.reserve(&job, &SpendId::from("1"), &tokens(700));
    let refused = walls.room_for(&tokens(301)).unwrap_err();
    assert_eq!((refused.left, refused.renews_at), (300, None));
    assert!(walls.room_for(&tokens(300)).is_ok());
    assert_eq!(
        walls.settle(&SpendId::from("1"), &tokens(100)).unwrap().job,
        job
    );
    assert!(walls.room_for(&tokens(900)).is_ok());
    assert!(walls.settle(&SpendId::from("1"), &tokens(100)).is_none());
    assert!(walls.room_for(&tokens(900)).is_ok());
}

#[test]
fn the_handoff_goes_by_what_is_spent_not_by_what_is_set_aside() {
    let mut walls = walls("[budget.tokens]\nlimit = 1000\n");
    let id = SpendId::from("1");
    walls.reserve(&JobId::from("a"), &id, &tokens(900));
    assert!(walls.reached(start()).is_empty());
    walls.settle(&id, &tokens(799));
    assert!(walls.reached(start()).is_empty());
    walls.add_spent(&tokens(1));
    let reached = walls.reached(start());
    assert_eq!(
        reached[0].sentence(),
        "tokens: 80 % of 1,000 tokens is used"
    );
    assert_eq!(walls.view(start()).shut, None);
    assert!(walls.view(start()).draining.is_some());
    walls.add_spent(&tokens(200));
    assert!(walls.reached(start())[0].at_wall);
}

#[test]
fn working_days_end_the_work_at_their_own_end() {
    let walls =
        walls("[budget.wall_clock]\nlimit = \"5 workdays\"\n[budget.handoff_at]\npercent = 80\n");
    let (handoff, end) = walls.time().unwrap();
    // Four of five days of nine hours: Thursday evening; the wall is Friday evening.
    assert_eq!(handoff, at("2024-04-04T16:00:00Z"));
    assert_eq!(end, at("2024-04-05T16:00:00Z"));
    assert!(walls.view(handoff.plus_ms(-1)).draining.is_none());
    assert!(walls.view(handoff).draining.is_some() && walls.view(handoff).shut.is_none());
    assert!(
        walls
            .view(end)
            .shut
            .unwrap()
            .contains("all of 45.0 working hours")
    );
    assert_eq!(walls.next_change(handoff), Some(end));
}

#[test]
fn a_raised_wall_makes_room_and_a_lowered_one_stops_at_once() {
    let mut walls = walls("[budget.tokens]\nlimit = 1000\n");
    walls.add_spent(&tokens(850));
    assert!(!walls.reached(start()).is_empty());
    walls.set_contract(&contract("[budget.tokens]\nlimit = 5000\n"), start());
    assert!(walls.reached(start()).is_empty());
    assert!(walls.room_for(&tokens(4_150)).is_ok());
    walls.set_contract(&contract("[budget.tokens]\nlimit = 100\n"), start());
    assert!(walls.reached(start())[0].at_wall);
    assert_eq!(walls.room_for(&tokens(1)).unwrap_err().left, 0);
}

#[test]
fn actions_are_counted_in_all_and_by_day() {
    let mut walls = walls("[budget.external_actions]\nlimit = 2\nper = \"day\"\n");
    let one = Amounts::from([(Budget::ExternalActions, 1)]);
    walls.add_spent(&one);
    assert!(walls.view(start()).no_action.is_none());
    walls.add_spent(&one);
    let refused = walls.view(start()).no_action.unwrap();
    let wait = refused.waiting(start());
    assert_eq!(wait.kind, WaitKind::Quota);
    assert_eq!(wait.next_check, at("2024-04-01T22:00:00Z"));
    walls.roll(wait.next_check);
    assert!(walls.view(wait.next_check).no_action.is_none());
}

#[test]
fn after_a_crash_the_ledgers_use_counts_on() {
    let spent = |day: &str, budget, reserved, spent| BudgetUse {
        budget,
        day: day.to_owned(),
        reserved,
        spent,
        unsure: 0,
    };
    let rows = [
        spent("", Budget::Tokens, 300, 600),
        spent("2024-04-01", Budget::WarehouseQueries, 2, 5),
        spent("2024-03-31", Budget::WarehouseQueries, 0, 10),
    ];
    let open = OpenSpend {
        id: SpendId::from("a/1/1"),
        job: JobId::from("a"),
        amounts: tokens(300),
        day: "2024-04-01".to_owned(),
    };
    let limits =
        "[budget.tokens]\nlimit = 1000\n[budget.warehouse_queries]\nlimit = 10\nper = \"day\"\n";
    let mut walls = Walls::new(
        &contract(limits),
        start(),
        &rows,
        vec![open.clone()],
        start(),
    );
    assert_eq!(walls.queries().unwrap().left, 3);
    assert_eq!(walls.room_for(&tokens(101)).unwrap_err().left, 100);
    // Nobody knows what it cost: it costs all of it.
    walls.settle(&open.id, &open.amounts);
    assert!(walls.reached(start())[0].percent == 80);
    assert_eq!(walls.room_for(&tokens(101)).unwrap_err().left, 100);
}

proptest! {
    /// Whatever is reserved, settled and refused in whatever order, and with the ledger read again at any
    /// moment, what is spent never crosses the wall while nobody spends more than was set aside.
    #[test]
    fn no_order_of_spending_crosses_a_wall(
        steps in proptest::collection::vec((0_u64..400, 0_u8..8, any::<bool>(), 0_u64..=100), 1..200),
        limit in 1_u64..3_000,
    ) {
        let budgets = format!("[budget.tokens]\nlimit = {limit}\n[budget.money]\nlimit = 2.5\n");
        let mut walls = walls(&budgets);
        let (mut spent, mut held): (u64, BTreeMap<SpendId, u64>) = (0, BTreeMap::new());
        for (need, slot, start_it, share) in steps {
            let id = SpendId(format!("job{slot}"));
            if let Some(amount) = held.remove(&id) {
                let real = amount * share / 100;
                walls.settle(&id, &tokens(real));
                spent += real;
            } else if start_it && walls.room_for(&tokens(need)).is_ok() {
                walls.reserve(&JobId(format!("j{slot}")), &id, &tokens(need));
                held.insert(id, need);
            }
            let aside: u64 = held.values().sum();
            prop_assert!(spent + aside <= limit, "{spent} + {aside} > {limit}");
        }
    }
}
