//! Saying outside of the screen that something needs a person: opt-in, once an item, rate-limited.

use super::TuiError;
use super::app::load::{Loader, Want};
use super::app::msg::Msg;
use super::app::run::Wake;
use super::app::snapshot::{Need, NeedWhat, Snapshot};
use crate::ledger::Reader as LedgerReader;
use crate::model::{GoalId, JobId, SafeText};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Items that a notice names; the rest is counted.
const MAX_ITEMS: usize = 50;
/// Notices that wait for a slow program; more are dropped, since the screen has them all.
const QUEUE: usize = 8;
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a webhook may take.
const POST_MS: i64 = 10_000;

/// How often a ledger without an interface is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A notice that terminals show outside of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Desktop {
    /// None.
    #[default]
    None,
    /// OSC 9, as iTerm2, WezTerm, Windows Terminal and others take it.
    Osc9,
    /// OSC 777, as urxvt, foot and others take it.
    Osc777,
}

/// Posts a body of JSON to an address within so many milliseconds; the status that came back, or one
/// sentence without the address.
pub type Post = fn(&str, &[u8], i64) -> Result<u16, String>;

/// An address that notices are posted to. It may hold a secret.
#[derive(Clone)]
pub struct Webhook {
    /// http or https.
    pub url: String,
    /// Who posts: the interface itself speaks to nobody.
    pub post: Post,
}

impl Webhook {
    fn take(&self, body: &str) -> Result<(), String> {
        match (self.post)(&self.url, body.as_bytes(), POST_MS) {
            Ok(200..=299) => Ok(()),
            Ok(status) => Err(format!("notice: the webhook answered {status}")),
            Err(why) => Err(format!("notice: the webhook: {why}")),
        }
    }
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Webhook(…)")
    }
}

/// By address: who posts is the same everywhere.
impl PartialEq for Webhook {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Webhook {}

/// How to say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyBy {
    /// The terminal's bell.
    pub bell: bool,
    /// The terminal's notice.
    pub desktop: Desktop,
    /// A program and its arguments; empty: none.
    pub command: Vec<String>,
    /// An address to post to.
    pub webhook: Option<Webhook>,
    /// Least milliseconds between two.
    pub every_ms: u64,
}

impl Default for NotifyBy {
    fn default() -> Self {
        Self {
            bell: false,
            desktop: Desktop::None,
            command: Vec::new(),
            webhook: None,
            every_ms: 30_000,
        }
    }
}

impl NotifyBy {
    /// Whether anything is to be said at all.
    pub fn is_on(&self) -> bool {
        self.bell
            || self.desktop != Desktop::None
            || !self.command.is_empty()
            || self.webhook.is_some()
    }
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// `differences`, `approval`, `to_verify`, `question`, `alert`.
    pub what: &'static str,
    /// Its id.
    pub id: String,
    /// The job, if it concerns one.
    pub job: Option<JobId>,
}

/// What was told already.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    known: Option<BTreeSet<String>>,
    told_ms: Option<u64>,
}

impl Heard {
    /// What needs a person and was not told: each item once, and seldom enough to be heard. What is there
    /// at the first look is on the screen. `None` for `every_ms`: nothing is to be told.
    pub fn news(&mut self, shot: &Snapshot, now_ms: u64, every_ms: Option<u64>) -> Option<Notice> {
        let needs: BTreeMap<String, Item> = shot.needs.iter().map(item).collect();
        let Some(known) = self.known.as_mut() else {
            self.known = Some(needs.into_keys().collect());
            return None;
        };
        known.retain(|need| needs.contains_key(need));
        let every_ms = every_ms?;
        if self
            .told_ms
            .is_some_and(|at| now_ms.saturating_sub(at) < every_ms)
        {
            return None;
        }
        let mut items = Vec::new();
        for (need, item) in needs {
            if known.insert(need) {
                items.push(item);
            }
        }
        if items.is_empty() {
            return None;
        }
        self.told_ms = Some(now_ms);
        let goal = shot.goal.as_ref().map_or("", |goal| goal.goal.as_str());
        Some(Notice {
            goal: goal.to_owned(),
            items,
        })
    }
}

