-- Statements name the space beside each number, so tables whose rows were found by what they belong
-- to get it. In a file the number stays the key: it is where the row stands.
ALTER TABLE code_file ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
ALTER TABLE code_relation ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memo_version ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memo_line ADD COLUMN space INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reply_shown ADD COLUMN space INTEGER NOT NULL DEFAULT 0;

UPDATE code_file SET space = coalesce((SELECT p.space FROM code_repository p
    WHERE p.id = repository), 0);
UPDATE code_relation SET space = coalesce((SELECT p.space FROM code_repository p
    WHERE p.id = repository), 0);
UPDATE memo_version SET space = coalesce((SELECT p.space FROM memo p WHERE p.id = memo), 0);
UPDATE memo_line SET space = coalesce((SELECT p.space FROM memo_version p
    WHERE p.id = version), 0);
UPDATE reply_shown SET space = coalesce((SELECT p.space FROM entry p WHERE p.seq = reply), 0);

-- A view of another package refers to an entry by both, in a file as on a server.
DROP INDEX entry_by_space;
CREATE UNIQUE INDEX entry_by_space ON entry (space, seq);
