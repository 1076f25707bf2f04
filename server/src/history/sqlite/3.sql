-- A rollout is compared with those before it by what its pods did.
ALTER TABLE rollouts ADD COLUMN first_available_millis INTEGER NOT NULL DEFAULT -1; -- after its begin; -1 where that is not known
ALTER TABLE rollouts ADD COLUMN restarts INTEGER NOT NULL DEFAULT -1; -- of containers of its pods, until it ended; -1 where that is not known