/// A need as it is told, under what tells it from others.
fn item(need: &Need) -> (String, Item) {
    let (what, id) = match &need.what {
        NeedWhat::Drift => ("differences", need.since.0.to_string()),
        NeedWhat::Approval(id) => ("approval", id.to_string()),
        NeedWhat::Verify(_, id) => ("to_verify", id.to_string()),
        NeedWhat::Question(_, id) => ("question", id.clone()),
        NeedWhat::Alert(seq) => ("alert", seq.to_string()),
    };
    let job = need.job.clone();
    (format!("{what} {id}"), Item { what, id, job })
}

/// Tells programs what needs a person while no interface is open; dropping it ends that.
#[derive(Debug)]
pub struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches a goal of a ledger. Bell and terminal notices have no terminal here; without a command or
    /// a webhook nothing is started.
    ///
    /// # Errors
    /// When the ledger cannot be opened or no thread started.
    pub fn start(by: &NotifyBy, ledger: &Path, goal: &GoalId) -> Result<Option<Self>, TuiError> {
        let (wakes, failures) = channel();
        let Some(courier) = Courier::start(by, wakes)? else {
            return Ok(None);
        };
        let reader = LedgerReader::open(ledger)?;
        let path = SafeText::line(&ledger.display().to_string()).into_string();
        let (goal, every_ms) = (goal.clone(), by.every_ms);
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new()
            .name("notice-watch".to_owned())
            .spawn(move || {
                let want = Want::of_goal(goal);
                let (mut loader, mut heard) = (Loader::default(), Heard::default());
                let begun = Instant::now();
                loop {
                    if let Ok(shot) = loader.load(&reader, &want, false) {
                        let now_ms = begun.elapsed().as_millis() as u64;
                        if let Some(notice) = heard.news(&shot, now_ms, Some(every_ms)) {
                            courier.carry(notice.json(&path));
                        }
                    }
                    for failure in failures.try_iter() {
                        if let Wake::Msg(Msg::NoticeFailed(why)) = failure {
                            // Standard error is the log of an engine without a terminal.
                            eprintln!("dogwatch: {why}");
                        }
                    }
                    if !matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
                        return;
                    }
                }
            })?;
        Ok(Some(Self {
            stop: Some(stop),
            thread: Some(thread),
        }))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The goal.
    pub goal: String,
    /// What is new.
    pub items: Vec<Item>,
}

impl Notice {
    /// One line for people.
    pub fn text(&self) -> String {
        let things = if self.items.len() == 1 {
            "thing needs"
        } else {
            "things need"
        };
        format!("{}: {} more {things} you", self.goal, self.items.len())
    }

    /// For programs.
    pub fn json(&self, ledger: &str) -> String {
        let items: Vec<_> = self
            .items
            .iter()
            .take(MAX_ITEMS)
            .map(|item| json!({ "what": item.what, "id": item.id, "job": item.job }))
            .collect();
        json!({
            "schema": "dogwatch.notice/1",
            "goal": self.goal,
            "text": self.text(),
            "count": self.items.len(),
            "items": items,
            "ledger": ledger,
            "open": format!("dogwatch attach --ledger {ledger} --goal {}", self.goal),
        })
        .to_string()
    }

    /// For the terminal.
    pub fn bytes(&self, by: &NotifyBy) -> Vec<u8> {
        let text = SafeText::line(&self.text());
        let mut out = match by.desktop {
            Desktop::None => String::new(),
            Desktop::Osc9 => format!("\x1b]9;{text}\x07"),
            // Its fields are parted by semicolons.
            Desktop::Osc777 => format!(
                "\x1b]777;notify;dogwatch;{}\x07",
                text.as_str().replace(';', ",")
            ),
        };
        if by.bell {
            out.push('\x07');
        }
        out.into_bytes()
    }
}

/// Runs programs for notices, on a thread of its own; dropping it lets the thread end by itself.
pub(super) struct Courier {
    send: SyncSender<String>,
}

