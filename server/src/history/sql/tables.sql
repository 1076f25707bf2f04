-- The tables of SQLite. PostgreSQL gets its own types and keys, and the lines that are for it alone.

CREATE TABLE clusters (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,           -- empty: nobody reads it
    heard_millis INTEGER NOT NULL  -- last word from it
) STRICT;
-- Who wrote last, and which of its commits: one of which the answer was lost is not written twice.
-- PostgreSQL: ALTER TABLE clusters ADD COLUMN last_commit TEXT NOT NULL DEFAULT '';

-- The log: lines of recordings of the last hours, to resume from.
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    seq INTEGER NOT NULL,
    from_millis INTEGER NOT NULL,
    to_millis INTEGER NOT NULL,
    format INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
-- PostgreSQL: ALTER TABLE batches ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already
CREATE UNIQUE INDEX batches_by_seq ON batches (cluster, seq);
CREATE INDEX batches_by_time ON batches (to_millis);

-- The timeline as it stood after the batch of that number.
CREATE TABLE checkpoints (
    cluster INTEGER PRIMARY KEY REFERENCES clusters (id),
    seq INTEGER NOT NULL,
    made_by TEXT NOT NULL,         -- only the timeline that made it reads it
    body BLOB NOT NULL
) STRICT;
-- PostgreSQL: ALTER TABLE checkpoints ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already

-- The objects of a workload as they were when it was last at rest.
CREATE TABLE snapshots (
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (cluster, uid)
) STRICT;
-- PostgreSQL: ALTER TABLE snapshots ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already

-- One row is one recording: of a stretch in which a workload was not at rest.
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    from_millis INTEGER NOT NULL,
    to_millis INTEGER NOT NULL,
    is_open INTEGER NOT NULL,      -- it goes on
    format INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
-- PostgreSQL: ALTER TABLE episodes ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already
CREATE UNIQUE INDEX episodes_by_workload ON episodes (cluster, uid, from_millis);
CREATE INDEX episodes_by_time ON episodes (to_millis);

-- The index of rollouts, and of episodes without a rollout: what is searched in columns of its own, all of it as JSON.
CREATE TABLE rollouts (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    number INTEGER NOT NULL,       -- of those that were seen of the workload, from 0
    kind TEXT NOT NULL,            -- of the episode: rollout, scaling, recovery, failure, deletion
    namespace TEXT NOT NULL,
    workload TEXT NOT NULL,        -- its name
    revision INTEGER NOT NULL,
    images TEXT NOT NULL,          -- in small letters
    started_millis INTEGER NOT NULL,
    over_millis INTEGER NOT NULL,  -- when it was over; the largest number while it goes on
    took_millis INTEGER NOT NULL,  -- -1 while it goes on
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL,           -- why it was stuck; empty if it never was
    first_available_millis INTEGER NOT NULL, -- after its begin; -1 where that is not known
    restarts INTEGER NOT NULL,     -- of containers of its pods, until it ended; -1 where that is not known
    is_deleted INTEGER NOT NULL,   -- the workload is
    text TEXT NOT NULL,            -- what words are looked for in, in small letters
    rollout TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX rollouts_by_workload ON rollouts (cluster, uid, number);
CREATE INDEX rollouts_by_time ON rollouts (started_millis, id, over_millis);
CREATE INDEX rollouts_by_name ON rollouts (workload, started_millis);

-- What is removed makes room for what comes, soon.
-- PostgreSQL: ALTER TABLE batches SET (autovacuum_vacuum_scale_factor = 0.02);
-- PostgreSQL: ALTER TABLE episodes SET (autovacuum_vacuum_scale_factor = 0.02);
-- PostgreSQL: ALTER TABLE rollouts SET (autovacuum_vacuum_scale_factor = 0.02);
