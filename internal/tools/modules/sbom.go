package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// The parts of a bill of materials, as cyclonedx.org has them.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Time      string    `json:"timestamp,omitempty"` // of the commit: two builds have the same
		Component component `json:"component"`
	}
	component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Hashes   []hash    `json:"hashes,omitempty"`
		Licences []licence `json:"licenses"`
		PURL     string    `json:"purl"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// newComponent returns a module as a component.
func newComponent(kind, path, version, licences string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, Licences: []licence{{licences}}, PURL: purl}
}

// sbom returns the bill of materials of a built program: what its build information lists, with the licences
// that the modules of the sources in root have.
func sbom(root, program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	file, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	all, err := list(root, settings["GOOS"])
	if err != nil {
		return nil, err
	}
	known := map[string]module{}
	for _, m := range all {
		known[m.path] = m
	}
	self := newComponent("application", info.Main.Path, info.Main.Version, "MIT")
	sum := sha256.Sum256(file)
	self.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{settings["vcs.time"], self}}
	uses := dependency{Ref: self.Ref}
	library := &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range append(info.Deps, library) {
		k, ok := known[m.Path]
		if !ok || k.version != m.Version && m != library {
			return nil, fmt.Errorf("%s %s is not of these sources: %s", filepath.Base(program), m.Path, m.Version)
		}
		c := newComponent("library", m.Path, m.Version, k.licence)
		b.Components, uses.DependsOn = append(b.Components, c), append(uses.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{uses}
	out, err := json.MarshalIndent(&b, "", " ")
	return append(out, '\n'), err
}