impl Courier {
    pub(super) fn start(by: &NotifyBy, wakes: Sender<Wake>) -> std::io::Result<Option<Self>> {
        if by.command.is_empty() && by.webhook.is_none() {
            return Ok(None);
        }
        let (command, webhook) = (by.command.clone(), by.webhook.clone());
        let (send, notices) = sync_channel::<String>(QUEUE);
        std::thread::Builder::new()
            .name("notices".to_owned())
            .spawn(move || {
                for body in notices {
                    let ran = hand_over(&command, &body);
                    let posted = webhook.as_ref().map_or(Ok(()), |hook| hook.take(&body));
                    for why in [ran, posted].into_iter().filter_map(Result::err) {
                        let why = SafeText::line(&why).into_string();
                        drop(wakes.send(Wake::Msg(Msg::NoticeFailed(why))));
                    }
                }
            })?;
        Ok(Some(Self { send }))
    }

    pub(super) fn carry(&self, body: String) {
        drop(self.send.try_send(body));
    }
}

/// Runs a program without a shell, with a text on its standard input, for a limited time.
fn hand_over(argv: &[String], input: &str) -> Result<(), String> {
    let Some((program, words)) = argv.split_first() else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Signals of the terminal are not for it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("notice: {program}: {error}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read is its own matter; 50 items fit into the pipe.
        drop(pipe.write_all(input.as_bytes()));
    }
    wait(&mut child).map_err(|why| format!("notice: {program} {why}"))
}

fn wait(child: &mut Child) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                drop(child.kill());
                drop(child.wait());
                return Err(format!("took longer than {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn notice() -> Notice {
        Notice {
            goal: "etl; \"x\"".to_owned(),
            items: vec![Item {
                what: "approval",
                id: "a1".to_owned(),
                job: Some("orders".into()),
            }],
        }
    }

    /// Requirement 15: the command gets the notice once, as JSON, and a failing one is said.
    #[test]
    fn a_command_gets_json_on_its_standard_input() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("got");
        let by = NotifyBy {
            command: ["tee", file.to_str().unwrap()].map(str::to_owned).to_vec(),
            ..NotifyBy::default()
        };
        hand_over(&by.command, &notice().json("/x/ledger.db")).unwrap();
        let got: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(got["schema"], "dogwatch.notice/1");
        assert_eq!(got["items"][0]["job"], "orders");
        let (send, wakes) = channel();
        let failing = NotifyBy {
            command: vec!["false".to_owned()],
            ..NotifyBy::default()
        };
        let courier = Courier::start(&failing, send).unwrap().unwrap();
        courier.carry("{}".to_owned());
        let said = wakes.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(matches!(said, Wake::Msg(Msg::NoticeFailed(why)) if why.contains("false")));
    }

    /// Requirement 15: the webhook gets the notice; its address, which may hold a secret, is never said.
    #[test]
    fn a_webhook_gets_json_and_a_refusal_is_said_without_the_address() {
        let posts = |url: &str, body: &[u8], within_ms| {
            assert_eq!((url, within_ms), ("https://hook.example/s3cret", POST_MS));
            let got: serde_json::Value = serde_json::from_slice(body).unwrap();
            Ok(if got["count"] == 1 { 204 } else { 404 })
        };
        let by = NotifyBy {
            webhook: Some(Webhook {
                url: "https://hook.example/s3cret".to_owned(),
                post: posts,
            }),
            ..NotifyBy::default()
        };
        let hook = by.webhook.clone().unwrap();
        assert_eq!(hook.take(&notice().json("/x/ledger.db")), Ok(()));
        assert!(!format!("{by:?}").contains("s3cret"), "{by:?}");
        let (send, wakes) = channel();
        let courier = Courier::start(&by, send).unwrap().unwrap();
        courier.carry("{}".to_owned());
        let said = wakes.recv_timeout(Duration::from_secs(10)).unwrap();
        let Wake::Msg(Msg::NoticeFailed(why)) = said else {
            panic!("nothing was said");
        };
        assert!(why.contains("404") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn the_terminal_gets_what_was_asked_for_and_nothing_else() {
        let by = |bell, desktop| NotifyBy {
            bell,
            desktop,
            ..NotifyBy::default()
        };
        let bytes = |bell, desktop| notice().bytes(&by(bell, desktop));
        assert_eq!(bytes(true, Desktop::None), b"\x07");
        assert!(bytes(false, Desktop::Osc9).starts_with(b"\x1b]9;"));
        let sent = String::from_utf8(bytes(false, Desktop::Osc777)).unwrap();
        assert_eq!(sent.matches(';').count(), 3, "{sent:?}");
    }
}
