//! The `dogwatch` binary.
fn main() {}
