-- Whether something that somebody does has ended is asked at each statement of it: without an index
-- of ends, all statements of its kind are read for that.
CREATE INDEX IF NOT EXISTS statement_end ON statement (space, subject, slot) WHERE sense = 'ends';
