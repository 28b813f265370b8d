//! Opening a ledger and appending to it.

use super::apply::{Applier, FactsCache};
use super::blobs;
use super::error::LedgerError;
use super::event::{Entry, Event};
use super::facts::JobFacts;
use super::lock::{EngineLock, Holder, beside};
use super::reserve::Reserve;
use super::schema;
use crate::model::{Digest, GoalId, JobId, Seq, TimeMs, canon::digest_parts, digest_bytes};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a writer waits for another process's short transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Statements that stay prepared: more than the engine has, so that none is parsed twice.
const STATEMENTS_KEPT: usize = 192;
/// Longest body of one event, in bytes; larger things are blobs.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// Entries and blobs that become durable together.
#[derive(Debug, Default)]
pub struct Batch {
    /// In order.
    pub entries: Vec<Entry>,
    /// Bodies that the entries name.
    pub blobs: Vec<(Digest, Vec<u8>)>,
}

impl Batch {
    /// Adds a body and returns its digest.
    pub fn blob(&mut self, bytes: &[u8]) -> Digest {
        let digest = digest_bytes(bytes);
        self.blobs.push((digest.clone(), bytes.to_vec()));
        digest
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.blobs.is_empty()
    }
}

/// Whether a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// It does. Nothing else is reachable from outside the crate.
    Full,
    /// It does not; see [`Ledger::open_for_simulation`].
    Simulated,
}

/// A ledger open for writing: by the one engine, or by any process for decisions.
#[derive(Debug)]
pub struct Ledger {
    conn: Connection,
    path: PathBuf,
    lock: Option<EngineLock>,
    facts: FactsCache,
    /// Set when a write failed: what is in memory may not be what is on disk.
    broken: Cell<bool>,
    reserve: Reserve,
    commits: u64,
    /// Kept open: it is written with every commit.
    head: Option<File>,
}

