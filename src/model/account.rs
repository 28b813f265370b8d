//! Operating-system accounts: who owns, who approves, who decided.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An operating-system account name, such as `etl-owner`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Account(pub String);

impl Account {
    /// The account that runs this process, by its effective user id; never by an environment
    /// variable, which anyone may set.
    pub fn current() -> Self {
        let uid = nix::unistd::Uid::effective();
        match nix::unistd::User::from_uid(uid) {
            Ok(Some(user)) => Self(user.name),
            _ => Self(format!("uid:{uid}")),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
