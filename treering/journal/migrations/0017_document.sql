-- The document that a source is a part of, such as a page; NULL for any other source.
ALTER TABLE source ADD COLUMN document INTEGER;  -- a label: its name
ALTER TABLE source ADD COLUMN whole BLOB;        -- the hash of that, which it is found by
CREATE INDEX source_by_document ON source (space, whole) WHERE whole IS NOT NULL;
