//! What was measured, beside what is aimed at.

/// How far an aim may be missed before it is a failure: times on a shared machine are noise, bytes are not.
const TIMES: f64 = 4.0;
const SPACE: f64 = 1.5;

/// One figure of one size of ledger.
pub struct Figure {
    pub what: &'static str,
    pub unit: &'static str,
    /// `None` where this system does not tell.
    pub value: Option<f64>,
    pub aim: Option<Aim>,
}

/// At most this much.
#[derive(Clone, Copy)]
pub struct Aim {
    pub most: f64,
    /// Beyond this many times the aim the measurement fails.
    pub margin: f64,
}

/// A time that is aimed at.
pub const fn time(most: f64) -> Option<Aim> {
    Some(Aim {
        most,
        margin: TIMES,
    })
}

/// Bytes, memory, processor: the same on a busy machine.
pub const fn amount(most: f64) -> Option<Aim> {
    Some(Aim {
        most,
        margin: SPACE,
    })
}

impl Figure {
    pub fn new(what: &'static str, unit: &'static str, value: f64, aim: Option<Aim>) -> Self {
        Self {
            what,
            unit,
            value: Some(value),
            aim,
        }
    }

    fn is_met(&self) -> Option<bool> {
        Some(self.value? <= self.aim?.most)
    }

    /// Missed so far that it is no noise.
    pub fn failed(&self) -> bool {
        match (self.value, self.aim) {
            (Some(value), Some(aim)) => value > aim.most * aim.margin,
            _ => false,
        }
    }

    fn shown(&self) -> String {
        match self.value {
            Some(value) if value.fract() == 0.0 || value >= 100.0 => format!("{value:.0}"),
            Some(value) => format!("{value:.1}"),
            None => "not told here".to_owned(),
        }
    }
}

/// A table in Markdown: a row a figure, a column a size of ledger, the aim beside them.
pub fn table(measured: &[(u64, Vec<Figure>)]) -> String {
    let sizes: Vec<String> = measured
        .iter()
        .map(|(jobs, _)| format!(" {jobs} jobs |"))
        .collect();
    let mut out = format!("| figure | aim |{}\n", sizes.concat());
    out.push_str(&format!("|---|---|{}\n", "---|".repeat(measured.len())));
    let Some((_, first)) = measured.first() else {
        return out;
    };
    for (at, one) in first.iter().enumerate() {
        let aims: Vec<f64> = measured
            .iter()
            .filter_map(|(_, figures)| figures[at].aim.map(|aim| aim.most))
            .collect();
        let least = aims.iter().copied().fold(f64::MAX, f64::min);
        let most = aims.iter().copied().fold(f64::MIN, f64::max);
        let aim = match aims.len() {
            0 => String::new(),
            _ if least < most => format!("≤ {least} to {most} {}", one.unit),
            _ => format!("≤ {most} {}", one.unit),
        };
        out.push_str(&format!("| {}, {} | {aim} |", one.what, one.unit));
        for (_, figures) in measured {
            let figure = &figures[at];
            let sign = match figure.is_met() {
                Some(true) => " ✓",
                Some(false) => " ✗",
                None => "",
            };
            out.push_str(&format!(" {}{sign} |", figure.shown()));
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_table_names_aims_and_marks_what_misses_them() {
    let figures = |ms, bytes| {
        vec![
            Figure::new("first frame", "ms", ms, time(50.0)),
            Figure::new("idle", "bytes", bytes, amount(0.0)),
            Figure::new("page", "ms", 3.25, None),
        ]
    };
    let measured = [(120, figures(7.0, 0.0)), (10_000, figures(60.0, 1.0))];
    let text = table(&measured);
    assert!(
        text.contains("| figure | aim | 120 jobs | 10000 jobs |"),
        "{text}"
    );
    assert!(
        text.contains("| first frame, ms | ≤ 50 ms | 7 ✓ | 60 ✗ |"),
        "{text}"
    );
    assert!(text.contains("| page, ms |  | 3.2 | 3.2 |"), "{text}");
    let failed: Vec<bool> = measured[1].1.iter().map(Figure::failed).collect();
    assert_eq!(failed, [false, true, false]);
}
