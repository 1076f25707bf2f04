CREATE TABLE clusters (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,           -- namespaces that are watched, with commas; empty for all
    heard_millis INTEGER NOT NULL, -- last word from it
    kept_from INTEGER NOT NULL     -- the keyframe that what is kept begins with; 0 while everything is kept
) STRICT;

-- Lines of recordings. A keyframe says what existed after the batch of the same number.
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    seq INTEGER NOT NULL,
    is_keyframe INTEGER NOT NULL,
    from_millis INTEGER NOT NULL,
    to_millis INTEGER NOT NULL,
    format INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX batches_by_seq ON batches (cluster, seq, is_keyframe);
CREATE INDEX batches_by_time ON batches (to_millis);

-- The timeline as it stood after the batch of that number.
CREATE TABLE checkpoints (
    cluster INTEGER PRIMARY KEY REFERENCES clusters (id),
    seq INTEGER NOT NULL,
    made_by TEXT NOT NULL,         -- only the timeline that made it reads it
    body BLOB NOT NULL
) STRICT;

-- The index of rollouts: what is searched in columns of its own, all of it as JSON.
CREATE TABLE rollouts (
    id INTEGER PRIMARY KEY,
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    number INTEGER NOT NULL,       -- of those that were seen of the workload, from 0
    namespace TEXT NOT NULL,
    started_millis INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL,           -- why it was stuck; empty if it never was
    is_deleted INTEGER NOT NULL,   -- the workload is
    text TEXT NOT NULL,            -- what words are looked for in, in small letters
    rollout TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX rollouts_by_workload ON rollouts (cluster, uid, number);
CREATE INDEX rollouts_by_time ON rollouts (started_millis, id);
