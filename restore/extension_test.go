package restore_test

import (
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// withConfiguration gives an extension two configuration tables as its script would: one whose rows are all a user's, one with rows of its own.
const withConfiguration = `CREATE EXTENSION hstore;
CREATE TABLE setting (name text PRIMARY KEY, h hstore); CREATE TABLE own (id int PRIMARY KEY, v text, mine bool DEFAULT true);
INSERT INTO own VALUES (1, 'the extension''s', false);
ALTER EXTENSION hstore ADD TABLE setting; ALTER EXTENSION hstore ADD TABLE own;
UPDATE pg_extension SET extconfig = ARRAY['setting'::regclass, 'own'::regclass], extcondition = ARRAY['', 'WHERE mine'] WHERE extname = 'hstore';`

// TestExtensionConfiguration: an extension's configuration tables come with it, their chosen rows with the dump.
func TestExtensionConfiguration(t *testing.T) {
	source := pgtest.DB(t, withConfiguration, `INSERT INTO setting SELECT 'n' || g, hstore('k', g::text) FROM generate_series(1, 100) g; INSERT INTO own VALUES (2, 'a user''s'); CREATE TABLE a (id int); INSERT INTO a VALUES (1)`)
	dir := takeDump(t, source)
	target := pgtest.DB(t, withConfiguration)
	sum := mustRestore(t, options(t, dir, target))
	wantGaps(t, sum)
	same(t, source, target, `SELECT count(*), md5(string_agg(name || h::text, ',' ORDER BY name)) FROM setting`)
	same(t, source, target, `SELECT * FROM own ORDER BY id`)
	same(t, source, target, `SELECT * FROM a`)
	if len(sum.Manifest.ExtensionConfigs) != 2 {
		t.Errorf("configuration tables %q", sum.Manifest.ExtensionConfigs)
	}
	untouched(t, target)
}
