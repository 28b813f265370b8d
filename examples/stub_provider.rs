//! The scripted provider of the tests as a process: `cargo run --example stub_provider -- --scenario FILE`.
//!
//! Prints its addresses and runs until it is stopped. It is no language model.

#[path = "../tests/stub_provider/mod.rs"]
mod stub_provider;

fn main() -> Result<(), String> {
    let mut scenario = None;
    let mut address = "127.0.0.1:0".to_owned();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--scenario" => scenario = Some(value?),
            "--listen" => address = value?,
            _ => {
                return Err(
                    "usage: stub_provider --scenario FILE [--listen 127.0.0.1:PORT]".to_owned(),
                );
            }
        }
    }
    let file = scenario.ok_or("--scenario FILE is missing")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let stub = stub_provider::Stub::start_at(&text, &address)?;
    println!("{}", stub.base_url());
    println!("{}", stub.chat_url());
    loop {
        std::thread::park();
    }
}
