//! A model's loop as text: who said what, tools' answers folded, tokens a turn.

use crate::ledger::read::{Speaker, TranscriptTurn};
use crate::model::SafeText;

/// Lines of a folded text that are shown.
const SHOWN: usize = 3;

/// One attempt's loop. `whole` unfolds everything.
pub fn render(attempt: u32, turns: &[TranscriptTurn], whole: bool) -> String {
    let mut out = String::new();
    for turn in turns {
        let row = &turn.row;
        let cost = row.cost.map_or_else(String::new, |pico| {
            format!(
                ", {}",
                crate::model::PicoDollars(i64::try_from(pico).unwrap_or(i64::MAX))
            )
        });
        out.push_str(&format!(
            "attempt {attempt}, turn {} by {} ({}): {}; {} in, {} of them from cache, {} out{cost}\n",
            row.turn,
            SafeText::line(&row.model),
            SafeText::line(&row.provider),
            row.outcome,
            row.input(),
            row.cache_read.unwrap_or(0),
            row.output
        ));
        if row.outcome == "unknown" || row.outcome == "failed" {
            out.push_str(&format!("  {}\n", SafeText::line(&row.why)));
        }
        for line in &turn.lines {
            if line.speaker == Speaker::Rules && !whole {
                continue;
            }
            out.push_str(&format!(
                "  {:<7} {}\n",
                line.speaker.word(),
                SafeText::line(&line.head)
            ));
            let shown = if whole || !line.folded {
                usize::MAX
            } else {
                SHOWN
            };
            let own_head = matches!(line.speaker, Speaker::Call | Speaker::Tool);
            let lines: Vec<&str> = line.text.lines().skip(usize::from(!own_head)).collect();
            if own_head && lines.len() == 1 && line.head.ends_with(line.text.trim()) {
                continue;
            }
            for text in lines.iter().take(shown) {
                out.push_str(&format!("          {}\n", SafeText::line(text)));
            }
            if lines.len() > shown {
                out.push_str(&format!("          … {} more lines\n", lines.len() - shown));
            }
        }
    }
    out
}
