-- A database with what PostgreSQL 16, 17 and 18 brought. Roles fid_owner, fid_app and fid_reader exist in the cluster.
SET client_min_messages = error;
CREATE SCHEMA main AUTHORIZATION fid_owner;
CREATE EXTENSION btree_gist SCHEMA public;
CREATE EXTENSION hstore SCHEMA public;
SET search_path = main, public;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
ALTER DOMAIN positive ADD CONSTRAINT positive_there NOT NULL;
CREATE COLLATION built_in (PROVIDER = builtin, LOCALE = 'C.UTF-8');
CREATE COLLATION simple (PROVIDER = builtin, LOCALE = 'PG_UNICODE_FAST');
CREATE COLLATION rules (PROVIDER = icu, LOCALE = 'und', RULES = '&a < g');

-- Generated columns, virtual and stored, in any place of the row; a virtual one is no part of what COPY carries.
CREATE TABLE computed (first_v int GENERATED ALWAYS AS (a + 1) VIRTUAL, a int, gone int, twice int GENERATED ALWAYS AS (a * 2) STORED, label text, half numeric GENERATED ALWAYS AS (a / 2.0), m text GENERATED ALWAYS AS (upper(label)) VIRTUAL);
ALTER TABLE computed DROP COLUMN gone;
INSERT INTO computed (a, label) SELECT g, 'ä' || g FROM generate_series(1, 500) g;
ALTER TABLE computed ADD COLUMN later int GENERATED ALWAYS AS (a % 7) VIRTUAL;
ALTER TABLE computed ADD CONSTRAINT virtual_check CHECK (first_v > 0);
CREATE TABLE only_virtual (v int GENERATED ALWAYS AS (1) VIRTUAL);
INSERT INTO only_virtual SELECT FROM generate_series(1, 5);
CREATE TABLE generated_parts (a int, k int, d int GENERATED ALWAYS AS (a + k) VIRTUAL) PARTITION BY RANGE (a);
CREATE TABLE generated_parts_1 PARTITION OF generated_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE generated_parts_2 (k int, d int GENERATED ALWAYS AS (a * k) VIRTUAL, a int);
ALTER TABLE generated_parts ATTACH PARTITION generated_parts_2 FOR VALUES FROM (100) TO (1000);
INSERT INTO generated_parts SELECT g, g % 10 FROM generate_series(1, 400) g;

-- NOT NULL constraints with names, not inherited, not valid, commented.
CREATE TABLE named_nulls (a int CONSTRAINT a_is_there NOT NULL, b int CONSTRAINT "b, too" NOT NULL NO INHERIT, c int NOT NULL, d int, PRIMARY KEY (c));
INSERT INTO named_nulls SELECT g, g, g, NULLIF(g, 3) FROM generate_series(1, 50) g;
ALTER TABLE named_nulls ADD CONSTRAINT d_not_yet NOT NULL d NOT VALID;
COMMENT ON CONSTRAINT a_is_there ON named_nulls IS 'named';
COMMENT ON CONSTRAINT d_not_yet ON named_nulls IS 'not valid';
CREATE TABLE null_parent (a int CONSTRAINT of_parent NOT NULL, b int);
CREATE TABLE null_child (own int CONSTRAINT of_child NOT NULL, CONSTRAINT b_of_child NOT NULL b) INHERITS (null_parent);
INSERT INTO null_child VALUES (1, 2, 3);
CREATE TABLE null_parts (a int CONSTRAINT part_a NOT NULL, b int) PARTITION BY LIST (a);
CREATE TABLE null_parts_1 PARTITION OF null_parts (CONSTRAINT b_there NOT NULL b) FOR VALUES IN (1);
CREATE TABLE null_parts_2 (a int CONSTRAINT another_name NOT NULL, b int);
ALTER TABLE null_parts ATTACH PARTITION null_parts_2 FOR VALUES IN (2);
INSERT INTO null_parts VALUES (1, 1), (2, NULL);

-- Keys over time, and foreign keys that point to them.
CREATE TABLE rooms (id int, during tstzrange, price int, CONSTRAINT rooms_key PRIMARY KEY (id, during WITHOUT OVERLAPS));
CREATE TABLE bookings (id int, room int, during tstzrange, CONSTRAINT bookings_key UNIQUE (id, during WITHOUT OVERLAPS), CONSTRAINT bookings_room FOREIGN KEY (room, PERIOD during) REFERENCES rooms (id, PERIOD during));
CREATE TABLE spans (id int, during datemultirange, PRIMARY KEY (id, during WITHOUT OVERLAPS));
INSERT INTO rooms SELECT g % 10, tstzrange(timestamptz '2009-08-10' + g * interval '1 day', timestamptz '2009-08-10' + (g + 10) * interval '1 day'), g FROM generate_series(0, 300) g;
INSERT INTO bookings SELECT g, g % 10, tstzrange(timestamptz '2009-08-11' + g * interval '1 day', timestamptz '2009-08-12' + g * interval '1 day') FROM generate_series(0, 300) g;
INSERT INTO spans VALUES (1, '{[2009-08-10,2009-08-12),[2010-01-01,)}'), (2, '{[2009-08-10,2009-08-12)}');

