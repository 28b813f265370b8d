//! Figure 15: the ledger of each release opens, verifies, replays and goes on with every later one.
//!
//! `UPDATE_GOLDEN=1 DOGWATCH_BIN=… cargo test --test reliability golden:: -- --nocapture` makes the files of the
//! present version anew under tests/golden/; once a version is released, its files are never made again.

use super::share::{PATIENCE, assert_sound, finish};
use crate::support::practice::{Demo, strings};
use crate::support::{Running, call, dogwatch, entries, json, look, repository, within};
use nix::sys::signal::Signal;
use std::fs::File;
use std::path::Path;

/// A ledger names its world by an absolute path, so a golden one always lies here while it is tested.
const PLACE: &str = "/tmp/dogwatch-golden";
const FILES: [&str; 3] = ["ledger.db", "world.db", "practice.toml"];

/// The place, kept from another run of this test and removed at the end.
struct Place(File);

impl Place {
    fn take() -> Self {
        let lock = File::create(format!("{PLACE}.lock")).unwrap();
        lock.lock().unwrap();
        let _ = std::fs::remove_dir_all(PLACE);
        std::fs::create_dir_all(PLACE).unwrap();
        Self(lock)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(PLACE);
    }
}

fn demo() -> Demo {
    Demo::small(Path::new(PLACE), 7, 3)
}

/// A migration stopped in the middle: something applied, something decided, something open.
fn make() {
    let demo = demo();
    let mut command = dogwatch(&demo.ledger());
    command
        .args([
            "demo",
            "--headless",
            "--seed",
            "7",
            "--jobs",
            "3",
            "--speed",
            "600",
        ])
        .args(["--approve", "practice-owner", "--dir", PLACE]);
    let mut running = Running::start(&mut command);
    assert!(within(PATIENCE, || entries(
        &demo.ledger(),
        "approval.decided"
    ) > 0));
    running.signal(Signal::SIGTERM);
    running.wait(PATIENCE).unwrap().expect_code(0);
    // One file each; of the world's sources only what these three jobs read.
    let whole = |path: &Path, more: &str| {
        let conn = rusqlite::Connection::open(path).unwrap();
        conn.execute_batch(more).unwrap();
        conn.execute_batch("pragma wal_checkpoint(truncate)")
            .unwrap();
    };
    whole(&demo.ledger(), "");
    let unread = strings(
        &look(&demo.world()),
        "select name from sqlite_master where type = 'table' and name like 'src\\_%' escape '\\' \
         and name not in ('src_customers', 'src_products', 'src_stores')",
    );
    let emptied: String = unread
        .iter()
        .map(|name| format!("delete from \"{name}\";"))
        .collect();
    whole(&demo.world(), &format!("{emptied} vacuum;"));
    let folder = repository("tests/golden").join(env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(&folder).unwrap();
    for name in FILES {
        let bytes = std::fs::read(demo.dir.join(name)).unwrap();
        let packed = zstd::encode_all(&bytes[..], 19).unwrap();
        std::fs::write(folder.join(format!("{name}.zst")), packed).unwrap();
    }
}

#[test]
fn the_ledger_of_each_release_goes_on() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _place = Place::take();
        make();
    }
    let mut releases = 0;
    for folder in std::fs::read_dir(repository("tests/golden")).unwrap() {
        let folder = folder.unwrap().path();
        let _place = Place::take();
        let demo = demo();
        for name in FILES {
            let packed = std::fs::read(folder.join(format!("{name}.zst"))).unwrap();
            let bytes = zstd::decode_all(&packed[..]).unwrap();
            std::fs::write(demo.dir.join(name), bytes).unwrap();
        }
        call(&demo.ledger(), &["verify"]).expect_code(0);
        let status = json(&demo.ledger(), &["status", "--json"]);
        assert_eq!(status["engine"]["running"], false);
        let before = entries(&demo.ledger(), "op.applied");
        assert!(before > 0);
        finish(&demo);
        assert_sound(&demo);
        assert!(
            entries(&demo.ledger(), "op.applied") > before,
            "nothing was left to do"
        );
        releases += 1;
        println!(
            "figure 15, golden: the ledger of {} opened, verified and went on",
            folder.display()
        );
    }
    assert!(releases > 0, "no golden ledger");
}
