package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// wholeKeys makes keys WITHOUT OVERLAPS and exclusion constraints of partitioned tables whole. pg_dump makes one of the root alone, one of each
// partition, and attaches these to that; but PostgreSQL up to 18 attaches no indexes of such constraints ("the index definitions do not match",
// CompareIndexInfo in src/backend/catalog/index.c), and the root's stays invalid. What it can do is to make the root's for all partitions at
// once. So the single ones are dropped, that is done, and the partitions' get their names back. A tree that cannot be made whole stays as it is: the attachments
// are gaps then.
func (j *job) wholeKeys(ctx context.Context, c *pg.Conn, failed []pgtools.FailedEntry) error {
	parts, roots := attachments(failed)
	for _, root := range roots {
		keys, err := c.KeyIndexes(ctx, below(root, parts))
		if err == nil && allExclusions(keys, len(below(root, parts))) {
			err = j.makeWhole(ctx, c, keys)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil || pg.ConnectionLost(err) {
			return err
		}
		j.logf("%s is not made for all partitions at once: %v", root, err)
		if c.PgConn().TxStatus() != 'I' {
			if err := c.Exec(ctx, "ROLLBACK"); err != nil {
				return err
			}
		}
	}
	return nil
}

// attachments reads the statements of attachments that failed: indexes, as SQL names, by the one above, and those that have none above.
func attachments(failed []pgtools.FailedEntry) (parts map[string][]string, roots []string) {
	parts = map[string][]string{}
	isPart := map[string]bool{}
	var above []string
	for _, f := range failed {
		if f.Desc != "INDEX ATTACH" {
			continue
		}
		statement, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(f.Command), ";"), "ALTER INDEX ")
		parent, part, found := strings.Cut(statement, " ATTACH PARTITION ")
		if !ok || !found {
			continue
		}
		if parts[parent] == nil {
			above = append(above, parent)
		}
		parts[parent] = append(parts[parent], part)
		isPart[part] = true
	}
	for _, parent := range above {
		if !isPart[parent] {
			roots = append(roots, parent)
		}
	}
	return parts, roots
}

// below lists an index and all that are to be attached below it, itself first. An index has one above at most, so this ends.
func below(index string, parts map[string][]string) []string {
	list := []string{index}
	for _, part := range parts[index] {
		list = append(list, below(part, parts)...)
	}
	return list
}

func allExclusions(keys []pg.KeyIndex, want int) bool {
	for _, k := range keys {
		if !k.Exclusion {
			return false
		}
	}
	return len(keys) == want
}

// makeWhole makes the constraint of the first of the keys for all partitions, in one transaction.
func (j *job) makeWhole(ctx context.Context, c *pg.Conn, keys []pg.KeyIndex) error {
	root := keys[0]
	definition, err := j.definition(ctx, root)
	if err != nil {
		return err
	}
	const alone = "ALTER TABLE ONLY "
	if !strings.Contains(definition, alone) {
		return fmt.Errorf("no %q in its definition", alone)
	}
	sql := []string{"BEGIN"}
	for _, k := range keys {
		sql = append(sql, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", k.Table.SQL(), pg.QuoteIdent(k.Constraint)))
	}
	sql = append(sql, strings.Replace(definition, alone, "ALTER TABLE ", 1))
	for _, s := range sql {
		if err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	names, err := c.PartIndexes(ctx, root.Table, root.Constraint)
	if err != nil {
		return err
	}
	if len(names) != len(keys)-1 {
		return fmt.Errorf("%d partitions have it, %d had it before", len(names), len(keys)-1)
	}
	// Through names that nothing has, so that two may change places.
	var first, second, properties []string
	for _, k := range keys[1:] {
		properties = append(properties, k.Properties...)
		name := names[k.TableOID]
		if name == k.Constraint {
			continue
		}
		between := fmt.Sprintf("pghaul_%d", k.OID)
		first = append(first, fmt.Sprintf("ALTER INDEX %s RENAME TO %s", pg.QuoteName(k.Table.Schema, name), between))
		second = append(second, fmt.Sprintf("ALTER INDEX %s.%s RENAME TO %s", pg.QuoteIdent(k.Table.Schema), between, pg.QuoteIdent(k.Constraint)))
	}
	properties = append(properties, root.Properties...)
	for _, s := range append(append(append(first, second...), properties...), "COMMIT") {
		if err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	j.logf("constraint %s of %s and its %d partitions was made at once: PostgreSQL attaches no indexes of such constraints", root.Constraint, root.Table, len(keys)-1)
	return nil
}

// definition is what the archive makes a constraint with.
func (j *job) definition(ctx context.Context, k pg.KeyIndex) (string, error) {
	for _, e := range j.archive.entries {
		if e.Desc == "CONSTRAINT" && e.Schema == string(k.Table.Schema) && e.Name == string(k.Table.Name)+" "+string(k.Constraint) {
			return j.script(ctx, e)
		}
	}
	return "", fmt.Errorf("constraint %s of %s is not in the archive", k.Constraint, k.Table)
}
