//! The environment: what is fact. Ports are traits; adapters implement them.

pub mod command;
pub mod http;
pub mod job_table;
pub mod open;
pub mod ports;
pub mod practice;
pub mod process;
pub mod secret;
pub mod sqlite_functions;
pub mod strict_json;
pub mod worker_sql;

pub use open::{OpenError, open_world};
pub use ports::World;
