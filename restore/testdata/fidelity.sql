-- A database with something of everything that a dump must carry. Roles fid_owner, fid_app and fid_reader exist in the cluster.
-- What PostgreSQL 15 brought stands behind \if :from_15; the earlier form, where there is one, behind \else. Objects are the same in number.
SELECT current_setting('server_version_num')::int >= 150000 AS from_15 \gset
\if :from_15
\set scale -2
\set which (person)
\else
\set scale 2
\set which ''
\endif
SET client_min_messages = error;
SET check_function_bodies = off;

-- The database itself.
DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I OWNER TO fid_owner', current_database());
  EXECUTE format('COMMENT ON DATABASE %I IS %L', current_database(), E'a "messy"\ndatabase');
  EXECUTE format('ALTER DATABASE %I CONNECTION LIMIT 77', current_database());
  EXECUTE format('ALTER DATABASE %I SET search_path = "$user", public, "odd, name"', current_database());
  EXECUTE format('ALTER DATABASE %I SET statement_timeout = %L', current_database(), '7min');
  EXECUTE format('ALTER DATABASE %I SET fid.custom = %L', current_database(), 'it''s \ odd');
  EXECUTE format('ALTER ROLE fid_app IN DATABASE %I SET work_mem = %L', current_database(), '9MB');
  EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CREATE ON DATABASE %I TO fid_app WITH GRANT OPTION', current_database());
END $$;

-- Schemas with owners, ACLs, comments; default privileges.
CREATE SCHEMA main AUTHORIZATION fid_owner;
CREATE SCHEMA "Odd, ""Schema""";
CREATE SCHEMA parts;
COMMENT ON SCHEMA main IS 'the main one';
COMMENT ON SCHEMA public IS 'ours';
GRANT USAGE ON SCHEMA main TO fid_app, fid_reader;
GRANT ALL ON SCHEMA "Odd, ""Schema""" TO PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE fid_owner IN SCHEMA main GRANT SELECT ON TABLES TO fid_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE fid_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA parts GRANT USAGE ON SEQUENCES TO fid_app WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO fid_reader;
SET search_path = main;

-- Extensions, one in a schema of its own, with members' ACLs changed.
CREATE EXTENSION hstore SCHEMA public;
CREATE EXTENSION btree_gist SCHEMA public;
COMMENT ON EXTENSION hstore IS 'our own words';
GRANT EXECUTE ON FUNCTION public.hstore(text, text) TO fid_app;

-- Types.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s fine');
ALTER TYPE mood ADD VALUE 'before ok' BEFORE 'ok';
CREATE TYPE shell_only;
CREATE TYPE pair AS (a int, b text COLLATE "C");
COMMENT ON COLUMN pair.a IS 'first';
CREATE TYPE span AS RANGE (subtype = float8, subtype_diff = float8mi, multirange_type_name = spans);
CREATE DOMAIN positive AS int DEFAULT 1 CONSTRAINT above_zero CHECK (VALUE > 0);
CREATE DOMAIN code AS varchar(5) COLLATE "C" NOT NULL;
CREATE DOMAIN late AS int;
ALTER DOMAIN late ADD CONSTRAINT later CHECK (VALUE < 100) NOT VALID;
COMMENT ON DOMAIN positive IS 'more than nothing';
COMMENT ON CONSTRAINT above_zero ON DOMAIN positive IS 'why';
GRANT USAGE ON TYPE mood TO fid_app;
REVOKE USAGE ON TYPE pair FROM PUBLIC;
CREATE COLLATION plain (LOCALE = 'C');
COMMENT ON COLLATION plain IS 'bytes';

-- Functions, procedures, aggregates, operators and their classes, casts, conversions.
CREATE FUNCTION add_one(int) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 7 AS 'SELECT $1 + 1';
CREATE FUNCTION definer(OUT a int, OUT b text) RETURNS SETOF record LANGUAGE plpgsql SECURITY DEFINER LEAKPROOF ROWS 5 SET search_path = main, pg_temp SET "work_mem" = '5MB'
  AS $f$ BEGIN a := 1; b := 'x;y'; RETURN NEXT; END $f$;
