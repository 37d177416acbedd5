-- Every key, every reference and every index begins with the space, so that a memory can be
-- distributed by it. Numbers are still given by one sequence a table: none is given twice.

-- References name the number alone: all but those to what is of the whole memory go, and come back
-- below. Those of tables of other packages are remembered.
CREATE TABLE foreign_reference AS
SELECT k.conrelid AS referrer, k.confrelid AS target, a.attname AS own, b.attname AS other,
    k.confdeltype = 'c' AS cascades
FROM pg_constraint k
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[1]
WHERE k.contype = 'f' AND k.connamespace = CAST(current_schema() AS REGNAMESPACE)
    AND k.confrelid NOT IN (CAST('space' AS REGCLASS), CAST('model' AS REGCLASS))
    AND array_length(k.conkey, 1) = 1
    AND k.conrelid <> ALL (ARRAY[
        CAST('entry' AS REGCLASS), 'supersession', 'fragment', 'code_file', 'code_relation',
        'code_change', 'leaf', 'memo_version', 'memo_line', 'statement', 'superseded',
        'reply_shown', 'unanswered', 'claim_entry'
    ]);

DO $$
DECLARE
    of RECORD;
BEGIN
    FOR of IN SELECT CAST(conrelid AS REGCLASS) AS name, conname FROM pg_constraint
        WHERE contype = 'f' AND connamespace = CAST(current_schema() AS REGNAMESPACE)
        AND confrelid NOT IN (CAST('space' AS REGCLASS), CAST('model' AS REGCLASS))
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', of.name, of.conname);
    END LOOP;
END $$;

ALTER TABLE body DROP CONSTRAINT body_pkey, ADD PRIMARY KEY (space, id);
ALTER TABLE label DROP CONSTRAINT label_pkey, ADD PRIMARY KEY (space, id);
ALTER TABLE vector_data DROP CONSTRAINT vector_data_pkey, ADD PRIMARY KEY (space, id);

ALTER TABLE source DROP CONSTRAINT source_pkey, ADD PRIMARY KEY (space, id);

ALTER TABLE entry DROP CONSTRAINT entry_pkey, DROP CONSTRAINT entry_source_digest_key,
    ADD PRIMARY KEY (space, seq), ADD UNIQUE (space, source, digest),
    ADD FOREIGN KEY (space, source) REFERENCES source (space, id) DEFERRABLE;
DROP INDEX entry_by_space;
DROP INDEX entry_by_position;
CREATE INDEX entry_by_position ON entry (space, source, position);

ALTER TABLE supersession DROP CONSTRAINT supersession_pkey, ADD PRIMARY KEY (space, older),
    ADD FOREIGN KEY (space, older) REFERENCES entry (space, seq) DEFERRABLE,
    ADD FOREIGN KEY (space, newer) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX supersession_by_newer;
CREATE INDEX supersession_by_newer ON supersession (space, newer);

ALTER TABLE fragment DROP CONSTRAINT fragment_pkey, ADD PRIMARY KEY (space, id),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX fragment_by_space;
DROP INDEX fragment_by_entry;
CREATE INDEX fragment_by_entry ON fragment (space, entry);

ALTER TABLE block DROP CONSTRAINT block_pkey, ADD PRIMARY KEY (space, id);
DROP INDEX block_by_space;
ALTER TABLE block_rows DROP CONSTRAINT block_rows_by_piece,
    ADD CONSTRAINT block_rows_by_piece PRIMARY KEY (space, id, piece);
ALTER TABLE block_postings DROP CONSTRAINT block_postings_by_piece,
    ADD CONSTRAINT block_postings_by_piece PRIMARY KEY (space, id, piece) INCLUDE (head);
ALTER TABLE vector_block DROP CONSTRAINT vector_block_pkey, ADD PRIMARY KEY (space, id);
DROP INDEX vector_block_by_place;
CREATE UNIQUE INDEX vector_block_by_place ON vector_block (space, block, model, slot);
ALTER TABLE vector_block_data DROP CONSTRAINT vector_block_data_by_piece,
    ADD CONSTRAINT vector_block_data_by_piece PRIMARY KEY (space, id, piece);
ALTER TABLE gone DROP CONSTRAINT gone_pkey, ADD PRIMARY KEY (space, id);
DROP INDEX gone_by_space;

ALTER TABLE code_repository DROP CONSTRAINT code_repository_pkey, ADD PRIMARY KEY (space, id);
ALTER TABLE code_file DROP CONSTRAINT code_file_pkey, ADD PRIMARY KEY (space, id),
    DROP CONSTRAINT code_file_repository_path_key, ADD UNIQUE (space, repository, path),
    ADD FOREIGN KEY (space, repository) REFERENCES code_repository (space, id) DEFERRABLE;
ALTER TABLE code_relation DROP CONSTRAINT code_relation_pkey, ADD PRIMARY KEY (space, repository),
    ADD FOREIGN KEY (space, repository) REFERENCES code_repository (space, id) DEFERRABLE;
ALTER TABLE code_change DROP CONSTRAINT code_change_pkey, ADD PRIMARY KEY (space, id),
    DROP CONSTRAINT code_change_entry_key, ADD UNIQUE (space, entry),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE,
    ADD FOREIGN KEY (space, repository) REFERENCES code_repository (space, id) DEFERRABLE;
