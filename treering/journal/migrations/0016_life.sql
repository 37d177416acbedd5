-- How long an entry is kept, whether it comes first, and what a person says holds in its place.
ALTER TABLE entry ADD COLUMN expires INTEGER;               -- microseconds since the epoch, UTC
ALTER TABLE entry ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
CREATE INDEX entry_by_expiry ON entry (space, expires) WHERE expires IS NOT NULL;
CREATE INDEX entry_by_pin ON entry (space) WHERE pinned;

CREATE TABLE supersession (
    older INTEGER PRIMARY KEY REFERENCES entry (seq),
    newer INTEGER NOT NULL REFERENCES entry (seq),
    space INTEGER NOT NULL REFERENCES space (id)
);
CREATE INDEX supersession_by_newer ON supersession (newer);