impl Ledger {
    /// Opens for the engine: creates the file where there is none, takes the lock, checks that the disk
    /// would keep what is written.
    ///
    /// # Errors
    /// Held by another engine, not a ledger, newer, older than what was committed, not durable.
    pub fn open_for_engine(path: &Path) -> Result<Self, LedgerError> {
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            std::fs::create_dir_all(parent).map_err(|source| LedgerError::Io {
                path: parent.to_path_buf(),
                source,
            })?;
        }
        let ledger = Self::open_locked(path, Durability::Full)?;
        ledger.reserve.keep();
        Ok(ledger)
    }

    /// For the laboratory, where a kill is simulated and the file need not outlive the machine: commits
    /// do not wait for the disk. Anything else about the file is the same.
    pub(crate) fn open_for_simulation(path: &Path) -> Result<Self, LedgerError> {
        Self::open_locked(path, Durability::Simulated)
    }

    /// The laboratory's second process: it decides on a ledger that an engine of the same laboratory holds.
    pub(crate) fn open_for_simulated_decisions(path: &Path) -> Result<Self, LedgerError> {
        Self::open(path, Durability::Simulated)
    }

    fn open_locked(path: &Path, durability: Durability) -> Result<Self, LedgerError> {
        let lock = EngineLock::take(path)?;
        let mut ledger = Self::open(path, durability)?;
        schema::prepare(&mut ledger.conn, path)?;
        ledger.lock = Some(lock);
        ledger.check_head()?;
        Ok(ledger)
    }

    /// Opens an existing ledger for decisions; whether an engine runs does not matter.
    ///
    /// # Errors
    /// Missing, not a ledger, newer.
    pub fn open_for_decisions(path: &Path) -> Result<Self, LedgerError> {
        if !path.exists() {
            return Err(LedgerError::Missing(path.to_path_buf()));
        }
        let ledger = Self::open(path, Durability::Full)?;
        schema::check_begun(&ledger.conn, path)?;
        Ok(ledger)
    }

    fn open(path: &Path, durability: Durability) -> Result<Self, LedgerError> {
        let sql = |error| LedgerError::from_sqlite(path, error);
        let conn = Connection::open(path).map_err(sql)?;
        conn.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
        schema::check(&conn, path)?;
        conn.pragma_update(None, "journal_mode", "WAL")
            .map_err(sql)?;
        let (word, wanted) = match durability {
            Durability::Full => ("FULL", 2),
            Durability::Simulated => ("OFF", 0),
        };
        conn.pragma_update(None, "synchronous", word).map_err(sql)?;
        conn.pragma_update(None, "foreign_keys", "ON")
            .map_err(sql)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
        // A misspelt pragma is silently ignored, and NORMAL loses acknowledged entries on a power cut.
        let mode: String = conn
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(sql)?;
        let sync: i64 = conn
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .map_err(sql)?;
        if mode != "wal" || sync != wanted {
            return Err(LedgerError::NotDurable {
                path: path.to_path_buf(),
                why: format!("journal mode {mode}, synchronous {sync}; wanted wal and {wanted}"),
            });
        }
        Ok(Self {
            conn,
            path: path.to_path_buf(),
            lock: None,
            facts: BTreeMap::new(),
            broken: Cell::new(false),
            reserve: Reserve::of(path),
            commits: 0,
            head: None,
        })
    }

    /// Commits by this handle since it was opened: one flush of the write-ahead log each.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a batch in one transaction; when this returns, it is on the disk.
    ///
    /// # Errors
    /// Nothing was written. After [`LedgerError::Full`] the same batch can be appended again: the
    /// transaction was rolled back, and the reserve is given up until there is space for it again. After
    /// any other error the ledger takes nothing more: what the disk has is read again by the next process.
    pub fn append(&mut self, batch: &Batch) -> Result<Vec<Seq>, LedgerError> {
        if !self.reserve.is_back() {
            return Err(LedgerError::full(&self.path));
        }
        self.append_from_reserve(batch)
    }

    /// The same for the last words on a full disk: the space that was kept may be used up.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append_from_reserve(&mut self, batch: &Batch) -> Result<Vec<Seq>, LedgerError> {
        if self.broken.get() {
            return Err(LedgerError::Refused(
                "an earlier write failed; start again".to_owned(),
            ));
        }
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        if self.lock.is_none()
            && batch
                .entries
                .iter()
                .any(|one| !matches!(one.event, Event::DecisionSubmitted { .. }))
        {
            return Err(LedgerError::Refused(
                "only the engine appends more than decisions".to_owned(),
            ));
        }
        let written = self.write(batch);
        match written {
            Ok(seqs) => {
                self.commits += 1;
                Ok(seqs)
            }
            Err(error) => {
                self.facts.clear();
                if matches!(error, LedgerError::Full { .. }) {
                    // Only the engine keeps one; another process has no claim to it.
                    if self.lock.is_some() {
                        self.reserve.give_up();
                    }
                } else {
                    self.broken.set(true);
                }
                Err(error)
            }
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<Vec<Seq>, LedgerError> {
        let path = self.path.clone();
        let sql = |error| LedgerError::from_sqlite(&path, error);
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)?;
        for (digest, bytes) in &batch.blobs {
            blobs::put(&tx, digest, bytes).map_err(sql)?;
        }
        let mut seq: i64 = tx
            .prepare_cached("SELECT coalesce(max(seq), 0) FROM events")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(sql)?;
        let mut chains = Chains::new(&tx);
        let mut applier = Applier::new(&tx, &mut self.facts);
        let mut seqs = Vec::with_capacity(batch.entries.len());
        let mut last_hash = String::new();
        for entry in &batch.entries {
            seq += 1;
            let (kind, body) = entry.event.to_stored().map_err(|error| {
                LedgerError::Refused(format!("an entry cannot be written: {error}"))
            })?;
            if body.len() > MAX_BODY_BYTES {
                return Err(LedgerError::Refused(format!(
                    "an entry of kind {kind} has {} bytes; at most {MAX_BODY_BYTES} are kept",
                    body.len()
                )));
            }
            let stored = StoredEvent::of(seq, entry, kind, body);
            last_hash = chains.add(&stored).map_err(sql)?;
            stored.insert(&tx, &last_hash).map_err(sql)?;
            applier.apply(Seq(seq), entry).map_err(sql)?;
            seqs.push(Seq(seq));
        }
        applier.finish().map_err(sql)?;
        chains.finish().map_err(sql)?;
        tx.commit().map_err(sql)?;
        if !seqs.is_empty() {
            self.write_head(seq, &last_hash);
        }
        Ok(seqs)
    }

    /// Facts of a job as of the last commit.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub fn facts(&mut self, goal: &GoalId, job: &JobId) -> Result<Option<JobFacts>, LedgerError> {
        let key = (goal.clone(), job.clone());
        if let Some(facts) = self.facts.get(&key) {
            return Ok(Some(facts.clone()));
        }
        let loaded = super::apply::load_facts(&self.conn, goal, job)
            .map_err(|error| LedgerError::from_sqlite(&self.path, error))?;
        if let Some(facts) = &loaded {
            self.facts.insert(key, facts.clone());
        }
        Ok(loaded)
    }

    /// A body by its digest.
    ///
    /// # Errors
    /// When it is missing or does not match its digest.
    pub fn blob(&self, digest: &Digest) -> Result<Vec<u8>, LedgerError> {
        match blobs::get(&self.conn, digest) {
            Ok(Some(Ok(bytes))) => Ok(bytes),
            Ok(Some(Err(why))) => Err(LedgerError::Damaged {
                path: self.path.clone(),
                why,
            }),
            Ok(None) => Err(LedgerError::Damaged {
                path: self.path.clone(),
                why: format!("blob {} is missing", digest.short()),
            }),
            Err(error) => Err(LedgerError::from_sqlite(&self.path, error)),
        }
    }

    /// A read model over this very connection, so that the engine sees its own commits.
    pub fn read(&self) -> super::read::View<'_> {
        super::read::View::new(&self.conn, &self.path)
    }

    /// Says that the engine lives; for the message only, so a failure is not an error. But after a failed
    /// flush nobody knows which frames of the log the disk has, and a commit behind them could be lost:
    /// then the ledger takes nothing more.
    pub fn beat(&self, wall: TimeMs, engine: TimeMs, every_ms: i64, state: &str) {
        let holder = Holder::current();
        let written = self
            .conn
            .prepare_cached(
                "INSERT OR REPLACE INTO engine(id, pid, host, beat_ms, engine_ms, beat_every_ms, state)
                 VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut statement| {
                statement.execute(params![holder.pid, holder.host, wall.0, engine.0, every_ms, state])
            });
        if written.is_err_and(|error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure)
        }) {
            self.broken.set(true);
        }
    }

    fn head_path(&self) -> PathBuf {
        beside(&self.path, "head")
    }

    /// Remembers the last commit outside the file, so that an older copy put back is noticed. Written
    /// after the commit and never synced: it may lag behind the ledger, never lead it.
    fn write_head(&mut self, seq: i64, hash: &str) {
        if self.head.is_none() {
            self.head = File::options()
                .create(true)
                .write(true)
                .truncate(false)
                .open(self.head_path())
                .ok();
        }
        if let Some(file) = &self.head {
            drop(file.write_all_at(format!("{seq:020} {hash}\n").as_bytes(), 0));
        }
    }

    fn check_head(&self) -> Result<(), LedgerError> {
        let Ok(text) = std::fs::read_to_string(self.head_path()) else {
            return Ok(());
        };
        let mut words = text.split_whitespace();
        let (Some(known), Some(hash)) = (
            words.next().and_then(|word| word.parse::<i64>().ok()),
            words.next(),
        ) else {
            return Ok(());
        };
        let sql = |error| LedgerError::from_sqlite(&self.path, error);
        let found: i64 = self
            .conn
            .query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| {
                row.get(0)
            })
            .map_err(sql)?;
        if found < known {
            return Err(LedgerError::OlderCopy {
                path: self.path.clone(),
                found,
                known,
            });
        }
        let own: Option<String> = self
            .conn
            .query_row(
                "SELECT hash FROM events WHERE seq = ?1",
                params![known],
                |row| row.get(0),
            )
            .optional()
            .map_err(sql)?;
        match own {
            Some(own) if own != hash => Err(LedgerError::Damaged {
                path: self.path.clone(),
                why: format!("entry {known} is not the one that was committed"),
            }),
            _ => Ok(()),
        }
    }
}

