-- Rollouts are looked for by the name of their workload, by images, and by the time in which they went on.
ALTER TABLE rollouts ADD COLUMN workload TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN images TEXT NOT NULL DEFAULT '';                              -- in small letters
ALTER TABLE rollouts ADD COLUMN over_millis BIGINT NOT NULL DEFAULT 9223372036854775807;      -- when it was over; that much while it goes on
-- As text: its JSON may hold what the server's own type refuses. What stands in strings has its quotes escaped.
UPDATE rollouts SET workload = coalesce(substring(rollout FROM '"name":"([^"]*)"'), ''),
    images = lower(coalesce(substring(rollout FROM '"images":"([^"]*)"'), '')),
    over_millis = CASE WHEN took_millis >= 0 THEN started_millis + took_millis
        WHEN is_deleted = 1 THEN coalesce(CAST(substring(rollout FROM '"momentMillis":([0-9]+)') AS BIGINT), started_millis)
        ELSE 9223372036854775807 END;
DROP INDEX rollouts_by_time;
CREATE INDEX rollouts_by_time ON rollouts (started_millis, id, over_millis);
CREATE INDEX rollouts_by_name ON rollouts (workload, started_millis);

-- The last rollout of a workload that exists, cut out of lines that were let go.
CREATE TABLE pins (
    cluster BIGINT NOT NULL REFERENCES clusters (id),
    uid TEXT NOT NULL,
    number BIGINT NOT NULL,
    from_millis BIGINT NOT NULL,
    to_millis BIGINT NOT NULL,            -- what came later is not in it
    format BIGINT NOT NULL,
    body BYTEA NOT NULL,                  -- as that of a batch; empty where there was nothing
    PRIMARY KEY (cluster, uid, number)
);
ALTER TABLE pins ALTER COLUMN body SET STORAGE EXTERNAL;
UPDATE format SET format = 3;
