-- Vectors are numbered by a sequence: a counter in a row would let writers of different spaces wait
-- for each other. Numbers given to what is rolled back are left out.
CREATE SEQUENCE vector_number;
SELECT setval('vector_number', value) FROM storage WHERE name = 'vectors' AND value > 0;
DELETE FROM storage WHERE name = 'vectors';
