-- Requests with an idempotency key that are being done, or were when their process ended.
CREATE TABLE claim (
    space   INTEGER NOT NULL REFERENCES space (id) ON DELETE CASCADE,
    key     BLOB    NOT NULL,                 -- SHA-256 of the idempotency key
    request BLOB    NOT NULL,                 -- HMAC of the request under the idempotency key
    attempt INTEGER NOT NULL,                 -- random; who takes a claim over gives it another one
    claimer INTEGER,                          -- presence of the process that does it; NULL: it failed
    at      INTEGER NOT NULL,
    PRIMARY KEY (space, key)
);
CREATE INDEX claim_by_time ON claim (at);

-- The entries of the message of such a request, so that the next attempt does not keep it twice.
CREATE TABLE claim_entry (
    entry INTEGER PRIMARY KEY REFERENCES entry (seq),
    space INTEGER NOT NULL,
    key   BLOB    NOT NULL,
    FOREIGN KEY (space, key) REFERENCES claim (space, key) ON DELETE CASCADE
);
CREATE INDEX claim_entry_by_claim ON claim_entry (space, key);
