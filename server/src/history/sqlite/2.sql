-- Rollouts are looked for by their revision, and by how long they took.
ALTER TABLE rollouts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollouts ADD COLUMN took_millis INTEGER NOT NULL DEFAULT -1; -- -1 while it goes on
UPDATE rollouts SET revision = json_extract(rollout, '$.revision'),
    took_millis = coalesce(json_extract(rollout, '$.endedMillis') - started_millis, -1);