DROP INDEX code_change_by_repository;
CREATE INDEX code_change_by_repository ON code_change (space, repository);

ALTER TABLE leaf DROP CONSTRAINT leaf_pkey, ADD PRIMARY KEY (space, fragment),
    ADD FOREIGN KEY (space, fragment) REFERENCES fragment (space, id) DEFERRABLE;

ALTER TABLE memo DROP CONSTRAINT memo_pkey, ADD PRIMARY KEY (space, id),
    DROP CONSTRAINT memo_current_key, ADD UNIQUE (space, current);
ALTER TABLE memo_version DROP CONSTRAINT memo_version_pkey, ADD PRIMARY KEY (space, id),
    ADD FOREIGN KEY (space, memo) REFERENCES memo (space, id) DEFERRABLE,
    ADD FOREIGN KEY (space, change) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX memo_version_by_memo;
CREATE INDEX memo_version_by_memo ON memo_version (space, memo, id);
DROP INDEX memo_version_by_change;
CREATE INDEX memo_version_by_change ON memo_version (space, change);
ALTER TABLE memo_line DROP CONSTRAINT memo_line_pkey, ADD PRIMARY KEY (space, version, entry),
    ADD FOREIGN KEY (space, version) REFERENCES memo_version (space, id) DEFERRABLE,
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX memo_line_by_entry;
CREATE INDEX memo_line_by_entry ON memo_line (space, entry);

ALTER TABLE statement DROP CONSTRAINT statement_pkey, ADD PRIMARY KEY (space, id),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX statement_by_entry;
CREATE INDEX statement_by_entry ON statement (space, entry);
ALTER TABLE superseded DROP CONSTRAINT superseded_pkey,
    ADD PRIMARY KEY (space, entry, newer, stale, subject, slot),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE,
    ADD FOREIGN KEY (space, newer) REFERENCES entry (space, seq) DEFERRABLE;
DROP INDEX superseded_by_newer;
CREATE INDEX superseded_by_newer ON superseded (space, newer);

ALTER TABLE reply_shown DROP CONSTRAINT reply_shown_pkey, ADD PRIMARY KEY (space, shown, reply),
    ADD FOREIGN KEY (space, reply) REFERENCES entry (space, seq) ON DELETE CASCADE DEFERRABLE;
DROP INDEX reply_shown_by_reply;
CREATE INDEX reply_shown_by_reply ON reply_shown (space, reply);
ALTER TABLE unanswered DROP CONSTRAINT unanswered_pkey, ADD PRIMARY KEY (space, entry),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE;
ALTER TABLE claim_entry DROP CONSTRAINT claim_entry_pkey, ADD PRIMARY KEY (space, entry),
    ADD FOREIGN KEY (space, entry) REFERENCES entry (space, seq) DEFERRABLE,
    ADD FOREIGN KEY (space, key) REFERENCES claim (space, key) ON DELETE CASCADE DEFERRABLE;

-- What is out of date is looked for space by space.
DROP INDEX reply_by_time;
CREATE INDEX reply_by_time ON reply (space, at);
DROP INDEX claim_by_time;
CREATE INDEX claim_by_time ON claim (space, at);

ALTER TABLE intake DROP CONSTRAINT intake_pkey, ADD PRIMARY KEY (space, id);
DROP INDEX intake_by_space;
ALTER TABLE intake_slice DROP CONSTRAINT intake_slice_pkey, ADD PRIMARY KEY (space, id);
DROP INDEX intake_slice_waiting;
CREATE INDEX intake_slice_waiting ON intake_slice (space, intake, id) WHERE NOT taken;

-- The table of neighbours is there once a space is above its limit.
DO $$
BEGIN
    IF to_regclass('nearest') IS NOT NULL THEN
        ALTER TABLE nearest DROP CONSTRAINT nearest_pkey, ADD PRIMARY KEY (space, number);
    END IF;
END $$;

-- Tables of other packages refer to rows of ours by number; one without a space is given it.
DO $$
DECLARE
    of RECORD;
BEGIN
    FOR of IN SELECT CAST(referrer AS REGCLASS) AS name, CAST(target AS REGCLASS) AS target,
        own, other, cascades FROM foreign_reference
    LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = of.name AND attname = 'space'
                       AND NOT attisdropped) THEN
            EXECUTE format('ALTER TABLE %s ADD COLUMN space BIGINT NOT NULL DEFAULT 0', of.name);
            EXECUTE format('UPDATE %s AS o SET space = t.space FROM %s t WHERE t.%I = o.%I',
                           of.name, of.target, of.other, of.own);
            EXECUTE format('ALTER TABLE %s ALTER COLUMN space SET DEFAULT treering_space()',
                           of.name);
            PERFORM treering_protect(of.name);
        END IF;
        EXECUTE format('ALTER TABLE %s ADD FOREIGN KEY (space, %I) REFERENCES %s (space, %I)'
                       ' %s DEFERRABLE', of.name, of.own, of.target, of.other,
                       CASE WHEN of.cascades THEN 'ON DELETE CASCADE' ELSE '' END);
    END LOOP;
END $$;
DROP TABLE foreign_reference;
