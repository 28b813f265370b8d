//! Loops of chat workers against a scripted model and against the stub provider: what is written down, what is
//! refused, what survives a death.

mod bench;
mod ends;
mod forbidden;
mod people;
mod provider_fails;
mod script;
mod small;
#[path = "../../../tests/stub_provider/mod.rs"]
mod stub_provider;
mod stub_tests;
mod told;
