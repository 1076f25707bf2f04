CREATE TABLE format (format BIGINT NOT NULL);
INSERT INTO format VALUES (1);

CREATE TABLE clusters (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,                  -- namespaces that are watched, with commas; empty for all
    heard_millis BIGINT NOT NULL,         -- last word from it
    kept_from BIGINT NOT NULL,            -- the keyframe that what is kept begins with; 0 while everything is kept
    last_commit TEXT NOT NULL DEFAULT ''  -- who wrote last, and which of its commits: one of which the answer was lost is not written twice
);

-- Lines of recordings. A keyframe says what existed after the batch of the same number.
CREATE TABLE batches (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster BIGINT NOT NULL REFERENCES clusters (id),
    seq BIGINT NOT NULL,
    is_keyframe BIGINT NOT NULL,
    from_millis BIGINT NOT NULL,
    to_millis BIGINT NOT NULL,
    format BIGINT NOT NULL,
    body BYTEA NOT NULL
);
ALTER TABLE batches ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already
CREATE UNIQUE INDEX batches_by_seq ON batches (cluster, seq, is_keyframe);
CREATE INDEX batches_by_time ON batches (to_millis);

-- The timeline as it stood after the batch of that number.
CREATE TABLE checkpoints (
    cluster BIGINT PRIMARY KEY REFERENCES clusters (id),
    seq BIGINT NOT NULL,
    made_by TEXT NOT NULL,                -- only the timeline that made it reads it
    body BYTEA NOT NULL
);
ALTER TABLE checkpoints ALTER COLUMN body SET STORAGE EXTERNAL;

-- The index of rollouts: what is searched in columns of its own, all of it as JSON.
CREATE TABLE rollouts (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster BIGINT NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    number BIGINT NOT NULL,               -- of those that were seen of the workload, from 0
    namespace TEXT NOT NULL,
    started_millis BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL,                  -- why it was stuck; empty if it never was
    is_deleted BIGINT NOT NULL,           -- the workload is
    text TEXT NOT NULL,                   -- what words are looked for in, in small letters
    rollout TEXT NOT NULL,
    revision BIGINT NOT NULL,
    took_millis BIGINT NOT NULL           -- -1 while it goes on
);
CREATE UNIQUE INDEX rollouts_by_workload ON rollouts (cluster, uid, number);
CREATE INDEX rollouts_by_time ON rollouts (started_millis, id);

-- What is let go makes room for what comes, soon.
ALTER TABLE batches SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE rollouts SET (autovacuum_vacuum_scale_factor = 0.02);
