package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is something of others that is built in.
type module struct {
	path, version string
	licence       string   // an expression of SPDX
	texts         []string // of its licences, and what they ask to be named
}

// listed is what go list prints of a package.
type listed struct {
	Dir, Root string
	Standard  bool
	Module    *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// list returns what is built into the programs for a system, from the sources in root: modules, and Go's library as
// "std". What only tests and tools use is not in it.
func list(root, goos string) ([]module, error) {
	args, arch := []string{"list", "-deps", "-json=Dir,Root,Standard,Module", "./cmd/qsniff"}, "amd64"
	if goos == "js" {
		arch = "wasm"
	} else {
		args = append(args, "./cmd/qsniff-hub")
	}
	c := exec.Command("go", args...)
	c.Dir, c.Env = root, append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	found := map[string]*module{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		path, version, top := "std", "", p.Root
		if p.Standard {
			p.Dir = p.Root
		} else if p.Module.Main {
			continue
		} else {
			path, version, top = p.Module.Path, p.Module.Version, p.Module.Dir
		}
		m := found[path]
		if m == nil {
			m = &module{path: path, version: version}
			found[path] = m
		}
		if err := m.addTexts(p.Dir, top); err != nil {
			return nil, err
		}
	}
	return finish(found)
}

// isLicence matches names of files that have to go with a program.
var isLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)(\.\w+)?$`)

// addTexts adds the licences in the folder of a package and in those above it, up to that of the module.
func (m *module) addTexts(dir, top string) error {
	for ; len(dir) >= len(top); dir = filepath.Dir(dir) {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if f.IsDir() || !isLicence.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return err
			}
			if !slices.Contains(m.texts, string(text)) {
				m.texts = append(m.texts, string(text))
			}
		}
	}
	return nil
}

// choice parts the licences of libcap, one of which is to be chosen: the one before it is.
const choice = "\nGPL v2.0:\n"

// finish finds the licences of modules by their texts, and sorts the modules by path.
func finish(found map[string]*module) ([]module, error) {
	var all []module
	for _, m := range found {
		slices.Sort(m.texts)
		var names []string
		for i, text := range m.texts {
			m.texts[i], _, _ = strings.Cut(text, choice)
			names = append(names, licencesOf(m.texts[i])...)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: its licence is unknown", m.path)
		}
		slices.Sort(names)
		m.licence = strings.Join(slices.Compact(names), " AND ")
		all = append(all, *m)
	}
	if len(all) == 0 {
		return nil, errors.New("nothing is built in")
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// licencesOf returns the names that SPDX has for the licences in a text.
func licencesOf(text string) (names []string) {
	text = plain(text)
	for _, known := range []struct{ words, name string }{
		{"apache license version 2.0", "Apache-2.0"},
		{"permission is hereby granted, free of charge, to any person", "MIT"},
		{"permission to use, copy, modify, and/or distribute this software", "ISC"},
	} {
		if strings.Contains(text, known.words) {
			names = append(names, known.name)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms") {
		name := "BSD-2-Clause"
		if strings.Contains(text, "to endorse or promote products") {
			name = "BSD-3-Clause"
		}
		names = append(names, name)
	}
	return names
}

// plain returns a text in small letters with one space between words, to be compared.
func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
