//! The world itself: its file, opened.

use super::build::{BuildResult, fill, sqlite_failed};
use super::chance::Chance;
use super::schema::FORMAT;
use super::{PracticeSettings, functions};
use crate::world::World;
use crate::world::ports::PortError;
use crate::world::sqlite_functions::register_sqlite_functions;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest world with a connection for queries alone.
const MAX_JOBS_OF_TWO_CONNECTIONS: usize = 1_200;

/// Most virtual-machine steps, in millions, that one call may take: some seconds. A statement that would
/// go on is stopped, so that no definition and no query can hang the world.
pub const MAX_MILLION_STEPS: u32 = 100;
/// Longest value of one query, in bytes.
const MAX_VALUE_BYTES: i32 = 64 * 1024 * 1024;
/// Largest file, in pages of 1 KiB.
const MAX_PAGES: u32 = 8 * 1024 * 1024;

/// An opened practice world. Shared between threads; each port's call takes one of two connections.
pub struct PracticeWorld {
    pub(super) settings: PracticeSettings,
    pub(super) chance: Chance,
    writer: Mutex<Metered>,
    /// Apart from the writer, so that queries and runs go on at once; absent in a large world, where
    /// every new table would make it read the whole schema again.
    reader: Option<Mutex<Metered>>,
}

/// A connection that counts its steps.
pub(super) struct Metered {
    conn: Connection,
    millions: Arc<AtomicU32>,
}

impl Metered {
    fn new(conn: Connection) -> BuildResult<Self> {
        let millions = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&millions);
        conn.progress_handler(
            1_000_000,
            Some(move || counter.fetch_add(1, Ordering::Relaxed) >= MAX_MILLION_STEPS),
        )
        .map_err(sqlite_failed("open"))?;
        // Texts that are joined to themselves again and again would take all memory in a few steps.
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            .map_err(sqlite_failed("open"))?;
        Ok(Self { conn, millions })
    }
}

impl std::ops::Deref for Metered {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

impl std::ops::DerefMut for Metered {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.conn
    }
}

fn taken(mutex: &Mutex<Metered>) -> MutexGuard<'_, Metered> {
    // A panic in another thread rolled its transaction back, so a poisoned lock still guards a sound
    // connection.
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    guard.millions.store(0, Ordering::Relaxed);
    guard
}

impl PracticeWorld {
    /// Opens the world's file, or makes it when it is not there.
    ///
    /// A new file is built under another name and renamed, so that a process killed meanwhile leaves
    /// nothing half made. The file is in WAL mode with `synchronous=OFF`: what was committed survives
    /// the death of the process, not that of the machine, which is enough for a world of practice.
    ///
    /// # Errors
    /// When the file cannot be made or read, is of another format, or was made with another seed or
    /// number of jobs.
    pub fn open(settings: PracticeSettings) -> Result<Arc<Self>, PortError> {
        if !settings.path.exists() {
            create(&settings)?;
        }
        let writer = Connection::open_with_flags(
            &settings.path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )
        .map_err(sqlite_failed("open"))?;
        prepare(&writer, &settings)?;
        let reader = if settings.jobs <= MAX_JOBS_OF_TWO_CONNECTIONS {
            Some(Mutex::new(Metered::new(open_reader(&settings.path)?)?))
        } else {
            None
        };
        Ok(Arc::new(Self {
            chance: Chance::new(settings.seed),
            settings,
            writer: Mutex::new(Metered::new(writer)?),
            reader,
        }))
    }

    /// All four ports.
    pub fn ports(self: &Arc<Self>) -> World {
        World {
            source: Arc::<Self>::clone(self),
            target: Arc::<Self>::clone(self),
            warehouse: Some(Arc::<Self>::clone(self)),
            probe: Some(Arc::<Self>::clone(self)),
        }
    }

    /// The world's file.
    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    /// The connection that changes the world.
    pub(super) fn writer(&self) -> MutexGuard<'_, Metered> {
        taken(&self.writer)
    }

    /// The connection that answers questions. Never to be taken while the writer is held.
    pub(super) fn reader(&self) -> MutexGuard<'_, Metered> {
        taken(self.reader.as_ref().unwrap_or(&self.writer))
    }
}

fn open_reader(path: &Path) -> BuildResult<Connection> {
    let reader = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(sqlite_failed("open for reading"))?;
    reader
        .pragma_update(None, "cache_size", -16_000)
        .and_then(|()| reader.busy_timeout(std::time::Duration::from_secs(10)))
        .and_then(|()| register_sqlite_functions(&reader))
        .map_err(sqlite_failed("open for reading"))?;
    Ok(reader)
}

fn create(settings: &PracticeSettings) -> BuildResult<()> {
    let failed = |what: &str, error: std::io::Error| {
        PortError::environment(format!("practice world: {what}: {error}"))
    };
    if let Some(folder) = settings.path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|error| failed(&folder.display().to_string(), error))?;
    }
    let mut name = settings.path.clone().into_os_string();
    name.push(".building");
    let building = PathBuf::from(name);
    if building.exists() {
        std::fs::remove_file(&building)
            .map_err(|error| failed("left by an earlier build", error))?;
    }
    let mut conn = Connection::open(&building).map_err(sqlite_failed("create"))?;
    // Small pages: most of the tables are small, and thousands of them may be.
    conn.execute_batch(
        "pragma page_size=1024; pragma journal_mode=off; pragma synchronous=off; pragma cache_size=-64000;",
    )
    .map_err(sqlite_failed("create"))?;
    fill(&mut conn, settings)?;
    conn.close()
        .map_err(|(_, error)| sqlite_failed("close")(error))?;
    std::fs::rename(&building, &settings.path).map_err(|error| failed("rename", error))
}

fn prepare(conn: &Connection, settings: &PracticeSettings) -> BuildResult<()> {
    conn.busy_timeout(std::time::Duration::from_secs(10))
        .map_err(sqlite_failed("open"))?;
    let read = |key: &str| -> BuildResult<String> {
        conn.query_row("select value from meta where key = ?1", [key], |row| {
            row.get(0)
        })
        .optional()
        .map_err(sqlite_failed("not a practice world"))?
        .ok_or_else(|| PortError::environment(format!("practice world: no {key} in meta")))
    };
    for (key, wanted) in [
        ("format", FORMAT.to_string()),
        ("seed", settings.seed.to_string()),
        ("jobs", settings.jobs.to_string()),
    ] {
        let found = read(key)?;
        if found != wanted {
            return Err(PortError::environment(format!(
                "practice world {}: made with {key} {found}, asked for with {key} {wanted}; name another \
                 file or ask for what it is",
                settings.path.display()
            )));
        }
    }
    conn.pragma_update(None, "max_page_count", MAX_PAGES)
        .map_err(sqlite_failed("open"))?;
    conn.execute_batch(
        "pragma journal_mode=wal; pragma synchronous=off; pragma cache_size=-32000; \
         pragma wal_autocheckpoint=4000; pragma temp_store=memory;",
    )
    .map_err(sqlite_failed("open"))?;
    functions::register_engines(conn)
        .and_then(|()| register_sqlite_functions(conn))
        .map_err(sqlite_failed("functions"))
}
