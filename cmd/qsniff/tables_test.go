package main

import (
	"encoding/json"
	"strings"
	"testing"

	"qsniff/internal/render/csv"
)

// TestTables: each column of the tables of commands is a member of their records in JSON.
func TestTables(t *testing.T) {
	records := map[string]string{"stats": "stats", "polls": "polls", "proven": "proven", "floods": "incident"}
	if len(csv.Tables) != len(records) {
		t.Errorf("got  %d tables\nwant %d", len(csv.Tables), len(records))
	}
	for name, table := range csv.Tables {
		text, err := outputSchema().RecordDocument(records[name])
		if err != nil {
			t.Fatal(name, err)
		}
		var document struct {
			Defs map[string]*shapeOfMember `json:"$defs"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		record := document.Defs[records[name]]
		if table.Rows != "" {
			record = record.member(document.Defs, table.Rows)
		}
		for _, column := range table.Columns {
			member := record
			for part := range strings.SplitSeq(column, ".") {
				member = member.member(document.Defs, part)
			}
			if member == nil {
				t.Errorf("%s: no member is called %s", name, column)
			}
		}
	}
}

// shapeOfMember is what JSON Schema says of a member.
type shapeOfMember struct {
	Ref        string                    `json:"$ref"`
	Properties map[string]*shapeOfMember `json:"properties"`
	Items      *shapeOfMember            `json:"items"`
}

// member returns the shape of a member, of an array that of its items, or nil.
func (s *shapeOfMember) member(defs map[string]*shapeOfMember, name string) *shapeOfMember {
	if s == nil {
		return nil
	}
	m := s.Properties[name]
	for m != nil && m.Ref != "" {
		m = defs[strings.TrimPrefix(m.Ref, "#/$defs/")]
	}
	if m != nil && m.Items != nil {
		return m.Items
	}
	return m
}
