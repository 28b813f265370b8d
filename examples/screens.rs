//! Pictures for the documentation: real screens of the real binary in a pseudo-terminal, as SVG.
//!
//! ```text
//! cargo build && cargo run --example screens -- target/debug/dogwatch assets/screens
//! ```
//!
//! The practice migration runs until something waits for approval; then each screen is taken.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../tests/pty_support/mod.rs"]
mod pty_support;

use pty_support::Term;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

const SIZE: (u16, u16) = (100, 28);
const CELL: (f64, f64) = (8.4, 17.0);
const PAD: f64 = 14.0;
const BACK: &str = "#14171c";
const FORE: &str = "#d6d9de";
/// The sixteen colours.
const PALETTE: [&str; 16] = [
    "#2a2f38", "#e5685f", "#7fbf6a", "#d8a94a", "#6ca3e8", "#c38be0", "#5fbfbf", "#d6d9de",
    "#8a919c", "#ff8b81", "#a3dd8c", "#f2ca70", "#94c0ff", "#dcaef5", "#8be0e0", "#ffffff",
];

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(binary), Some(out)) = (words.next(), words.next()) else {
        eprintln!("screens BINARY DIRECTORY");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&out).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().to_str().unwrap();
    let binary = std::path::absolute(binary).unwrap();
    let words = ["demo", "--dir", place, "--speed", "20000"];
    let mut term = Term::sized(&binary, words, SIZE);
    let take = |term: &Term, name: &str| {
        std::thread::sleep(Duration::from_millis(600));
        let svg = svg(term.seen.lock().unwrap().parser.screen());
        std::fs::write(Path::new(&out).join(format!("{name}.svg")), svg).unwrap();
    };
    term.until("several requests", |screen| {
        let text = screen.contents();
        let count = text
            .split(" approvals")
            .next()
            .and_then(|before| before.split_whitespace().last());
        count
            .and_then(|count| count.parse::<u32>().ok())
            .is_some_and(|count| count >= 6)
    });
    take(&term, "jobs");
    term.keys("2");
    term.sees("Approvals");
    take(&term, "approvals");
    term.keys("\r");
    term.sees("A approve   X reject");
    take(&term, "card");
    term.keys("qq");
    term.sees("stop after the current steps");
    term.keys("w");
    term.exits(Duration::from_secs(30));
}

fn colour(colour: vt100::Color, otherwise: &str) -> String {
    match colour {
        vt100::Color::Default => otherwise.to_owned(),
        vt100::Color::Idx(index @ 0..=15) => PALETTE[usize::from(index)].to_owned(),
        vt100::Color::Idx(_) => otherwise.to_owned(),
        vt100::Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// One text element a run of cells that look alike.
fn svg(screen: &vt100::Screen) -> String {
    let (rows, cols) = screen.size();
    let width = f64::from(cols) * CELL.0 + 2.0 * PAD;
    let height = f64::from(rows) * CELL.1 + 2.0 * PAD;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACK}\"/>\n\
         <g font-family=\"'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" \
         xml:space=\"preserve\">\n"
    );
    for row in 0..rows {
        let mut col = 0;
        while col < cols {
            let (look, begin) = (look(screen, row, col), col);
            let mut text = String::new();
            while col < cols && self::look(screen, row, col) == look {
                let cell = screen.cell(row, col).unwrap();
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() {
                        cell.contents()
                    } else {
                        " "
                    });
                }
                col += 1;
            }
            run(&mut out, &look, &text, row, begin, col - begin);
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

#[derive(PartialEq, Eq)]
struct Look {
    fore: String,
    back: Option<String>,
    bold: bool,
    dim: bool,
}

fn look(screen: &vt100::Screen, row: u16, col: u16) -> Look {
    let cell = screen.cell(row, col).unwrap();
    let (fore, back) = (colour(cell.fgcolor(), FORE), colour(cell.bgcolor(), BACK));
    let (fore, back) = if cell.inverse() {
        (back, fore)
    } else {
        (fore, back)
    };
    Look {
        fore,
        back: (back != BACK).then_some(back),
        bold: cell.bold(),
        dim: cell.dim(),
    }
}

fn run(out: &mut String, look: &Look, text: &str, row: u16, col: u16, cells: u16) {
    let x = PAD + f64::from(col) * CELL.0;
    let y = PAD + f64::from(row) * CELL.1;
    let wide = f64::from(cells) * CELL.0;
    if let Some(back) = &look.back {
        let high = CELL.1;
        writeln!(out, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high}\" fill=\"{back}\"/>").unwrap();
    }
    // Blanks at either end are cells without ink; their place is all that counts.
    let inked = text.trim();
    if inked.is_empty() {
        return;
    }
    let before = text.len() - text.trim_start().len();
    let after = text.len() - text.trim_end().len();
    let x = x + before as f64 * CELL.0;
    let wide = wide - (before + after) as f64 * CELL.0;
    let bold = if look.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let dim = if look.dim { " opacity=\"0.65\"" } else { "" };
    let base = y + 13.0;
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{base:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{bold}{dim}>{}</text>",
        look.fore,
        escape(inked)
    )
    .unwrap();
}
