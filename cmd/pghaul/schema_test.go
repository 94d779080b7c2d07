package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaDir holds the documents that describe what --json writes.
var schemaDir = filepath.Join("..", "..", "docs", "schema")

// loadSchemas reads all schemas and makes them strict: a key that they do not describe is an error. For readers they are not, for later versions may add keys.
func loadSchemas() (map[string]*jsonschema.Schema, error) {
	paths, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const base = "https://pghaul.invalid/"
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		strict(doc)
		if err := c.AddResource(base+filepath.Base(p), doc); err != nil {
			return nil, err
		}
	}
	all := map[string]*jsonschema.Schema{}
	for _, p := range paths {
		if all[filepath.Base(p)], err = c.Compile(base + filepath.Base(p)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// strict forbids keys beside those that are described.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, object := v["properties"].(map[string]any); object && v["type"] == "object" {
			if _, said := v["additionalProperties"]; !said {
				v["additionalProperties"] = false
			}
		}
		for _, x := range v {
			strict(x)
		}
	case []any:
		for _, x := range v {
			strict(x)
		}
	}
}

// matches is a script's command: matches SCHEMA FILE, with -lines for a document a line.
func matches(ts *testscript.TestScript, neg bool, args []string) {
	lines := len(args) > 0 && args[0] == "-lines"
	if lines {
		args = args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: matches [-lines] SCHEMA FILE")
	}
	all, err := loadSchemas()
	ts.Check(err)
	schema := all[args[0]]
	if schema == nil {
		ts.Fatalf("there is no schema %s", args[0])
	}
	docs := []string{ts.ReadFile(args[1])}
	if lines {
		docs = strings.Split(strings.TrimSpace(docs[0]), "\n")
	}
	for _, d := range docs {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(d))
		ts.Check(err)
		if err := schema.Validate(v); err != nil {
			ts.Fatalf("%s\n%v", d, err)
		}
	}
}

// Every object of the schemas says what its keys are, and requires none that it does not describe.
func TestSchemas(t *testing.T) {
	all, err := loadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Errorf("%d schemas", len(all))
	}
	readme, err := os.ReadFile(filepath.Join(schemaDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range all {
		b, err := os.ReadFile(filepath.Join(schemaDir, name))
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		requiredAreDescribed(t, name, doc)
		if !strings.Contains(string(readme), "("+name+")") {
			t.Errorf("docs/schema/README.md does not name %s", name)
		}
	}
}

func requiredAreDescribed(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		properties, _ := v["properties"].(map[string]any)
		required, _ := v["required"].([]any)
		for _, name := range required {
			if _, ok := properties[name.(string)]; !ok {
				t.Errorf("%s: %v is required and not described", where, name)
			}
		}
		for k, x := range v {
			requiredAreDescribed(t, where+"/"+k, x)
		}
	case []any:
		for i, x := range v {
			requiredAreDescribed(t, fmt.Sprintf("%s/%d", where, i), x)
		}
	}
}
