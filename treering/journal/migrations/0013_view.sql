-- How far each view has come, and of which version its rows are.
CREATE TABLE view (
    space   INTEGER NOT NULL REFERENCES space (id),
    name    TEXT    NOT NULL,
    version TEXT    NOT NULL,                 -- of what its rows are derived by; '' if unknown
    read    INTEGER NOT NULL DEFAULT 0,       -- up to which entry it has read the journal
    target  TEXT,                             -- the version that a rebuild under way makes
    rebuilt INTEGER NOT NULL DEFAULT 0,       -- up to which entry it has come
    tables  TEXT    NOT NULL DEFAULT '',      -- of another package's view: what to empty if it is not installed
    PRIMARY KEY (space, name)
);
-- New entries were queued for the fragments one by one; now only those with another text are.
INSERT INTO view (space, name, version, read)
    SELECT s.id, 'fragments', '', coalesce((SELECT max(e.seq) FROM entry e WHERE e.space = s.id), 0)
    FROM space s;
INSERT INTO view (space, name, version, read) SELECT space, 'facts', '', read FROM fact_mark;
INSERT INTO view (space, name, version, read)
    SELECT s.id, 'code', '', coalesce((
        SELECT CASE WHEN coalesce(max(c.entry), 0) < (
            SELECT coalesce(max(e.seq), 0) FROM entry e JOIN source o ON o.id = e.source
            WHERE o.space = s.id AND o.name >= 'code:' AND o.name < 'code;')
        THEN coalesce(max(c.entry), 0)
        ELSE (SELECT max(e.seq) FROM entry e WHERE e.space = s.id) END
        FROM code_change c WHERE c.space = s.id), 0)
    FROM space s;
INSERT INTO view (space, name, version, read)
    SELECT s.id, 'memo', '', coalesce((SELECT max(e.seq) FROM entry e WHERE e.space = s.id), 0)
    FROM space s;
INSERT INTO view (space, name, version, read)
    SELECT s.id, 'tree', '', coalesce((SELECT max(e.seq) FROM entry e WHERE e.space = s.id), 0)
    FROM space s;
UPDATE work SET view = 'read:facts' WHERE view = 'fact';
UPDATE work SET view = 'read:fragments' WHERE view = 'fragments';
ALTER TABLE fact_mark DROP COLUMN read;
-- Grows when rows that were there are made anew: what is held of them in memory is read again.
ALTER TABLE space ADD COLUMN edition INTEGER NOT NULL DEFAULT 0;
