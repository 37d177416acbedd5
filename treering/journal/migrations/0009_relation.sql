-- The part of a repository's code relation that is dear to find: what paths through calls add.
CREATE TABLE code_relation (
    repository INTEGER PRIMARY KEY REFERENCES code_repository (id),
    fragments  INTEGER NOT NULL,              -- of the repository; a check
    data       BLOB    NOT NULL               -- rows, columns and values, see code/codec.py
);
