//! Evidence that a job should not move as it stands, from the files and the world's own records.
//!
//! Each rule asks for something that can be shown; none of them decides more than that a person must
//! look. A job that another living job depends on is never held because its readers are gone.

use super::found::{Found, Shelf};
use super::types::Surroundings;
use crate::model::JobId;
use crate::world::ports::Hold;
use jiff::ToSpan;
use jiff::civil::{Date, date};
use std::collections::BTreeSet;

/// Days without a reader after which a table counts as unread.
const UNREAD_DAYS: u32 = 180;
/// Days on which two tables must have held the same rows before one counts as a copy.
const EQUAL_DAYS: u32 = 60;

/// The date of a warehouse day; day 0 is 2023-01-01.
pub fn day_date(day: u32) -> Date {
    let first = date(2023, 1, 1);
    first.checked_add(i64::from(day).days()).unwrap_or(first)
}

/// What the rules look at.
pub(super) struct Ground<'a> {
    jobs: &'a [Found],
    shelf: &'a Shelf<'a>,
    around: &'a Surroundings,
    known: BTreeSet<&'a JobId>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(jobs: &'a [Found], shelf: &'a Shelf<'a>, around: &'a Surroundings) -> Self {
        Self {
            jobs,
            shelf,
            around,
            known: jobs.iter().map(|found| &found.job.id).collect(),
        }
    }

    fn since(&self, day: u32) -> String {
        let ago = self.around.today.saturating_sub(day);
        format!("{} ({ago} days ago)", day_date(day))
    }

    fn is_needed(&self, id: &JobId) -> bool {
        self.jobs
            .iter()
            .any(|found| found.job.enabled && found.job.declared_deps.contains(id))
    }
}

