//! Measures of the mechanism itself.

#[cfg(test)]
mod chat_loop;
pub mod long_session;
pub mod noise;
pub mod noop;
pub mod noop_goal;
pub mod owner;
pub mod score;
pub mod sim;
pub mod story;
