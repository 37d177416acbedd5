-- The name of the document that a source is a part of, such as a page; NULL for any other source.
ALTER TABLE source ADD COLUMN document TEXT;
CREATE INDEX source_by_document ON source (space, document) WHERE document IS NOT NULL;
