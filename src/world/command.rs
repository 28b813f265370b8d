//! Executables that speak one JSON request on stdin and one JSON reply on stdout (docs/adapters.md).
