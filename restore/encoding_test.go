package restore_test

import (
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// inEncoding makes a database of an encoding.
func inEncoding(t *testing.T, name, encoding string) string {
	t.Helper()
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE DATABASE `+name+` ENCODING '`+encoding+`' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	t.Cleanup(func() { pgtest.SQL(t, admin, `DROP DATABASE `+name+` WITH (FORCE)`) })
	return pgtest.Cluster(t).DSN(name)
}

const named = `SET client_encoding = 'UTF8'; CREATE SCHEMA "façade"; CREATE TYPE "façade"."état" AS ENUM ('été', 'hiver'); CREATE TABLE "façade"."naïve" ("clé" int, "é" text, e "façade"."état");
INSERT INTO "façade"."naïve" SELECT g, 'ünï ' || g, 'été' FROM generate_series(1, 5000) g; CREATE SEQUENCE "façade"."sé"; SELECT nextval('"façade"."sé"');
CREATE INDEX "idé" ON "façade"."naïve" ("é"); CREATE TABLE "façade".h (k text) PARTITION BY HASH (k); CREATE TABLE "façade"."h0é" PARTITION OF "façade".h FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO "façade".h VALUES ('é');`

func TestEncodings(t *testing.T) {
	for name, encodings := range map[string][2]string{"latin1 to utf8": {"LATIN1", "UTF8"}, "utf8 to latin1": {"UTF8", "LATIN1"}, "latin1 to latin9": {"LATIN1", "LATIN9"}, "latin1 to ascii": {"LATIN1", "SQL_ASCII"}} {
		t.Run(name, func(t *testing.T) {
			source, target := inEncoding(t, "enc_source", encodings[0]), inEncoding(t, "enc_target", encodings[1])
			pgtest.SQL(t, source, named)
			o := options(t, takeDump(t, source, inSegments), target)
			if name == "latin1 to latin9" { // the server has no conversion between these two
				refusal(t, o, "preflight A", "LATIN1", "LATIN9")
				return
			}
			if name == "latin1 to ascii" { // the names are bytes of another encoding there
				refusal(t, o, "preflight B", "façade.naïve", "no such table", "--resume")
				return
			}
			sum := mustRestore(t, o)
			if len(sum.Gaps) > 0 || sum.Proven != 2 {
				t.Errorf("gaps %+v, %d proven", sum.Gaps, sum.Proven)
			}
			for _, query := range []string{`SELECT count(*), md5(string_agg(convert_to("é", 'UTF8'), ',' ORDER BY "clé")) FROM "façade"."naïve"`, `SELECT last_value, is_called FROM "façade"."sé"`,
				`SELECT tableoid::regclass, * FROM "façade".h`, `SELECT DISTINCT e FROM "façade"."naïve"`, `SELECT indexname FROM pg_indexes WHERE schemaname <> 'pg_catalog'`} {
				same(t, source, target, `SET client_encoding = 'UTF8'; `+query)
			}
		})
	}
	t.Run("utf8 to ascii", func(t *testing.T) {
		source, target := pgtest.DB(t, `CREATE TABLE a (t text); INSERT INTO a VALUES ('é')`), inEncoding(t, "enc_target", "SQL_ASCII")
		mustRestore(t, options(t, takeDump(t, source), target))
		same(t, source, target, `SELECT encode(textsend(t), 'hex') FROM a`)
	})
	t.Run("a character that the target lacks", func(t *testing.T) {
		source, target := pgtest.DB(t, `CREATE TABLE a (t text); INSERT INTO a VALUES ('plain'), ('日本')`), inEncoding(t, "enc_target", "LATIN1")
		o := options(t, takeDump(t, source), target)
		_, err := restore.Run(t.Context(), o)
		for _, part := range []string{"public.a", "row 2", "22P05"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v lacks %q", err, part)
			}
		}
	})
}