/// Chain heads during one transaction: read once, written once.
struct Chains<'a> {
    conn: &'a Connection,
    heads: BTreeMap<(String, String), (String, i64)>,
    dirty: BTreeSet<(String, String)>,
}

impl<'a> Chains<'a> {
    fn new(conn: &'a Connection) -> Self {
        Self {
            conn,
            heads: BTreeMap::new(),
            dirty: BTreeSet::new(),
        }
    }

    /// Links an event to its chain and returns its hash.
    fn add(&mut self, event: &StoredEvent) -> rusqlite::Result<String> {
        let key = (event.goal.clone(), event.job.clone());
        if !self.heads.contains_key(&key) {
            let found = self
                .conn
                .prepare_cached("SELECT head, entries FROM chains WHERE goal = ?1 AND job = ?2")?
                .query_row(params![key.0, key.1], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            self.heads.insert(key.clone(), found.unwrap_or_default());
        }
        let (head, entries) = self.heads.get(&key).cloned().unwrap_or_default();
        let hash = event.hash(&head);
        self.heads.insert(key.clone(), (hash.clone(), entries + 1));
        self.dirty.insert(key);
        Ok(hash)
    }

    fn finish(self) -> rusqlite::Result<()> {
        for key in &self.dirty {
            if let Some((head, entries)) = self.heads.get(key) {
                self.conn
                    .prepare_cached(
                        "INSERT OR REPLACE INTO chains(goal, job, head, entries) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![key.0, key.1, head, entries])?;
            }
        }
        Ok(())
    }
}

/// An event as it lies in the file.
#[derive(Debug, Clone)]
pub(super) struct StoredEvent {
    pub seq: i64,
    pub at_ms: i64,
    pub goal: String,
    pub job: String,
    pub attempt: u32,
    pub actor: String,
    pub kind: String,
    pub body: String,
}

impl StoredEvent {
    fn of(seq: i64, entry: &Entry, kind: String, body: String) -> Self {
        Self {
            seq,
            at_ms: entry.at.0,
            goal: entry.goal.as_str().to_owned(),
            job: entry
                .job
                .as_ref()
                .map_or(String::new(), |job| job.as_str().to_owned()),
            attempt: entry.attempt.map_or(0, |attempt| attempt.0),
            actor: entry.actor.word(),
            kind,
            body,
        }
    }

    /// H(hash of the previous event of the same chain, and every field).
    pub(super) fn hash(&self, previous: &str) -> String {
        digest_parts([
            previous,
            &self.seq.to_string(),
            &self.at_ms.to_string(),
            &self.goal,
            &self.job,
            &self.attempt.to_string(),
            &self.actor,
            &self.kind,
            &self.body,
        ])
        .0
    }

    fn insert(&self, conn: &Connection, hash: &str) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO events(seq, at_ms, goal, job, attempt, actor, kind, body, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            self.seq,
            self.at_ms,
            self.goal,
            self.job,
            self.attempt,
            self.actor,
            self.kind,
            self.body,
            hash
        ])?;
        Ok(())
    }
}
