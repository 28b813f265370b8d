use super::*;
use crate::contract::Workdays;
use proptest::prelude::*;

const DAY: i64 = 86_400_000;

fn inputs(open: usize, ratios: &[f64]) -> Inputs {
    // Monday 2024-04-01, 09:00 UTC; the deadline is Friday 18:00.
    let now = TimeMs::from_timestamp("2024-04-01T09:00:00Z".parse().unwrap());
    let job = OpenJob {
        queries: 6,
        tokens: 0,
        money: 0,
        actions: 2,
        model: true,
        approval: true,
    };
    Inputs {
        now,
        since: now.plus_ms(-DAY),
        deadline: Some(TimeMs::from_timestamp(
            "2024-04-05T18:00:00Z".parse().unwrap(),
        )),
        minutes_left: Some(5.0 * 9.0 * 60.0),
        time: None,
        minutes_each: 3.0,
        open: vec![job; open],
        samples: Samples {
            query_ratio: ratios.to_vec(),
            ..Samples::default()
        },
        budgets: vec![BudgetState {
            budget: Budget::WarehouseQueries,
            per_day: true,
            limit: 100,
            handoff: 100,
            spent: 40,
            reserved: 0,
            left: Some(460),
        }],
        renewals: (0..30)
            .map(|day| {
                TimeMs::from_timestamp("2024-04-02T00:00:00Z".parse().unwrap()).plus_ms(day * DAY)
            })
            .collect(),
        workdays: Workdays {
            zone: "UTC".to_owned(),
            days: [true, true, true, true, true, false, false],
            from_minute: 9 * 60,
            to_minute: 18 * 60,
        },
    }
}

#[test]
fn before_anything_is_measured_the_contracts_numbers_hold() {
    let all = outlook(&inputs(10, &[2.0, 2.0]));
    assert!(!all.measured);
    let need = all.budgets[0].need.unwrap();
    assert!((need.p50 - 69.0).abs() < 1e-9, "{need:?}");
    assert_eq!(all.approvals.need_minutes.p50, 30.0);
}

#[test]
fn the_spread_comes_from_what_finished_jobs_cost() {
    let all = outlook(&inputs(50, &[1.0, 1.0, 1.0, 1.5, 1.5, 2.0]));
    let need = all.budgets[0].need.unwrap();
    assert!(
        all.measured && need.p10 < need.p50 && need.p50 < need.p90,
        "{need:?}"
    );
    // 50 jobs of 6 queries at a mean ratio of 4/3.
    assert!((need.p50 - 400.0).abs() < 15.0, "{need:?}");
    assert_eq!(all, outlook(&inputs(50, &[1.0, 1.0, 1.0, 1.5, 1.5, 2.0])));
}

#[test]
fn what_does_not_fit_is_said_with_its_numbers_and_does_not_flap() {
    let fits = outlook(&inputs(50, &[1.0; 6]));
    assert_eq!(fits.misfits(false), Vec::<String>::new());
    let short = outlook(&inputs(100, &[1.0; 6]));
    assert_eq!(
        short.misfits(false),
        [
            "warehouse_queries: about 600 queries are needed, 460 queries are left until the deadline"
        ]
    );
    assert_eq!(short.budgets[0].short, 140.0);
    // Between the two shares nothing is raised that was not, and nothing cleared that was.
    let mut between = fits.clone();
    between.budgets[0].fits = Some(0.6);
    assert!(between.misfits(false).is_empty());
    assert_eq!(between.misfits(true).len(), 1);
    between.budgets[0].fits = Some(0.75);
    assert!(between.misfits(true).is_empty());
}

#[test]
fn the_end_is_the_later_of_quota_and_approver() {
    // 60 left today, 300 needed: three renewals more.
    let all = outlook(&inputs(50, &[1.0; 6]));
    let end = TimeMs(all.finish.unwrap().p50 as i64);
    assert_eq!(end.to_string(), "2024-04-04T00:00:00Z");
    let mut slow = inputs(50, &[1.0; 6]);
    slow.samples.minutes = vec![60.0; 6];
    let all = outlook(&slow);
    let end = TimeMs(all.finish.unwrap().p50 as i64);
    // 50 hours at nine a day.
    assert_eq!(end.to_string(), "2024-04-08T14:00:00Z");
    assert_eq!(all.finish_fits, Some(0.0));
    assert!(all.misfits(false)[0].starts_with("approvals: about 3000 minutes"));
}

#[test]
fn a_total_says_when_it_reaches_its_handoff_and_its_wall() {
    let mut own = inputs(10, &[1.0; 6]);
    own.samples.tokens = vec![1_000; 6];
    own.budgets = vec![BudgetState {
        budget: Budget::Tokens,
        per_day: false,
        limit: 5_000,
        handoff: 4_000,
        spent: 2_000,
        reserved: 0,
        left: Some(3_000),
    }];
    let tokens = &outlook(&own).budgets[0];
    // 2,000 in one day: the handoff in one more, the wall in one and a half.
    assert_eq!(tokens.handoff_at, Some(own.now.plus_ms(DAY)));
    assert_eq!(tokens.wall_at, Some(own.now.plus_ms(DAY * 3 / 2)));
    assert_eq!((tokens.fits, tokens.short), (Some(0.0), 7_000.0));
    own.open.truncate(1);
    let tokens = &outlook(&own).budgets[0];
    assert_eq!((tokens.handoff_at, tokens.wall_at), (None, None));
    assert_eq!(tokens.fits, Some(1.0));
}

proptest! {
    #[test]
    fn more_open_jobs_never_need_less(open in 1_usize..60, ratio in 0.5_f64..3.0) {
        let few = outlook(&inputs(open, &[ratio; 6])).budgets[0].need.unwrap();
        let more = outlook(&inputs(open + 1, &[ratio; 6])).budgets[0].need.unwrap();
        prop_assert!(more.p50 >= few.p50);
        prop_assert!(few.p10 <= few.p50 && few.p50 <= few.p90);
    }
}
