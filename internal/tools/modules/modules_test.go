package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const root = "../../.."

// TestNotice: NOTICE is what make notice writes.
func TestNotice(t *testing.T) {
	_, err := os.Stat(root + "/go.mod") // what go list reads does not count: without it, an old result would be taken
	if err != nil {
		t.Fatal(err)
	}
	want, err := notice(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(root + "/NOTICE"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("NOTICE is not current (%v): make notice", err)
	}
}

// TestSBOM: the bill of materials of a program, here of this test, names it and Go's library, with licences.
func TestSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(root, program)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	self, last := b.Metadata.Component, b.Components[len(b.Components)-1]
	if b.Format != "CycloneDX" || self.Name == "" || len(self.Hashes) != 1 || last.Name != "std" || last.Licences[0].Expression != "BSD-3-Clause" ||
		len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("%s", text)
	}
}

// TestLicences: texts of licences are recognised, however they are written.
func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"PERMISSION is hereby granted, free\n of charge, to any person":                                 "MIT",
		"Redistribution and use in source and binary forms":                                             "BSD-2-Clause",
		"Redistribution and use in source and binary forms, not be used to endorse or promote products": "BSD-3-Clause",
		"Apache License\n   Version 2.0, January 2004":                                                  "Apache-2.0",
		"All rights reserved.": "",
	} {
		if got := strings.Join(licencesOf(text), " "); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if _, err := finish(map[string]*module{"x": {path: "x", texts: []string{"All rights reserved."}}}); err == nil {
		t.Error("a module with a licence that is unknown is listed")
	}
}
