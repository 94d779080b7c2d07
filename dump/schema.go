package dump

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgtools"
)

// schemaArchive lets pg_dump write definitions and large objects under the dump's snapshot. Rows and the state of sequences are ours.
func (j *job) schemaArchive(ctx context.Context) (*format.StoredFile, error) {
	o := j.options
	if o.DataOnly && j.plan.largeObjs == 0 {
		return nil, nil
	}
	part := format.SchemaName + format.PartSuffix
	f, err := j.folder.root.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // pg_dump keeps the mode of a file that exists
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := j.tools.Dump(ctx, j.toolConn, j.dumpArguments(filepath.Join(j.folder.path, part))...)
	for _, line := range lines {
		o.logf("%s", line)
	}
	if err != nil {
		return nil, diskHint(schemaError(fmt.Errorf("%s: %w", format.SchemaName, err)))
	}
	if err := f.Sync(); err != nil {
		return nil, diskHint(err)
	}
	hash := xxh3.New128()
	n, err := io.Copy(hash, f)
	if err != nil {
		return nil, err
	}
	if err := j.folder.root.Rename(part, format.SchemaName); err != nil {
		return nil, err
	}
	sum := hash.Sum128().Bytes()
	return &format.StoredFile{Path: format.SchemaName, StoredBytes: n, XXH128: hex.EncodeToString(sum[:])}, nil
}

// schemaError keeps the tool's error and says what to do about the two that an operator can cure.
func schemaError(err error) error {
	var tool *pgtools.Error
	if !errors.As(err, &tool) {
		return err
	}
	switch {
	case strings.Contains(tool.Stderr, "LOCK TABLE") && strings.Contains(tool.Stderr, "timeout"): // of statements, in pg_dump's case
		return withHint(err, "another session holds or waits for an exclusive lock; give a longer --lock-timeout")
	case strings.Contains(tool.Stderr, "No space left"):
		return withHint(err, "no space is left for the schema archive")
	}
	return err
}

// lockWait is how long pg_dump waits for its locks. The leader holds all of them already: what does not come at once waits behind somebody who waits
// for the leader, that is for ever, and the server sees no cycle.
const lockWait = 10 * time.Second

func (j *job) dumpArguments(file string) []string {
	o := j.options
	args := []string{"--format=custom", "--file=" + file, "--no-sync", "--snapshot=" + j.leader.snapshot, "--exclude-table-data=*.*"}
	wait := lockWait
	if o.LockTimeout > 0 {
		wait = o.LockTimeout
	}
	args = append(args, fmt.Sprintf("--lock-wait-timeout=%d", max(1, wait.Milliseconds())))
	args = append(args, j.patterns...)
	switch {
	case len(o.Sections) > 0:
		args = append(args, optionsOf("section", o.Sections)...)
	case o.SchemaOnly:
		args = append(args, "--schema-only")
	}
	switch {
	case o.SchemaOnly:
	case o.Preview:
		args = append(args, "--no-blobs")
	case j.plan.largeObjs > 0:
		args = append(args, "--blobs")
	case o.LargeObjects != nil && !*o.LargeObjects:
		args = append(args, "--no-blobs")
	}
	if o.DataOnly {
		args = append(args, "--data-only")
	}
	if o.StrictNames {
		args = append(args, "--strict-names")
	}
	if o.Role != "" {
		args = append(args, "--role="+o.Role)
	}
	return args
}