type Rule = fn(&Found, &Ground<'_>) -> Option<Hold>;

/// All rules; the first that finds something holds the job.
const RULES: [Rule; 13] = [
    nothing_installed,
    commented_out,
    left_copy,
    dead_file_host,
    ended,
    dangling,
    dead_called_host,
    owner_gone,
    programme_over,
    closed_mailbox,
    readers_gone,
    copy_of_another,
    unread,
];

/// Looks for a reason to hold a job.
pub(super) fn find(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    RULES.iter().find_map(|rule| rule(found, ground))
}

fn retire(reason: &str, evidence: Vec<String>) -> Option<Hold> {
    Some(Hold {
        kind: "retire".to_owned(),
        reason: reason.to_owned(),
        evidence,
    })
}

fn nothing_installed(found: &Found, _: &Ground<'_>) -> Option<Hold> {
    if !found.nothing_installed {
        return None;
    }
    retire(
        "Its crontab has comments only: nothing of it is installed.",
        vec![format!("{}: every line is a comment", found.file)],
    )
}

fn commented_out(found: &Found, _: &Ground<'_>) -> Option<Hold> {
    let twin = found.twin.as_ref().filter(|_| found.commented_out)?;
    retire(
        "Its line is commented out, and a newer line runs the same.",
        vec![
            format!("{}: the line is commented out", found.job.origin),
            format!("{twin}: runs the same command"),
        ],
    )
}

fn left_copy(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let packaged = found.file.strip_suffix(".orig")?;
    if !ground.shelf.has(packaged) {
        return None;
    }
    retire(
        "Its file is a copy left beside the packaged one.",
        vec![
            format!("{}: the suffix of a copy", found.file),
            format!("{packaged}: the packaged file stands beside it"),
        ],
    )
}

fn dead_file_host(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let host = found.host.as_ref()?;
    let day = ground.around.dead_hosts.get(host)?;
    retire(
        "The host that its file belongs to was switched off.",
        vec![
            format!("{}: says host {host}", found.file),
            format!("hosts: {host} off since {}", ground.since(*day)),
        ],
    )
}

fn ended(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let end: Date = found.ends.as_ref()?.parse().ok()?;
    let today = day_date(ground.around.today);
    if end >= today {
        return None;
    }
    let days = today.since(end).map_or(0, |span| span.get_days());
    retire(
        "Its end date has passed: it has not started anything since.",
        vec![format!("{}: ends {end}, {days} days ago", found.file)],
    )
}

fn dangling(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let mut missing = found.job.declared_deps.iter();
    let missing = missing.find(|id| !ground.known.contains(id))?;
    let mut evidence = vec![format!(
        "{}: depends on {missing}, which no file defines",
        found.job.origin
    )];
    if found.file.split('/').any(|folder| folder == "bak") {
        evidence.push(format!("{}: lies in a folder named bak", found.file));
    }
    retire("What it depends on no longer exists.", evidence)
}

fn dead_called_host(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let words = found.job.command.split_whitespace();
    let host = words
        .filter_map(|word| word.split_once("://"))
        .map(|(_, rest)| rest.split(['/', ':']).next().unwrap_or(rest))
        .find(|host| ground.around.dead_hosts.contains_key(*host))?;
    let day = ground.around.dead_hosts.get(host)?;
    retire(
        "It calls a host that no longer resolves.",
        vec![
            format!("{}: calls {host}", found.job.origin),
            format!(
                "hosts: {host} does not resolve since {}",
                ground.since(*day)
            ),
        ],
    )
}

fn owner_gone(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let person = found.person.as_ref()?;
    let left = ground.around.departed_owners.get(person)?;
    let mut evidence = vec![
        format!("{}: names {person} as its owner", found.job.origin),
        format!("accounts: {person} left on {}", ground.since(*left)),
    ];
    if let Some(line) = last_read(found, ground) {
        evidence.push(line);
    }
    retire(
        "Its owner has left and nobody has claimed it; that it is not read is no consent.",
        evidence,
    )
}

fn programme_over(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let programme = found.programme.as_ref()?;
    let day = ground.around.ended_programmes.get(programme)?;
    retire(
        "The programme that it serves has ended.",
        vec![
            format!("{}: serves {programme}", found.job.origin),
            format!("programmes: {programme} ended on {}", ground.since(*day)),
        ],
    )
}

fn closed_mailbox(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let recipients: Vec<&str> = found
        .job
        .command
        .split_whitespace()
        .filter(|word| word.contains('@'))
        .collect();
    let closed = |address: &&str| ground.around.closed_mailboxes.get(*address);
    if recipients.is_empty() || !recipients.iter().all(|address| closed(address).is_some()) {
        return None;
    }
    let evidence = recipients
        .iter()
        .filter_map(|address| Some((address, closed(address)?)))
        .map(|(address, day)| format!("mail: {address} bounces since {}", ground.since(*day)))
        .collect();
    retire("Every mailbox that it sends to is closed.", evidence)
}

fn readers_gone(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let table = found.job.table.as_ref()?;
    let readers = ground.around.readers.get(table)?;
    if readers.is_empty() || ground.is_needed(&found.job.id) {
        return None;
    }
    let mut evidence = Vec::new();
    for reader in readers {
        if let Some(day) = ground.around.retired_reports.get(reader) {
            evidence.push(format!(
                "reports: {table} is read by {reader}, retired on {}",
                ground.since(*day)
            ));
        } else {
            let by = ground.around.replaced_tables.get(reader)?;
            evidence.push(format!(
                "catalogue: {table} feeds {reader}, replaced by {by}"
            ));
        }
    }
    retire("All that reads its table is retired or replaced.", evidence)
}

fn copy_of_another(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let table = found.job.table.as_ref()?;
    let (other, days) = ground.around.equal_tables.get(table)?;
    if *days < EQUAL_DAYS || ground.is_needed(&found.job.id) {
        return None;
    }
    retire(
        "Another table holds the same numbers.",
        vec![format!(
            "catalogue: {table} has equalled {other} on each of the last {days} days"
        )],
    )
}

fn unread(found: &Found, ground: &Ground<'_>) -> Option<Hold> {
    let table = found.job.table.as_ref()?;
    let day = ground.around.last_read_days.get(table)?;
    let old = ground.around.today.saturating_sub(*day) > UNREAD_DAYS;
    if !old || ground.is_needed(&found.job.id) {
        return None;
    }
    retire(
        "Nobody has read its output for more than half a year.",
        last_read(found, ground).into_iter().collect(),
    )
}

fn last_read(found: &Found, ground: &Ground<'_>) -> Option<String> {
    let table = found.job.table.as_ref()?;
    let day = ground.around.last_read_days.get(table)?;
    Some(format!(
        "reads: {table} was last read on {}",
        ground.since(*day)
    ))
}
