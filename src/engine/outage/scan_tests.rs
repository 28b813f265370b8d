use super::*;

fn trial(minute: f64, job: usize, failed: bool) -> Trial {
    Trial {
        at: TimeMs((minute * 60_000.0) as i64),
        job: JobId(format!("job-{job}")),
        tried: Tried::Run,
        failed,
    }
}

#[test]
fn the_tail_is_the_binomial_s() {
    assert!((at_least(3, 3, 0.1) - 1e-3).abs() < 1e-12);
    assert!((at_least(4, 2, 0.5) - 11.0 / 16.0).abs() < 1e-12);
    assert!((at_least(10, 1, 0.1) - (1.0 - 0.9_f64.powi(10))).abs() < 1e-12);
    assert!((at_least(32, 32, 0.01).log10() + 64.0).abs() < 1e-6);
    assert_eq!(at_least(5, 0, 0.3), 1.0);
}

fn measured(rate: f64) -> History {
    let mut history = History::default();
    for n in 0..400 {
        let failed = (n as f64 * rate).fract() < rate;
        history.push(trial(f64::from(n) * 0.5, n as usize % 40, failed));
    }
    history
}

#[test]
fn eight_jobs_that_fail_at_once_are_an_outage_and_one_that_fails_eight_times_is_not() {
    let mut down = measured(0.1);
    let mut found = None;
    for n in 0..24 {
        down.push(trial(
            201.0 + f64::from(n) * 0.1,
            100 + n as usize % 8,
            true,
        ));
        found = found.or(down.scan(3, ALPHA).map(|cluster| (n, cluster)));
    }
    let (after, cluster) = found.unwrap();
    assert!(after < 12, "{after}");
    assert!(
        cluster.jobs >= 6 && cluster.chance < ALPHA && cluster.rate < 0.16,
        "{cluster:?}"
    );
    assert!(cluster.from >= TimeMs(190 * 60_000), "{cluster:?}");

    let mut stubborn = measured(0.1);
    for n in 0..24 {
        stubborn.push(trial(201.0 + f64::from(n) * 0.1, 7, true));
        assert_eq!(stubborn.scan(3, ALPHA), None);
    }
}

#[test]
fn failures_far_apart_are_no_cluster() {
    let mut history = measured(0.1);
    for n in 0..30 {
        history.push(trial(300.0 + f64::from(n) * 20.0, n as usize, true));
        assert_eq!(history.scan(3, ALPHA), None);
    }
}

#[test]
fn what_is_not_known_yet_asks_for_more() {
    let empty = History::default();
    assert!((0.28..0.30).contains(&empty.rate()), "{}", empty.rate());
    assert!((0.10..0.15).contains(&measured(0.1).rate()));
    assert_eq!((least_jobs(1), least_jobs(2), least_jobs(8)), (2, 2, 3));
}