-- The same of partitioned tables, whose indexes the server does not attach to each other, and exclusion constraints of them. The parts' names are none that
-- it would give, some those that it would give to another.
CREATE TABLE stays (id int, during tstzrange, n int, CONSTRAINT stays_key PRIMARY KEY (id, during WITHOUT OVERLAPS) WITH (fillfactor = 80)) PARTITION BY RANGE (id);
CREATE TABLE stays_1 PARTITION OF stays FOR VALUES FROM (0) TO (10);
CREATE TABLE stays_2 PARTITION OF stays FOR VALUES FROM (10) TO (20) PARTITION BY LIST (id);
CREATE TABLE stays_2a PARTITION OF stays_2 FOR VALUES IN (10, 11, 12, 13, 14);
CREATE TABLE "stays 2 ""b""" PARTITION OF stays_2 DEFAULT;
INSERT INTO stays SELECT g % 20, tstzrange(timestamptz '2009-08-10' + g * interval '1 day', timestamptz '2009-08-10' + (g + 20) * interval '1 day'), g FROM generate_series(0, 300) g;
ALTER INDEX stays_1_pkey RENAME TO "of, one"; ALTER INDEX stays_2a_pkey RENAME TO stays_1_pkey; ALTER INDEX stays_2_pkey RENAME TO stays_2a_pkey;
ALTER TABLE stays_1 CLUSTER ON "of, one"; ALTER INDEX "of, one" SET (fillfactor = 66); ALTER INDEX stays_1_pkey RESET (fillfactor);
COMMENT ON CONSTRAINT stays_key ON stays IS 'it''s whole'; COMMENT ON CONSTRAINT "of, one" ON stays_1 IS 'a part'; COMMENT ON INDEX stays_1_pkey IS 'an index';
CREATE TABLE of_stays (id int, stay int, during tstzrange, FOREIGN KEY (stay, PERIOD during) REFERENCES stays (id, PERIOD during));
INSERT INTO of_stays SELECT g, g % 20, tstzrange(timestamptz '2009-08-11' + g * interval '1 day', timestamptz '2009-08-12' + g * interval '1 day') FROM generate_series(0, 300) g;
CREATE TABLE excluded (k text, a int4range, b int4range, EXCLUDE USING gist (k WITH =, a WITH &&) INCLUDE (b) WHERE (b IS NOT NULL), CONSTRAINT deferred EXCLUDE USING gist (k WITH =, b WITH &&) DEFERRABLE INITIALLY DEFERRED) PARTITION BY LIST (k);
CREATE TABLE excluded_a PARTITION OF excluded FOR VALUES IN ('a'); CREATE TABLE excluded_b PARTITION OF excluded FOR VALUES IN ('b');
INSERT INTO excluded SELECT CASE g % 2 WHEN 0 THEN 'a' ELSE 'b' END, int4range(g, g + 1), int4range(g, g + 2) FROM generate_series(1, 200) g;

-- Constraints that are not enforced. Rows break them.
CREATE TABLE loose (id int PRIMARY KEY, owner int, n int, CONSTRAINT n_positive CHECK (n > 0) NOT ENFORCED, CONSTRAINT loose_owner FOREIGN KEY (owner) REFERENCES loose NOT ENFORCED);
INSERT INTO loose VALUES (1, 99, -1), (2, 1, 1);
CREATE TABLE fk_parts (a int, ref int) PARTITION BY RANGE (a);
CREATE TABLE fk_parts_1 PARTITION OF fk_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE fk_parts_2 PARTITION OF fk_parts FOR VALUES FROM (100) TO (200);
INSERT INTO fk_parts VALUES (1, 77), (150, 1);
ALTER TABLE fk_parts ADD CONSTRAINT fk_not_valid FOREIGN KEY (ref) REFERENCES loose NOT VALID;

-- Identity columns of partitioned tables, and partitions with access methods and storage of their own.
CREATE TABLE identities (id bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 5), k text, during int4range) PARTITION BY LIST (k);
CREATE TABLE identities_a PARTITION OF identities FOR VALUES IN ('a');
CREATE TABLE identities_b (id bigint NOT NULL, k text, during int4range);
ALTER TABLE identities ATTACH PARTITION identities_b FOR VALUES IN ('b');
INSERT INTO identities (k, during) SELECT CASE g % 2 WHEN 0 THEN 'a' ELSE 'b' END, int4range(g, g + 1) FROM generate_series(1, 200) g;
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE methods (a int) PARTITION BY RANGE (a) USING heap_too;
CREATE TABLE methods_1 PARTITION OF methods FOR VALUES FROM (0) TO (10);
INSERT INTO methods VALUES (1), (2);

