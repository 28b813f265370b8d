//! The interface as its operator meets it: keys in, decisions and screens out.

mod deciding;
mod goal;
mod going;
mod telling;

use crate::ledger::{Act, Event};
use crate::model::{ApprovalId, JobId, JobState};
use crate::tui::Leave;
use crate::tui::app::msg::{Effect, Msg};
use crate::tui::app::overlay::Overlay;
use crate::tui::app::place::{Kind, Place};
use crate::tui::app::{ARMING_MS, Answer, Model, next_deadline};
use crate::tui::fixture::World;
use crate::tui::keymap::Key;
use crossterm::event::KeyCode;
use proptest::prelude::*;

const FCT: &str = "a1b2c3d4e5f60001";
const FCT_JOB: &str = "fct_orders_daily";

/// On the card of an open request, drawn and read.
fn at_card() -> World {
    let mut world = World::filled();
    world.keys("2\n");
    assert_eq!(world.model.place(), Place::Card(ApprovalId::from(FCT)));
    world.drawn_and(ARMING_MS);
    world
}

fn sent(effects: &[Effect]) -> Vec<&Act> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Submit { act, .. } => Some(act),
            _ => None,
        })
        .collect()
}
