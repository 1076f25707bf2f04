-- A rollout says which columns of its row are filled, first of all; one that does not was written by another version, and is filled anew.
CREATE INDEX rollouts_of_others ON rollouts (cluster, id) WHERE substr(rollout, 1, 12) <> '{"format":1,';
UPDATE format SET format = 4;
