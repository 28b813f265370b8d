//! One operation of unknown outcome: what was asked, what was seen, what a person can do.

use crate::model::OperationId;
use crate::tui::app::Model;
use crate::tui::text::state::Standing;
use crate::tui::text::{self, Line, labelled, paragraph, sentence, state, time};
use crate::tui::theme::Role;

const LABEL: usize = 12;

/// The page.
pub fn lines(model: &Model, id: &OperationId, width: usize) -> Vec<Line> {
    let shot = &model.snapshot;
    let Some(data) = &shot.job else {
        return vec![Line::dim("reading the ledger…")];
    };
    let Some(row) = data.operations.iter().find(|row| row.operation == *id) else {
        return vec![Line::dim("this operation is not in the ledger any more")];
    };
    let standing = state::of_operation(row.state, row.to_verify);
    let mut lines = vec![
        Line::of(
            format!("{} {}", standing.glyph, standing.word),
            standing.role,
        ),
        Line::new(),
    ];
    let asked = format!(
        "{} of {}, run {}, attempt {}",
        sentence::action_word(&row.action),
        row.job,
        row.ordinal,
        row.attempt
    );
    lines.extend(labelled("asked", &asked, Role::Text, LABEL, width));
    lines.extend(labelled(
        "id",
        row.operation.as_str(),
        Role::Text,
        LABEL,
        width,
    ));
    lines.extend(labelled(
        "config",
        row.config.short(),
        Role::Text,
        LABEL,
        width,
    ));
    lines.extend(labelled(
        "intended",
        &time::full(row.intended_at, &shot.zone),
        Role::Text,
        LABEL,
        width,
    ));
    lines.extend(labelled("seen", &row.why, Role::Warn, LABEL, width));
    let looks = format!(
        "sent {}, looked up {}",
        text::times(row.sends),
        text::times(row.look_ups)
    );
    lines.extend(labelled("so far", &looks, Role::Text, LABEL, width));
    if let Some(at) = row.next_look {
        let text = time::instant(at, shot.now(), &shot.zone);
        lines.extend(labelled("looks at", &text, Role::Text, LABEL, width));
    }
    if !row.reference.is_empty() {
        lines.extend(labelled(
            "reference",
            &row.reference,
            Role::Text,
            LABEL,
            width,
        ));
    }
    lines.push(Line::new());
    lines.extend(paragraph(advice(&standing), Role::Dim, width));
    lines
}

/// What a person can do about it.
fn advice(standing: &Standing) -> &'static str {
    if matches!(standing.word, "applied" | "refused") {
        "Settled. Nothing is left to do here."
    } else {
        "It may have happened. Not found is not proof of absence: look in the target by the id above \
         before ruling. r asks the engine to look again now; V records your ruling, with your name."
    }
}
