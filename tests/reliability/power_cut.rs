//! Figure 2: images of what a power cut can leave, built from what the binary wrote and flushed.

use super::recording::{LEDGER, Recording, image};
use super::share::{dice, has, runs};
use crate::support::practice::Demo;
use crate::support::{Dice, call, look};
use std::path::Path;

#[test]
fn every_image_has_all_that_was_acknowledged() {
    if !has("strace") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::of(&Demo::small(dir.path(), 7, 4));
    let mut dice = dice(5);
    let wanted = runs(5_000, 50);
    let (mut with_ledger, mut torn) = (0, 0);
    for _ in 0..wanted {
        let before = dice.between(0, recording.acts.len() as u64 + 1) as usize;
        match fault_of(&recording, before, false, &mut dice) {
            Ok(true) => with_ledger += 1,
            Ok(false) => torn += 1,
            Err(why) => panic!("power cut before act {before}: {why}"),
        }
    }
    assert!(with_ledger > wanted / 2, "{with_ledger} of {wanted}");
    println!(
        "figure 2: {wanted} images of {} acts: {with_ledger} opened sound with every acknowledged entry, {torn} from \
         before the first entry, 0 lost",
        recording.acts.len()
    );
}

/// A disk that only says that it flushed must lose something, or the images see nothing.
#[test]
fn a_lying_disk_is_found_out() {
    if !has("strace") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let recording = Recording::of(&Demo::small(dir.path(), 7, 4));
    let mut dice = dice(6);
    let wanted = runs(500, 30);
    let lost = (0..wanted)
        .filter(|_| {
            let before = dice.between(0, recording.acts.len() as u64 + 1) as usize;
            fault_of(&recording, before, true, &mut dice).is_err()
        })
        .count() as u64;
    assert!(
        lost > wanted / 4,
        "only {lost} of {wanted} images of a lying disk fail"
    );
    println!(
        "figure 2, control: {lost} of {wanted} images of a disk that ignores flushes fail, as they must"
    );
}

/// Whether the image has a ledger; the error is what is wrong with it.
fn fault_of(
    recording: &Recording,
    before: usize,
    lying: bool,
    dice: &mut Dice,
) -> Result<bool, String> {
    let dir = tempfile::tempdir().unwrap();
    for (place, content) in image(recording, before, lying, dice) {
        let name = recording.files[place].file_name().unwrap();
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let name = recording.files[LEDGER].file_name().unwrap();
    let ledger = dir.path().join(name);
    let Some((seq, hash)) = recording.acknowledged(before) else {
        return Ok(false);
    };
    // Opened for writing once, as an engine does: a hot journal or a log is taken up.
    let found = found_hash(&ledger, seq)?;
    if found != hash {
        return Err(format!("entry {seq} is another one"));
    }
    let ended = call(&ledger, &["verify"]);
    if ended.code() != Some(0) {
        return Err(format!("verify: {}{}", ended.out, ended.err));
    }
    let sound: String = look(&ledger)
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap_or_else(|error| error.to_string());
    if sound != "ok" {
        return Err(sound);
    }
    Ok(true)
}

fn found_hash(ledger: &Path, seq: i64) -> Result<String, String> {
    let conn = rusqlite::Connection::open(ledger).map_err(|error| error.to_string())?;
    conn.query_row("select hash from events where seq = ?1", [seq], |row| {
        row.get(0)
    })
    .map_err(|error| format!("entry {seq} was acknowledged: {error}"))
}