CREATE FUNCTION atomic(x int DEFAULT 3, VARIADIC more int[] DEFAULT '{}') RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT add_one(x) + cardinality(more); END;
CREATE PROCEDURE proc(INOUT x int) LANGUAGE plpgsql AS $$ BEGIN x := x + 1; COMMIT; END $$;
COMMENT ON FUNCTION definer() IS 'runs as its owner';
COMMENT ON PROCEDURE proc(int) IS 'a procedure';
ALTER FUNCTION definer() OWNER TO fid_owner;
REVOKE ALL ON FUNCTION definer() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION definer() TO fid_app WITH GRANT OPTION;
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0', PARALLEL = safe, COMBINEFUNC = int4pl);
CREATE AGGREGATE middle(float8 ORDER BY anyelement) (SFUNC = ordered_set_transition, STYPE = internal, FINALFUNC = percentile_disc_final, FINALFUNC_EXTRA);
COMMENT ON AGGREGATE total(int) IS 'sum';
CREATE FUNCTION pair_cmp(pair, pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.btint4cmp($1.a, $2.a)';
CREATE FUNCTION pair_lt(pair, pair) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.a < $2.a';
CREATE FUNCTION pair_eq(pair, pair) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.a = $2.a';
CREATE FUNCTION pair_gt(pair, pair) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.a > $2.a';
CREATE OPERATOR <# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_lt, COMMUTATOR = >#, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR ># (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_gt, COMMUTATOR = <#);
CREATE OPERATOR =# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_eq, COMMUTATOR = =#, MERGES);
CREATE FUNCTION pair_le(pair, pair) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.a <= $2.a';
CREATE FUNCTION pair_ge(pair, pair) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1.a >= $2.a';
CREATE OPERATOR <=# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_le);
CREATE OPERATOR >=# (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_ge);
COMMENT ON OPERATOR <# (pair, pair) IS 'smaller';
CREATE OPERATOR FAMILY pair_family USING btree;
CREATE OPERATOR CLASS pair_ops FOR TYPE pair USING btree FAMILY pair_family AS
  OPERATOR 1 <#, OPERATOR 2 <=#, OPERATOR 3 =#, OPERATOR 4 >=#, OPERATOR 5 >#, FUNCTION 1 pair_cmp(pair, pair);
CREATE FUNCTION pair_of(int) RETURNS pair LANGUAGE sql IMMUTABLE AS $$ SELECT ROW($1, 'made')::main.pair $$;
CREATE CAST (int AS pair) WITH FUNCTION pair_of(int) AS ASSIGNMENT;
CREATE CAST (text AS pair) WITH INOUT;
COMMENT ON CAST (int AS pair) IS 'made up';
CREATE CONVERSION latin FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
CREATE FUNCTION handler_of_table(internal) RETURNS table_am_handler LANGUAGE internal AS 'heap_tableam_handler';
CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER handler_of_table;
CREATE TRANSFORM FOR public.hstore LANGUAGE plpgsql (FROM SQL WITH FUNCTION pg_catalog.varchar_support(internal));

-- Text search.
CREATE TEXT SEARCH DICTIONARY words (TEMPLATE = simple, STOPWORDS = english, ACCEPT = false);
CREATE TEXT SEARCH CONFIGURATION search (COPY = pg_catalog.english);
ALTER TEXT SEARCH CONFIGURATION search ALTER MAPPING FOR asciiword WITH words, english_stem;
CREATE TEXT SEARCH PARSER parser (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end, LEXTYPES = prsd_lextype, HEADLINE = prsd_headline);
CREATE TEXT SEARCH TEMPLATE template (INIT = dsimple_init, LEXIZE = dsimple_lexize);
COMMENT ON TEXT SEARCH CONFIGURATION search IS 'ours';
ALTER TEXT SEARCH CONFIGURATION search OWNER TO fid_owner;

-- Foreign data.
CREATE FOREIGN DATA WRAPPER wrapper OPTIONS (debug 'true');
CREATE SERVER far TYPE 'kind' VERSION '1' FOREIGN DATA WRAPPER wrapper OPTIONS (host 'nowhere');
CREATE USER MAPPING FOR fid_app SERVER far OPTIONS (name 'me');
CREATE USER MAPPING FOR PUBLIC SERVER far;
CREATE FOREIGN TABLE far_away (id int OPTIONS (column_name 'ID') NOT NULL, t text COLLATE "C" DEFAULT 'x', CONSTRAINT far_check CHECK (id > 0)) SERVER far OPTIONS (table_name 'there');
GRANT USAGE ON FOREIGN SERVER far TO fid_app;
GRANT USAGE ON FOREIGN DATA WRAPPER wrapper TO fid_owner WITH GRANT OPTION;

-- A table with all properties.
CREATE TABLE everything (
  id int GENERATED BY DEFAULT AS IDENTITY (START 5 INCREMENT 3 CACHE 4) PRIMARY KEY, m mood DEFAULT 'ok', p positive, c code DEFAULT 'abc', gone int,
  t text COLLATE "C" DEFAULT 'd' NOT NULL, lz text COMPRESSION lz4, pg text COMPRESSION pglz, ext text, by bytea, h public.hstore, pr pair DEFAULT ROW(1, 'x'), ps pair[],
  r int4range, sp span, sps spans, j jsonb DEFAULT '{"a": [1, 2]}', ts timestamptz DEFAULT '2009-08-10 11:12:13+00', search tsvector,
  twice int GENERATED ALWAYS AS (2 * gone_twice) STORED, gone_twice int, CONSTRAINT named CHECK (gone_twice <> 1300), CONSTRAINT local_only CHECK (id > -5) NO INHERIT
) WITH (fillfactor = 71, autovacuum_enabled = false, toast.autovacuum_vacuum_threshold = 99, parallel_workers = 2);
ALTER TABLE everything DROP COLUMN gone;
ALTER TABLE everything ALTER ext SET STORAGE EXTERNAL, ALTER by SET STORAGE MAIN, ALTER pg SET STORAGE PLAIN, ALTER t SET STATISTICS 321, ALTER id SET STATISTICS 0, ALTER t SET (n_distinct = -0.5, n_distinct_inherited = 7);
ALTER TABLE everything ADD COLUMN added text DEFAULT 'added' || 'later';
INSERT INTO everything (m, p, t, lz, pg, ext, by, h, pr, ps, r, sp, sps, gone_twice, search)
  SELECT (enum_range(NULL::mood))[1 + g % 4], g, 'Ä' || g, repeat('lz' || g, 400), repeat('pg', 9), repeat('ext' || g, 900), decode(repeat('00ff', g), 'hex'), public.hstore('k', g::text), ROW(g, NULL)::pair,
   ARRAY[ROW(g, 'a')::pair, NULL], int4range(g, g + 5), span(g, NULL), spans(span(1, 2), span(3, g + 3)), g, to_tsvector('main.search', 'quick fox ' || g) FROM generate_series(1, 300) g;
CREATE UNIQUE INDEX everything_key ON everything (c, id) INCLUDE (t) WITH (fillfactor = 55);
ALTER TABLE everything ALTER c SET NOT NULL;
ALTER TABLE everything REPLICA IDENTITY FULL;
CREATE INDEX everything_expr ON everything (lower(t) COLLATE plain text_pattern_ops DESC NULLS LAST, (p + 1)) WHERE id > 5;
ALTER INDEX everything_expr ALTER COLUMN 1 SET STATISTICS 77;
CREATE INDEX everything_pair ON everything (pr pair_ops);
CREATE INDEX everything_gin ON everything USING gin (j jsonb_path_ops) WITH (fastupdate = off);
CREATE INDEX everything_brin ON everything USING brin (ts) WITH (pages_per_range = 3);
CREATE INDEX everything_hash ON everything USING hash (t);
CREATE STATISTICS everything_stats (ndistinct, mcv) ON t, p FROM everything;
CREATE STATISTICS expr_stats ON (p % 3), lower(t) FROM everything;
ALTER STATISTICS everything_stats SET STATISTICS 55;
ALTER STATISTICS everything_stats OWNER TO fid_owner;
COMMENT ON STATISTICS everything_stats IS 'wide';
CLUSTER everything USING everything_pkey;
COMMENT ON TABLE everything IS E'line one\nline ''two''';
COMMENT ON COLUMN everything.t IS 'a column';
COMMENT ON INDEX everything_key IS 'an index';
COMMENT ON CONSTRAINT named ON everything IS 'a constraint';
ALTER TABLE everything OWNER TO fid_owner;
GRANT SELECT ON everything TO fid_app WITH GRANT OPTION;
GRANT SELECT (id, t), UPDATE (t) ON everything TO fid_reader;
SET ROLE fid_app; GRANT SELECT ON main.everything TO PUBLIC; RESET ROLE;
ALTER TABLE everything RENAME CONSTRAINT named TO renamed;

CREATE TABLE by_index (a int NOT NULL, b text, "drop table x;--" int, "Größe" numeric(9, :scale)); CREATE UNIQUE INDEX by_index_a ON by_index (a); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_a;
INSERT INTO by_index SELECT g, g, g, g * 1000 FROM generate_series(1, 2000) g;
CREATE TABLE no_identity (a int); ALTER TABLE no_identity REPLICA IDENTITY NOTHING;
CREATE UNLOGGED TABLE unlogged (a serial, b text); INSERT INTO unlogged (b) SELECT repeat('u', g) FROM generate_series(1, 50) g;
CREATE TABLE typed OF pair (a WITH OPTIONS DEFAULT 9 NOT NULL, UNIQUE (b)); INSERT INTO typed VALUES (1, 'b'), (DEFAULT, NULL);
CREATE TABLE nothing (); INSERT INTO nothing SELECT FROM generate_series(1, 4);
CREATE TABLE only_generated (g int GENERATED ALWAYS AS (7) STORED); INSERT INTO only_generated DEFAULT VALUES;
CREATE TABLE am_too (a int) USING heap_too; INSERT INTO am_too VALUES (1);
CREATE TABLE as_text (id int, o regclass, cl regtype, m money, q tsquery, v int2vector); INSERT INTO as_text VALUES (1, 'pg_class', 'int4', '1.23', 'a & b', '1 2'), (2, NULL, NULL, NULL, '', '');
CREATE TABLE empty_strings (a text, b text[], c char(3), d bit varying); INSERT INTO empty_strings VALUES ('', '{}', '', ''), (NULL, '{NULL,""}', NULL, NULL), (E'\\N', '[5:6]={a,b}', 'x', '101');
CREATE TABLE "Odd, ""Schema"""."Tab.le" ("a b" int PRIMARY KEY, "c""d" text, "select" date); INSERT INTO "Odd, ""Schema""" ."Tab.le" VALUES (1, 'x', 'infinity'), (2, E'\t\n', '4713-01-01 BC');

-- Partitions in every layout.
CREATE TABLE parts.ev (a int NOT NULL, k text DEFAULT 'root', m mood, at date) PARTITION BY RANGE (a);
CREATE TABLE parts.ev_1 (at date, k text DEFAULT 'leaf', gone int, m mood, a int NOT NULL); ALTER TABLE parts.ev_1 DROP COLUMN gone; ALTER TABLE parts.ev ATTACH PARTITION parts.ev_1 FOR VALUES FROM (MINVALUE) TO (100);
CREATE TABLE main.ev_2 PARTITION OF parts.ev (k DEFAULT 'two', CONSTRAINT leaf_check CHECK (a < 100000)) FOR VALUES FROM (100) TO (200) WITH (fillfactor = 60);
CREATE TABLE parts.ev_3 PARTITION OF parts.ev FOR VALUES FROM (200) TO (500) PARTITION BY LIST (m);
CREATE TABLE parts.ev_3_sad PARTITION OF parts.ev_3 FOR VALUES IN ('sad', NULL);
CREATE TABLE parts.ev_3_rest PARTITION OF parts.ev_3 DEFAULT PARTITION BY RANGE (at, k);
CREATE TABLE parts.ev_3_rest_1 PARTITION OF parts.ev_3_rest FOR VALUES FROM ('2000-01-01', MINVALUE) TO (MAXVALUE, MAXVALUE);
CREATE TABLE parts.ev_default PARTITION OF parts.ev DEFAULT;
CREATE TABLE parts.ev_empty PARTITION OF parts.ev FOR VALUES FROM (900) TO (901);
ALTER TABLE parts.ev_1 ADD PRIMARY KEY (a);
CREATE INDEX ev_k ON ONLY parts.ev (k);
CREATE INDEX ev_1_k ON parts.ev_1 (k); ALTER INDEX parts.ev_k ATTACH PARTITION parts.ev_1_k;
CREATE INDEX ev_at ON parts.ev (at);
CREATE INDEX ev_2_own ON main.ev_2 (m);
INSERT INTO parts.ev SELECT g, 'k' || g, (enum_range(NULL::mood))[1 + g % 4], date '2009-08-10' + g FROM generate_series(-50, 700) g;
CREATE TABLE parts.root_only (a int) PARTITION BY LIST (a);
CREATE TABLE parts.by_int (a int, b text) PARTITION BY HASH (a);
CREATE TABLE parts.by_int_0 PARTITION OF parts.by_int FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts.by_int_1 PARTITION OF parts.by_int FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE parts.by_int_3 PARTITION OF parts.by_int FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO parts.by_int SELECT g, 'b' || g FROM generate_series(1, 1000) g;
ALTER TABLE parts.by_int ADD PRIMARY KEY (a), REPLICA IDENTITY USING INDEX by_int_pkey;
CREATE TABLE parts.by_enum (m mood, t text) PARTITION BY HASH (m);
CREATE TABLE parts.by_enum_0 PARTITION OF parts.by_enum FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts.by_enum_1 (t text, m mood); ALTER TABLE parts.by_enum ATTACH PARTITION parts.by_enum_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts.by_enum SELECT (enum_range(NULL::mood))[1 + g % 4], 't' || g FROM generate_series(1, 400) g;
CREATE TABLE parts.by_text (t text, n int GENERATED ALWAYS AS (length(t)) STORED) PARTITION BY HASH (t);
CREATE TABLE parts.by_text_0 PARTITION OF parts.by_text FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts.by_text_1 PARTITION OF parts.by_text FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts.by_text SELECT 't' || g FROM generate_series(1, 400) g;
CREATE TABLE parts.by_expr (t text, d date) PARTITION BY RANGE ((lower(t)) COLLATE "C" text_pattern_ops, d);
CREATE TABLE parts.by_expr_1 PARTITION OF parts.by_expr FOR VALUES FROM ('a', MINVALUE) TO ('zz', MAXVALUE);
INSERT INTO parts.by_expr VALUES ('Bb', '2009-08-10'), ('c', '2010-01-01');

-- Inheritance.
CREATE TABLE parent (a int CHECK (a > 0), b text DEFAULT 'p'); INSERT INTO parent VALUES (1), (2);
CREATE TABLE other_parent (a int, x int NOT NULL);
CREATE TABLE child (own int) INHERITS (parent, other_parent); ALTER TABLE child ALTER b SET DEFAULT 'c'; INSERT INTO child (a, x) VALUES (3, 33);
CREATE TABLE grandchild (b text DEFAULT 'g', z int) INHERITS (child); INSERT INTO grandchild (a, x, z) VALUES (4, 44, 444);
CREATE TABLE late_child (x int NOT NULL, b text, gone int, a int CHECK (a > 0)); ALTER TABLE late_child DROP gone; ALTER TABLE late_child ADD CONSTRAINT parent_a_check CHECK (a > 0); ALTER TABLE late_child INHERIT parent; INSERT INTO late_child VALUES (1, 'l', 5);

-- Sequences.
CREATE TABLE identities (a int GENERATED ALWAYS AS IDENTITY (MINVALUE -10 MAXVALUE 1000 START 7 INCREMENT -1 CYCLE), b serial, c bigserial, d smallserial); INSERT INTO identities SELECT FROM generate_series(1, 9);
CREATE TABLE never_used (id bigint GENERATED BY DEFAULT AS IDENTITY, s serial);
CREATE SEQUENCE shared_by_two START 100;
CREATE TABLE share_1 (id int DEFAULT nextval('shared_by_two'), v text); CREATE TABLE share_2 (id int DEFAULT nextval('main.shared_by_two'::regclass), v text);
INSERT INTO share_1 (v) VALUES ('a'), ('b'); INSERT INTO share_2 (v) VALUES ('c');
CREATE SEQUENCE cycling AS smallint MINVALUE 1 MAXVALUE 3 CYCLE CACHE 1; SELECT nextval('cycling'), nextval('cycling'), nextval('cycling'), nextval('cycling') \g /dev/null
CREATE SEQUENCE descending INCREMENT -2 MINVALUE -100 MAXVALUE 10 START 5; SELECT nextval('descending'), nextval('descending') \g /dev/null
CREATE SEQUENCE never; CREATE SEQUENCE set_back; SELECT setval('set_back', 50, false) \g /dev/null
\if :from_15
CREATE UNLOGGED SEQUENCE unlogged_seq;
\else
CREATE SEQUENCE unlogged_seq;
\endif
 SELECT nextval('unlogged_seq') \g /dev/null
CREATE SEQUENCE edge MAXVALUE 2; SELECT nextval('edge'), nextval('edge') \g /dev/null
CREATE SEQUENCE owned_elsewhere OWNED BY by_index.a;
GRANT USAGE, SELECT ON SEQUENCE shared_by_two TO fid_app; ALTER SEQUENCE cycling OWNER TO fid_owner; COMMENT ON SEQUENCE cycling IS 'round and round';

-- Constraints.
CREATE TABLE constrained (id int, room int, during tsrange, n int, m int, CONSTRAINT no_overlap EXCLUDE USING gist (room WITH =, during WITH &&) WHERE (n > 0) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT def UNIQUE (id) INCLUDE (n) DEFERRABLE INITIALLY IMMEDIATE);
\if :from_15
ALTER TABLE constrained ADD CONSTRAINT nulls UNIQUE NULLS NOT DISTINCT (n, m);
\else
ALTER TABLE constrained ADD CONSTRAINT nulls UNIQUE (n, m);
\endif
INSERT INTO constrained SELECT g, g % 5, tsrange(timestamp '2009-08-10' + g * interval '1 day', timestamp '2009-08-10' + (g + 1) * interval '1 day'), NULLIF(g, 7), g FROM generate_series(1, 200) g;
INSERT INTO constrained VALUES (1001, 1, NULL, -1, -1);
ALTER TABLE constrained ADD CONSTRAINT not_valid CHECK (n > 0) NOT VALID;
ALTER TABLE constrained ADD CONSTRAINT fn_check CHECK (main.add_one(id) > 0);
CREATE UNIQUE INDEX CONCURRENTLY constrained_part ON constrained (m) WHERE m > 10;
CREATE TABLE team (id int PRIMARY KEY, boss int); CREATE TABLE person (id int PRIMARY KEY, team int NOT NULL REFERENCES team ON DELETE CASCADE ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED, friend int REFERENCES person);
ALTER TABLE team ADD CONSTRAINT team_boss FOREIGN KEY (boss) REFERENCES person MATCH FULL DEFERRABLE;
BEGIN; INSERT INTO team VALUES (1, NULL), (2, NULL); INSERT INTO person SELECT g, 1 + g % 2, NULLIF(g - 1, 0) FROM generate_series(1, 500) g; UPDATE team SET boss = id; COMMIT;
CREATE TABLE orphan (team int, person int, a int, b int); INSERT INTO orphan VALUES (99, 1, 1, 1);
ALTER TABLE orphan ADD CONSTRAINT orphan_team FOREIGN KEY (team) REFERENCES team NOT VALID, ADD CONSTRAINT orphan_set FOREIGN KEY (person) REFERENCES person ON DELETE SET NULL :which;

CREATE TABLE parts.referring (a int REFERENCES parts.by_int, b int) PARTITION BY RANGE (a);
CREATE TABLE parts.referring_1 PARTITION OF parts.referring FOR VALUES FROM (0) TO (1000);
INSERT INTO parts.referring VALUES (1, 1), (150, 2), (300, 3);

-- Views.
CREATE VIEW by_key AS SELECT e.id, e.t, count(b.a) AS n FROM everything e LEFT JOIN by_index b ON b.a = e.id GROUP BY e.id;
CREATE VIEW barrier WITH (security_barrier, check_option = cascaded) AS SELECT id, t, p FROM everything WHERE id > 10;
\if :from_15
ALTER VIEW barrier SET (security_invoker);
\endif
CREATE VIEW on_view AS SELECT * FROM by_key WHERE n > 0;
CREATE RECURSIVE VIEW counting (n) AS VALUES (1) UNION ALL SELECT n + 1 FROM counting WHERE n < 10;
CREATE VIEW "wide ""view""" AS SELECT 'a;b' AS "a;b", NULL::mood AS "NULL";
CREATE VIEW updatable AS SELECT a, b FROM by_index;
CREATE VIEW instead AS SELECT 1 AS one;
ALTER VIEW updatable ALTER COLUMN b SET DEFAULT 'from the view';
COMMENT ON VIEW by_key IS 'needs the key'; COMMENT ON COLUMN by_key.n IS 'a count';
GRANT SELECT (n) ON by_key TO fid_reader; ALTER VIEW barrier OWNER TO fid_owner;
CREATE FUNCTION rows_of() RETURNS SETOF everything LANGUAGE sql STABLE AS 'SELECT * FROM main.everything WHERE id < 20';
CREATE VIEW of_function AS SELECT f.id, f.t FROM rows_of() f;

-- Materialized views in chains, populated and not; the order of their names is not that of their needs.
CREATE MATERIALIZED VIEW z_first AS SELECT m, count(*) AS n, sum(gone_twice) AS s FROM everything GROUP BY m;
CREATE MATERIALIZED VIEW b_second WITH (fillfactor = 80) AS SELECT sum(n) AS total FROM z_first;
CREATE MATERIALIZED VIEW a_third AS SELECT total, (SELECT count(*) FROM by_key) AS keys FROM b_second;
CREATE MATERIALIZED VIEW not_yet AS SELECT total FROM a_third WITH NO DATA;
CREATE VIEW over_matview AS SELECT * FROM a_third;
CREATE UNIQUE INDEX z_first_m ON z_first (m); CREATE INDEX not_yet_total ON not_yet (total);
CLUSTER z_first USING z_first_m;
ALTER MATERIALIZED VIEW z_first ALTER s SET STATISTICS 12;
COMMENT ON MATERIALIZED VIEW a_third IS 'third'; GRANT SELECT ON a_third TO fid_reader; ALTER MATERIALIZED VIEW b_second OWNER TO fid_owner; ALTER TABLE z_first OWNER TO fid_owner; GRANT SELECT ON by_index TO fid_owner;

-- Rules.
CREATE RULE also AS ON INSERT TO by_index DO ALSO NOTIFY changed;
CREATE RULE swallow AS ON INSERT TO no_identity DO INSTEAD NOTHING;
CREATE RULE only_when AS ON UPDATE TO by_index WHERE NEW.a <> OLD.a DO ALSO DELETE FROM nothing;
CREATE RULE instead_insert AS ON INSERT TO instead DO INSTEAD INSERT INTO no_identity VALUES (NEW.one) RETURNING a;
ALTER TABLE by_index DISABLE RULE only_when;
COMMENT ON RULE also ON by_index IS 'tell';

-- Triggers with every enable state. None of them may fire during a restore.
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trigger % fired', TG_NAME; END $$;
CREATE TRIGGER enabled BEFORE INSERT ON by_index FOR EACH ROW EXECUTE FUNCTION fired('a', 'it''s');
CREATE TRIGGER disabled BEFORE INSERT ON by_index FOR EACH STATEMENT EXECUTE FUNCTION fired(); ALTER TABLE by_index DISABLE TRIGGER disabled;
CREATE TRIGGER replica AFTER UPDATE OF a, b ON by_index FOR EACH ROW WHEN (OLD.a IS DISTINCT FROM NEW.a) EXECUTE FUNCTION fired(); ALTER TABLE by_index ENABLE REPLICA TRIGGER replica;
CREATE TRIGGER always AFTER INSERT ON by_index REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION fired(); ALTER TABLE by_index ENABLE ALWAYS TRIGGER always;
CREATE TRIGGER truncated BEFORE TRUNCATE ON by_index EXECUTE FUNCTION fired();
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON by_index FROM constrained DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER on_root AFTER INSERT ON parts.ev FOR EACH ROW EXECUTE FUNCTION fired();
ALTER TABLE parts.ev_1 DISABLE TRIGGER on_root; ALTER TABLE parts.ev_default ENABLE ALWAYS TRIGGER on_root;
CREATE TRIGGER of_view INSTEAD OF INSERT ON updatable FOR EACH ROW EXECUTE FUNCTION fired();
COMMENT ON TRIGGER enabled ON by_index IS 'a trigger';

-- Row-level security.
CREATE TABLE secured (id int, who name DEFAULT current_user); INSERT INTO secured SELECT g, CASE g % 2 WHEN 0 THEN 'fid_app' ELSE 'fid_owner' END FROM generate_series(1, 100) g;
ALTER TABLE secured OWNER TO fid_owner; ALTER TABLE secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON secured USING (who = current_user);
CREATE POLICY "read all" ON secured AS PERMISSIVE FOR SELECT TO fid_reader, fid_app USING (true);
CREATE POLICY strict ON secured AS RESTRICTIVE FOR INSERT TO PUBLIC WITH CHECK (id > 0 AND EXISTS (SELECT FROM main.team WHERE team.id < secured.id));
COMMENT ON POLICY own ON secured IS 'mine';
CREATE TABLE policies_off (a int); CREATE POLICY unused ON policies_off USING (a > 0);
CREATE TABLE force_only (a int); ALTER TABLE force_only FORCE ROW LEVEL SECURITY; INSERT INTO force_only VALUES (1);

-- Publications. A subscription that does not connect.
CREATE PUBLICATION every FOR ALL TABLES WITH (publish = 'insert, update');
\if :from_15
CREATE PUBLICATION some_tables FOR TABLE by_index (a, b) WHERE (a > 5), ONLY parent;
CREATE PUBLICATION schemas FOR TABLES IN SCHEMA parts, public, TABLE child;
\else
CREATE PUBLICATION some_tables FOR TABLE by_index, ONLY parent;
CREATE PUBLICATION schemas FOR TABLE child;
\endif
CREATE PUBLICATION roots FOR TABLE parts.by_text WITH (publish_via_partition_root = true);
CREATE PUBLICATION "none";
ALTER PUBLICATION some_tables OWNER TO postgres; COMMENT ON PUBLICATION some_tables IS 'some tables';
CREATE SUBSCRIPTION listening CONNECTION 'host=nowhere dbname=nothing' PUBLICATION p1, "P 2" WITH (connect = false, slot_name = NONE, binary = true);

-- Large objects.
SELECT lo_from_bytea(4711, '\x0102'), lo_from_bytea(4712, convert_to(repeat('large', 100000), 'UTF8')), lo_create(4713) \g /dev/null
ALTER LARGE OBJECT 4711 OWNER TO fid_owner; GRANT SELECT ON LARGE OBJECT 4711 TO fid_app; GRANT UPDATE ON LARGE OBJECT 4712 TO PUBLIC; COMMENT ON LARGE OBJECT 4711 IS 'it''s large';
CREATE TABLE with_large (id int, lo oid); INSERT INTO with_large VALUES (1, 4711), (2, 4712), (3, NULL);

-- A sequence in the middle of things, dependencies against the order of names, and definitions that only just load.
CREATE FUNCTION a_default() RETURNS int LANGUAGE sql AS 'SELECT max(a) FROM main.z_needed';
CREATE TABLE a_needs (a int DEFAULT a_default(), b int DEFAULT nextval('never'));
CREATE TABLE z_needed (a int);
CREATE FUNCTION missing_body() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT no_such_column FROM no_such_table); END';
CREATE FUNCTION needs_pk() RETURNS TABLE (id int, t text) LANGUAGE sql BEGIN ATOMIC SELECT e.id, e.t FROM everything e GROUP BY e.id; END;

-- Event triggers, last: they would see what stands above.
CREATE FUNCTION on_event() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'event trigger fired'; END $$;
CREATE EVENT TRIGGER ev_disabled ON ddl_command_start EXECUTE FUNCTION on_event(); ALTER EVENT TRIGGER ev_disabled DISABLE;
CREATE EVENT TRIGGER ev_replica ON sql_drop EXECUTE FUNCTION on_event(); ALTER EVENT TRIGGER ev_replica ENABLE REPLICA;
CREATE EVENT TRIGGER ev_tagged ON ddl_command_end WHEN TAG IN ('DROP AGGREGATE', 'ALTER LANGUAGE') EXECUTE FUNCTION on_event();
COMMENT ON EVENT TRIGGER ev_tagged IS 'only these';
