//! Outages: many jobs fail at once for no fault of theirs. One alert; what would fail as well waits; one
//! job probes; what was tried in vain is given back.

mod hold;
pub mod scan;
mod shell;
mod state;

pub use hold::{OutageView, hold, part_of};
pub(super) use scan::Tried;
pub(super) use shell::Ended;
pub(super) use state::Outages;
