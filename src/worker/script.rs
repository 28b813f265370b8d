//! `script` and `command` workers.
