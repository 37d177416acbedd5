#!/bin/sh
# Run once, by the image, on a new database: a user of treering's own, who owns its database and is
# no superuser. The extension needs one: it indexes the vectors of spaces that are too large to be held.
set -eu
psql --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv password DATABASE_PASSWORD
CREATE ROLE treering LOGIN PASSWORD :'password';
CREATE DATABASE treering OWNER treering ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE treering FROM PUBLIC;
\connect treering
CREATE EXTENSION IF NOT EXISTS vector;
SQL
