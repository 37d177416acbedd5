-- The last tables whose rows were found by what they belong to get the space, too. Their policies ask
-- a column then, where they looked up another row for each, and a memory can be distributed by it.
ALTER TABLE code_file ADD COLUMN space BIGINT NOT NULL DEFAULT 0;
ALTER TABLE code_relation ADD COLUMN space BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memo_version ADD COLUMN space BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memo_line ADD COLUMN space BIGINT NOT NULL DEFAULT 0;
ALTER TABLE reply_shown ADD COLUMN space BIGINT NOT NULL DEFAULT 0;
-- What waits to be taken in may be of a space that has no number yet.
ALTER TABLE intake_slice ADD COLUMN space TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE code_file SET space = p.space FROM code_repository p WHERE p.id = repository;
UPDATE code_relation SET space = p.space FROM code_repository p WHERE p.id = repository;
UPDATE memo_version SET space = p.space FROM memo p WHERE p.id = memo;
UPDATE memo_line SET space = p.space FROM memo_version p WHERE p.id = version;
UPDATE reply_shown SET space = p.space FROM entry p WHERE p.seq = reply;
UPDATE intake_slice SET space = p.space FROM intake p WHERE p.id = intake;

ALTER TABLE code_file ALTER COLUMN space SET DEFAULT treering_space();
ALTER TABLE code_relation ALTER COLUMN space SET DEFAULT treering_space();
ALTER TABLE memo_version ALTER COLUMN space SET DEFAULT treering_space();
ALTER TABLE memo_line ALTER COLUMN space SET DEFAULT treering_space();
ALTER TABLE reply_shown ALTER COLUMN space SET DEFAULT treering_space();
ALTER TABLE intake_slice ALTER COLUMN space SET DEFAULT treering_name();

DROP POLICY of_space ON code_file;
DROP POLICY of_space ON code_relation;
DROP POLICY of_space ON memo_version;
DROP POLICY of_space ON memo_line;
DROP POLICY of_space ON reply_shown;
DROP POLICY of_space ON intake_slice;
SELECT treering_protect(CAST(name AS REGCLASS)) FROM unnest(ARRAY[
    'code_file', 'code_relation', 'memo_version', 'memo_line', 'reply_shown', 'intake_slice'
]) AS tables (name);
