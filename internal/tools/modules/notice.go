package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// systems are those that releases are for, and js, for which make page builds.
var systems = []string{"linux", "darwin", "windows", "freebsd", "js"}

// notice returns the file NOTICE: what is built into qsniff for any system, and under which licences. A
// licence that several have stands there once, after the lines of copyright of all of them.
func notice(root string) ([]byte, error) {
	found := map[string]module{}
	for _, goos := range systems {
		all, err := list(root, goos)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			found[m.path] = m
		}
	}
	page, err := ofPage(root)
	if err != nil {
		return nil, err
	}
	var all []module
	for _, path := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[path])
	}
	return appendNotice(nil, append(all, page...)), nil
}

// ofPage returns what the page of reports has of others. make web has written the list.
func ofPage(root string) (all []module, err error) {
	text, err := os.ReadFile(filepath.Join(root, "internal/render/html/dist/LICENSES.txt"))
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(string(text), "\n----\n") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "\n")
		names := licencesOf(text)
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: its licence is unknown", name)
		}
		all = append(all, module{path: name, licence: strings.Join(names, " AND "), texts: []string{text}})
	}
	return all, nil
}

// copyright matches the lines of a licence that name who has the rights.
var copyright = regexp.MustCompile(`(?m)^[ \t]*(?:Copyright|©)[^\n]*\d{4}[^\n]*\n`)

// appendNotice appends the list of modules, then their licences.
func appendNotice(dst []byte, all []module) []byte {
	dst = append(dst, "# What qsniff has of others\n\n<!-- Written by make notice: go.mod decides. -->\n\n| what | licence |\n|---|---|\n"...)
	type licence struct {
		owners []string
		text   string
	}
	var licences []*licence
	known := map[string]*licence{}
	for _, m := range all {
		dst = fmt.Appendf(dst, "| %s | %s |\n", strings.TrimSpace(m.path+" "+m.version), m.licence)
		for _, text := range m.texts {
			body := copyright.ReplaceAllString(text, "")
			key := plain(body)
			if known[key] == nil {
				known[key] = &licence{text: strings.Trim(body, "\n")}
				licences = append(licences, known[key])
			}
			owners := m.path + "\n"
			for _, line := range copyright.FindAllString(text, -1) {
				owners += "    " + strings.TrimSpace(line) + "\n"
			}
			known[key].owners = append(known[key].owners, owners)
		}
	}
	for _, l := range licences {
		dst = fmt.Appendf(dst, "\n## %s\n\n%s\n```\n%s\n```\n", cmp.Or(strings.Join(licencesOf(l.text), ", "), "Notices"), strings.Join(l.owners, ""), l.text)
	}
	return dst
}
