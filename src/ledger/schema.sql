CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  seq     INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  goal    TEXT NOT NULL,
  job     TEXT NOT NULL,          -- '' when it concerns the goal or the whole ledger
  attempt INTEGER NOT NULL,       -- 0 when it belongs to none
  actor   TEXT NOT NULL,
  kind    TEXT NOT NULL,
  body    TEXT NOT NULL,
  hash    TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_job ON events (goal, job, seq);
CREATE TRIGGER events_keep BEFORE UPDATE ON events BEGIN SELECT raise(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT raise(ABORT, 'events are append-only'); END;

CREATE TABLE blobs (
  digest TEXT PRIMARY KEY, size INTEGER NOT NULL, coding TEXT NOT NULL, data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- For the message only; never decided upon.
CREATE TABLE engine (
  id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER NOT NULL, host TEXT NOT NULL,
  beat_ms INTEGER NOT NULL, engine_ms INTEGER NOT NULL, beat_every_ms INTEGER NOT NULL, state TEXT NOT NULL
) STRICT;

-- Everything below is a projection: it can be made again from events.
CREATE TABLE chains (
  goal TEXT NOT NULL, job TEXT NOT NULL, head TEXT NOT NULL, entries INTEGER NOT NULL,
  PRIMARY KEY (goal, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE goals (
  goal TEXT PRIMARY KEY, version INTEGER NOT NULL, objective TEXT NOT NULL, owner TEXT NOT NULL,
  deadline_ms INTEGER, adopted_ms INTEGER NOT NULL, jobs_listed INTEGER, ended TEXT,
  stopped TEXT,                    -- why a budget ended the work; NULL while it goes on
  forecast TEXT, forecast_ms INTEGER,
   heartbeat TEXT NOT NULL, heartbeat_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE contracts (
  goal TEXT NOT NULL, version INTEGER NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, base_dir TEXT NOT NULL,
  overrides TEXT NOT NULL, me TEXT NOT NULL, answers TEXT NOT NULL, adopted_ms INTEGER NOT NULL,
  adopted_by TEXT NOT NULL, why TEXT NOT NULL, changes TEXT NOT NULL, impact TEXT NOT NULL,
  impact_detail TEXT NOT NULL, PRIMARY KEY (goal, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  goal TEXT NOT NULL, job TEXT NOT NULL, position INTEGER NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
  reason TEXT NOT NULL, strategy INTEGER, attempt INTEGER NOT NULL, tries INTEGER NOT NULL,
  clauses_passed INTEGER NOT NULL, clauses_total INTEGER NOT NULL, passed_judge INTEGER NOT NULL,
  passed_person INTEGER NOT NULL, paused INTEGER NOT NULL,
  to_verify INTEGER NOT NULL, high_risk INTEGER NOT NULL, wait_kind TEXT, wait_reason TEXT, wait_since_ms INTEGER,
  next_check_ms INTEGER, overdue_ms INTEGER, queries INTEGER NOT NULL, last_progress_ms INTEGER NOT NULL,
  PRIMARY KEY (goal, job)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX jobs_by_position ON jobs (goal, position);
-- Holds everything that the header counts, so that 100,000 jobs are counted without reading their rows.
CREATE INDEX jobs_by_state ON jobs (goal, state, wait_kind, paused, to_verify);
CREATE INDEX jobs_waiting ON jobs (goal, wait_kind, position) WHERE wait_kind IS NOT NULL;
CREATE INDEX jobs_overdue ON jobs (goal, overdue_ms) WHERE overdue_ms IS NOT NULL;

-- A job as the engine knows it. Apart from its row: lists and filters pass over rows, never over facts.
CREATE TABLE facts (
  goal TEXT NOT NULL, job TEXT NOT NULL, facts TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (goal, job)
) STRICT, WITHOUT ROWID;

-- Which jobs depend on which.
CREATE TABLE lineage (
  goal TEXT NOT NULL, upstream TEXT NOT NULL, job TEXT NOT NULL, PRIMARY KEY (goal, upstream, job)
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_by_job ON lineage (goal, job);

CREATE TABLE attempts (
  goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, strategy TEXT NOT NULL,
  started_ms INTEGER NOT NULL, ended_ms INTEGER, outcome TEXT NOT NULL, reason TEXT NOT NULL, config TEXT,
  no_new_evidence INTEGER NOT NULL DEFAULT 0,
  remark TEXT NOT NULL, PRIMARY KEY (goal, job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, turn INTEGER NOT NULL, provider TEXT NOT NULL,
  model TEXT NOT NULL, prefix TEXT NOT NULL, system TEXT NOT NULL, message TEXT, tokens INTEGER NOT NULL,
  money INTEGER, started_ms INTEGER NOT NULL, ended_ms INTEGER, outcome TEXT NOT NULL, why TEXT NOT NULL,
  uncached INTEGER NOT NULL, cache_write INTEGER NOT NULL, cache_read INTEGER, output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL, source TEXT NOT NULL, cost INTEGER, request_id TEXT, answer TEXT,
  PRIMARY KEY (goal, job, attempt, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_calls (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, turn INTEGER NOT NULL,
  call TEXT NOT NULL, tool TEXT NOT NULL, outcome TEXT NOT NULL, words TEXT NOT NULL, answer TEXT NOT NULL,
  spent INTEGER NOT NULL, at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_calls_by_job ON tool_calls (goal, job, attempt, turn);

CREATE TABLE questions (
  question TEXT PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, text TEXT NOT NULL,
  kind TEXT NOT NULL,              -- question: a model asks; sample: rows to look at
  clause TEXT, detail TEXT,        -- of a sample: the clause, and the body with its rows
  asked_ms INTEGER NOT NULL, answered_ms INTEGER, by TEXT, answer TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_open ON questions (goal, answered_ms);

CREATE TABLE operations (
  operation TEXT PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL,
  action TEXT NOT NULL, config TEXT NOT NULL, ordinal INTEGER NOT NULL, state TEXT NOT NULL,
  reference TEXT NOT NULL, why TEXT NOT NULL, approval TEXT, upstream TEXT NOT NULL, sends INTEGER NOT NULL,
  look_ups INTEGER NOT NULL, to_verify INTEGER NOT NULL, intended_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL, next_look_ms INTEGER, observed TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX operations_by_job ON operations (goal, job, intended_ms);
CREATE INDEX operations_by_state ON operations (goal, state);

CREATE TABLE evidence (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, clause TEXT NOT NULL,
  kind TEXT NOT NULL,              -- whose word it is: script, judge, person
  by TEXT,                         -- the person
  clause_digest TEXT NOT NULL, verdict TEXT NOT NULL, summary TEXT NOT NULL, config TEXT NOT NULL,
  lineage TEXT NOT NULL,
  checker TEXT NOT NULL, operation TEXT NOT NULL, detail TEXT NOT NULL, spent INTEGER NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX evidence_by_job ON evidence (goal, job, seq);

CREATE TABLE approvals (
  approval TEXT PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, action TEXT NOT NULL, digest TEXT NOT NULL, parts TEXT NOT NULL,
  consequences TEXT NOT NULL, requested_ms INTEGER NOT NULL, expires_ms INTEGER, state TEXT NOT NULL,
  decided_by TEXT, reason TEXT NOT NULL, decided_ms INTEGER, outcome TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_by_state ON approvals (goal, state, requested_ms, job);
CREATE INDEX approvals_by_job ON approvals (goal, job);

CREATE TABLE decisions (
  decision TEXT PRIMARY KEY, seq INTEGER NOT NULL, goal TEXT NOT NULL, job TEXT NOT NULL, by TEXT NOT NULL,
  origin TEXT NOT NULL, act TEXT NOT NULL, submitted_ms INTEGER NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL,
  answered_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_open ON decisions (state, seq);

CREATE TABLE budgets (
  goal TEXT NOT NULL, budget TEXT NOT NULL,
  day    TEXT NOT NULL,            -- '' for all of a total
  reserved INTEGER NOT NULL, spent INTEGER NOT NULL,
  unsure INTEGER NOT NULL,         -- of what was spent: may have cost less
  PRIMARY KEY (goal, budget, day)
) STRICT, WITHOUT ROWID;

-- Reservations without an end.
CREATE TABLE spends (
  goal TEXT NOT NULL, spend TEXT NOT NULL, job TEXT NOT NULL, amounts TEXT NOT NULL, day TEXT NOT NULL,
  reserved_ms INTEGER NOT NULL, PRIMARY KEY (goal, spend)
) STRICT, WITHOUT ROWID;

CREATE TABLE handoffs (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, why TEXT NOT NULL, json TEXT NOT NULL, markdown TEXT NOT NULL,
  written_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX handoffs_by_goal ON handoffs (goal, seq);

CREATE TABLE proofs (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, adapter TEXT NOT NULL, version TEXT NOT NULL, action TEXT NOT NULL,
  method TEXT NOT NULL, counts TEXT NOT NULL, proven INTEGER NOT NULL, measured_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX proofs_by_goal ON proofs (goal, seq);

CREATE TABLE outages (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, part TEXT NOT NULL, from_ms INTEGER NOT NULL, began_ms INTEGER NOT NULL,
  failures INTEGER NOT NULL, trials INTEGER NOT NULL, jobs INTEGER NOT NULL, rate_ppm INTEGER NOT NULL, one_in INTEGER NOT NULL,
  next_probe_ms INTEGER NOT NULL, probes INTEGER NOT NULL, last_probe TEXT, ended_ms INTEGER, why TEXT NOT NULL
) STRICT;
CREATE INDEX outages_by_goal ON outages (goal, ended_ms);
-- What workers hold against clauses; for the owner.
CREATE TABLE claims (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, attempt INTEGER NOT NULL, clause TEXT NOT NULL,
  why TEXT NOT NULL, at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX claims_by_goal ON claims (goal, seq);

CREATE TABLE spins (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, rule TEXT NOT NULL, what TEXT NOT NULL,
  count INTEGER NOT NULL, threshold INTEGER NOT NULL, entries TEXT NOT NULL, next INTEGER, found_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX spins_by_goal ON spins (goal, seq);

CREATE TABLE overrules (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, spin INTEGER NOT NULL, rule TEXT NOT NULL, job TEXT NOT NULL,
  by TEXT NOT NULL, reason TEXT NOT NULL, made_ms INTEGER NOT NULL, ended_ms INTEGER
) STRICT;
CREATE INDEX overrules_by_goal ON overrules (goal, seq);
CREATE INDEX overrules_by_spin ON overrules (spin);

CREATE TABLE plans (
  goal TEXT NOT NULL, revision INTEGER NOT NULL, before TEXT NOT NULL, strategies TEXT NOT NULL,
  hypothesis TEXT NOT NULL, changes TEXT NOT NULL, by TEXT NOT NULL, revised_ms INTEGER NOT NULL,
  PRIMARY KEY (goal, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE progress (
  goal TEXT PRIMARY KEY, passes INTEGER NOT NULL, rounds INTEGER NOT NULL, tokens INTEGER NOT NULL,
  since INTEGER NOT NULL, spins INTEGER NOT NULL, floor INTEGER NOT NULL, held TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE drift (
  goal TEXT NOT NULL, item TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, job TEXT NOT NULL,
  ledger_says TEXT NOT NULL, world_says TEXT NOT NULL, accepting TEXT NOT NULL, found_ms INTEGER NOT NULL,
  state TEXT NOT NULL, how TEXT NOT NULL, decided_ms INTEGER, PRIMARY KEY (goal, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX drift_open ON drift (goal, state, seq);

CREATE TABLE alerts (
  seq INTEGER PRIMARY KEY, goal TEXT NOT NULL, job TEXT NOT NULL, rule TEXT NOT NULL, evidence TEXT NOT NULL,
  raised_ms INTEGER NOT NULL, cleared_ms INTEGER, cleared_why TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_open ON alerts (goal, cleared_ms);
