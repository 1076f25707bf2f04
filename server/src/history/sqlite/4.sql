-- Rollouts are looked for by the name of their workload, by images, and by the time in which they went on.
ALTER TABLE rollouts ADD COLUMN workload TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN images TEXT NOT NULL DEFAULT '';                       -- in small letters
ALTER TABLE rollouts ADD COLUMN over_millis INTEGER NOT NULL DEFAULT 9223372036854775807; -- when it was over; that much while it goes on
UPDATE rollouts SET workload = json_extract(rollout, '$.name'), images = lower(json_extract(rollout, '$.images')),
    over_millis = CASE WHEN took_millis >= 0 THEN started_millis + took_millis
        WHEN is_deleted = 1 THEN coalesce(json_extract(rollout, '$.momentMillis'), started_millis)
        ELSE 9223372036854775807 END;
DROP INDEX rollouts_by_time;
CREATE INDEX rollouts_by_time ON rollouts (started_millis, id, over_millis);
CREATE INDEX rollouts_by_name ON rollouts (workload, started_millis);

-- The last rollout of a workload that exists, cut out of lines that were let go.
CREATE TABLE pins (
    cluster INTEGER NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    number INTEGER NOT NULL,
    from_millis INTEGER NOT NULL,
    to_millis INTEGER NOT NULL,    -- what came later is not in it
    format INTEGER NOT NULL,
    body BLOB NOT NULL,            -- as that of a batch; empty where there was nothing
    PRIMARY KEY (cluster, uid, number)
) STRICT;