-- Types and their values.
CREATE TABLE stored (a text STORAGE EXTERNAL COMPRESSION pglz, b bytea STORAGE MAIN, iv interval DEFAULT 'infinity', u uuid DEFAULT '0198c4ad-6a5a-7000-8000-000000000000', words text COLLATE built_in, ruled text COLLATE rules, j jsonb, p positive, m mood[]);
INSERT INTO stored SELECT repeat('x' || g, g), '\x00ff', CASE g % 3 WHEN 0 THEN interval '-infinity' ELSE 'infinity' END, uuidv7(), 'ß' || g, 'g' || g, '{"a": [1, null]}', g, ARRAY['ok', NULL]::mood[] FROM generate_series(1, 100) g;
CREATE INDEX stored_words ON stored (words, upper(words)); CREATE INDEX stored_ruled ON stored (ruled);
CREATE VIEW tabled AS SELECT t.* FROM stored, JSON_TABLE(j, '$.a[*]' COLUMNS (n FOR ORDINALITY, v int PATH '$')) t;
CREATE VIEW merged AS SELECT JSON_OBJECT('a': a ABSENT ON NULL) AS o, JSON_ARRAYAGG(p RETURNING jsonb) AS r, JSON_VALUE(jsonb_agg(p), '$[0]' RETURNING int) AS v, j IS JSON OBJECT AS is_object, any_value(words) AS w FROM stored GROUP BY a, j;
CREATE FUNCTION merging() RETURNS int LANGUAGE sql BEGIN ATOMIC
  MERGE INTO loose l USING (VALUES (1), (5)) v (id) ON l.id = v.id WHEN MATCHED THEN UPDATE SET n = 7 WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (v.id, NULL, 1);
  UPDATE loose SET n = 8 RETURNING WITH (OLD AS o, NEW AS n) o.n + n.n;
END;
CREATE FUNCTION trusted() RETURNS text LANGUAGE plpgsql SET search_path = main AS $$ BEGIN RETURN 'x'; END $$;
CREATE TABLE brin (a int, t text); INSERT INTO brin SELECT g, 'row ' || g FROM generate_series(1, 2000) g;
CREATE INDEX brin_bloom ON brin USING brin (a int4_bloom_ops (n_distinct_per_range = 33)) WITH (pages_per_range = 2);
CREATE INDEX unique_nulls ON brin USING hash (t); CREATE UNIQUE INDEX brin_nulls ON brin (a) NULLS NOT DISTINCT;
ALTER TABLE brin ALTER a SET STATISTICS DEFAULT; CREATE STATISTICS brin_stats ON (a % 3), t FROM brin; ALTER STATISTICS brin_stats SET STATISTICS 77;
ALTER TABLE brin SET (vacuum_truncate = false, autovacuum_vacuum_max_threshold = 12345, vacuum_max_eager_freeze_failure_rate = 0.5);

-- Privileges.
GRANT MAINTAIN, SELECT ON brin TO fid_app WITH GRANT OPTION;
GRANT MAINTAIN ON stored TO PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE fid_owner IN SCHEMA main GRANT MAINTAIN ON TABLES TO fid_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE fid_owner GRANT SELECT ON LARGE OBJECTS TO fid_reader;
GRANT CREATE, USAGE ON SCHEMA main TO fid_owner;
CREATE MATERIALIZED VIEW summed AS SELECT k, sum(d) AS d FROM generated_parts GROUP BY k;
CREATE MATERIALIZED VIEW of_virtual AS SELECT first_v, m FROM computed WHERE later = 3;
CREATE INDEX summed_k ON summed (k);
GRANT MAINTAIN ON summed TO fid_app;

-- Triggers, publications of generated columns, a subscription, event triggers, large objects.
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'fired'; END $$;
CREATE TRIGGER enabled BEFORE INSERT ON computed FOR EACH ROW EXECUTE FUNCTION fired();
CREATE PUBLICATION generated FOR TABLE brin (a) WITH (publish_generated_columns = stored);
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE SUBSCRIPTION listening CONNECTION 'host=nowhere dbname=nothing' PUBLICATION p WITH (connect = false, slot_name = NONE, streaming = parallel, origin = none, run_as_owner = true, password_required = false, failover = true);
CREATE FUNCTION on_login() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
CREATE EVENT TRIGGER logging_in ON login EXECUTE FUNCTION on_login(); ALTER EVENT TRIGGER logging_in ENABLE ALWAYS;
SELECT lo_from_bytea(4711, '\x0102'), lo_create(4712) \g /dev/null
ALTER LARGE OBJECT 4711 OWNER TO fid_owner; GRANT SELECT ON LARGE OBJECT 4712 TO fid_app; COMMENT ON LARGE OBJECT 4711 IS 'large';
CREATE SEQUENCE counted; SELECT nextval('counted') \g /dev/null
CREATE UNLOGGED TABLE scratch (id int GENERATED BY DEFAULT AS IDENTITY, t text); INSERT INTO scratch (t) VALUES ('a'), ('b');
ANALYZE;
