-- The few open episodes of a cluster: a restart reads them, and the lines of the log since then.
CREATE INDEX episodes_open ON episodes (cluster, to_millis) WHERE is_open = 1;
-- Namespaces and numbers of rollouts are read in this index alone.
CREATE INDEX rollouts_by_namespace ON rollouts (cluster, namespace, uid, kind);
