-- Links for people without an account, for all Rollcasts that keep their history here.
CREATE TABLE links (
    id TEXT PRIMARY KEY,
    edition BIGINT NOT NULL,              -- the number of the last change to it: the others read what has a later one than they know
    until_millis BIGINT NOT NULL,         -- when it ends, or was taken away; the row goes a few minutes later
    is_revoked BIGINT NOT NULL,
    link TEXT NOT NULL                    -- it, sealed with the keys of sessions; empty where it was taken away
);
CREATE UNIQUE INDEX links_by_edition ON links (edition);
CREATE INDEX links_by_end ON links (until_millis);

-- One row, for which those who change links wait in turn.
CREATE TABLE links_edition (edition BIGINT NOT NULL);
INSERT INTO links_edition VALUES (0);
