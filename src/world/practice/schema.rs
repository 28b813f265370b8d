//! Tables of the world's file (docs/practice-world.md lists them for people).

/// Format of the file; a file of another format is refused.
pub const FORMAT: i64 = 2;

/// The bookkeeping tables. The warehouse's own tables are made by the build.
pub const SCHEMA: &str = "
create table meta (key text primary key, value text not null) without rowid;

create table legacy_files (path text primary key, bytes blob not null);
create table legacy_jobs (
  seq integer primary key,
  job text not null unique,
  title text not null,
  domain text not null,
  layer text not null,
  scheduler text not null,
  origin text not null,
  schedule text not null,
  zone text not null,
  depends_on text not null,
  target text,
  key_columns text not null,
  columns text not null,
  report text,
  owner text not null,
  command text not null,
  sql text,
  old_job text not null,
  disabled_at_ms integer,
  disabled_by text
);
create unique index legacy_jobs_target on legacy_jobs (target) where target is not null;
create table legacy_runs (
  job text not null, run integer not null, day integer not null, exit integer not null,
  tasks integer not null, effect_digest text not null, effects text not null, log text not null,
  primary key (job, run)
) without rowid;

create table staging_jobs (
  no integer primary key, operation_id text not null, job text not null, config text not null,
  config_digest text not null, created_ms integer not null, hidden_lookups integer not null
);
create index staging_jobs_operation on staging_jobs (operation_id);
create index staging_jobs_job on staging_jobs (job);
create table staging_runs (
  no integer primary key references staging_jobs (no),
  day integer not null, started_ms integer not null, finishes_ms integer not null,
  state text not null, class text, why text, exit integer not null, tasks integer not null,
  effect_digest text not null, effects text not null, log text not null
);
create table production_jobs (
  no integer primary key, operation_id text not null, job text not null, config text not null,
  config_digest text not null, created_ms integer not null, hidden_lookups integer not null,
  removed_ms integer, removed_by text
);
create index production_jobs_operation on production_jobs (operation_id);
create index production_jobs_job on production_jobs (job);
create table rollbacks (
  no integer primary key, operation_id text not null, job text not null, config text not null,
  config_digest text not null, created_ms integer not null, hidden_lookups integer not null
);
create index rollbacks_operation on rollbacks (operation_id);
create table production_runs (
  no integer primary key references production_jobs (no),
  day integer not null, started_ms integer not null, finishes_ms integer not null,
  state text not null, class text, why text, exit integer not null, tasks integer not null,
  effect_digest text not null, effects text not null, log text not null
);
create table written_rows (
  table_name text not null, day integer not null, first_rowid integer not null, last_rowid integer not null
);
create index written_rows_table on written_rows (table_name, day);

create table effects (
  seq integer primary key autoincrement, operation_id text not null, action text not null,
  job text not null, reference text not null, at_ms integer not null, wall_ms integer not null,
  process integer not null
);
create trigger effects_no_update before update on effects begin select raise(abort, 'effects is append-only'); end;
create trigger effects_no_delete before delete on effects begin select raise(abort, 'effects is append-only'); end;
create table effect_calls (
  operation_id text not null, action text not null, calls integer not null,
  primary key (operation_id, action)
) without rowid;

create table report_numbers (
  table_name text not null, report text not null, name text not null, sql text not null, relative real not null,
  primary key (table_name, name)
) without rowid;

create table locks (name text primary key, holder text not null, note text not null) without rowid;
create table hosts (name text primary key, seen text not null, since_day integer not null) without rowid;
create table access_log (table_name text primary key, last_read_day integer not null) without rowid;
create table readers (table_name text not null, reader text not null, primary key (table_name, reader)) without rowid;
create table retired_reports (report text primary key, since_day integer not null) without rowid;
create table replaced_tables (table_name text primary key, replaced_by text not null) without rowid;
create table equal_tables (table_name text primary key, other text not null, days integer not null) without rowid;
create table closed_mailboxes (address text primary key, since_day integer not null) without rowid;
create table departed_people (account text primary key, since_day integer not null) without rowid;
create table ended_programmes (programme text primary key, since_day integer not null) without rowid;
";

/// The lock of the external loader that fills `src_inventory`; without it only the loaded half is read.
pub const INVENTORY_LOCK: &str = "/var/lock/inventory-load.lock";
/// The lock of the external loader of raw events.
pub const EVENTS_LOCK: &str = "/var/lock/events.lock";

/// The source tables behind [`INVENTORY_LOCK`]: `src_inventory` and its replicas.
pub fn is_behind_inventory_lock(table: &str) -> bool {
    table == "src_inventory" || table.starts_with("src_inventory_")
}

/// A table's physical name on a side: `legacy__t`, `staging__t`, `production__t`, `yesterday__t`.
pub fn physical(side: &str, table: &str) -> String {
    format!("{side}__{table}")
}

/// An identifier, quoted.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
