package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// page is a page of the site.
type page struct {
	Source string // its path in the repository, "" if it is made here
	Name   string // of its file
	Label  string // in the navigation
	Title  string // its heading
	body   *html.Node
}

// topic is a part of the navigation.
type topic struct {
	Title string
	Pages []*page
}

// order is the navigation: by what readers want, not by how the repository is laid out. A page of docs that it does not
// name is a protocol's, or is added under the last topic.
var order = []struct {
	title string
	pages []page
}{
	{"Start", []page{
		{Source: "README.md", Name: "index.html", Label: "What qsniff does"},
		{Name: tryPage, Label: "Try it in the browser", Title: "Try it in the browser"},
		{Source: "docs/install.md", Label: "Install"},
		{Source: "docs/README.md", Name: "manual.html", Label: "Contents of the manual"},
	}},
	{"Use", []page{
		{Source: "docs/commands.md", Label: "Commands"},
		{Source: "docs/filters.md", Label: "Filters"},
		{Source: "docs/stories.md", Label: "Stories"},
		{Source: "docs/ci.md", Label: "In a test suite"},
		{Source: "docs/mcp.md", Label: "Assistants"},
	}},
	{"Understand", []page{
		{Source: "docs/findings.md", Label: "Findings"},
		{Source: "docs/floods.md", Label: "Floods"},
		{Source: "docs/clients.md", Label: "Clients"},
		{Source: "docs/confidence.md", Label: "How sure is sure"},
	}},
	{"Watch", []page{
		{Source: "docs/live.md", Label: "Live"},
		{Source: "docs/top.md", Label: "On a terminal"},
		{Source: "docs/monitor.md", Label: "For weeks"},
		{Source: "docs/fleet.md", Label: "Many hosts"},
	}},
	{"Formats", []page{
		{Source: "docs/fields.md", Label: "Fields"},
		{Source: "docs/json.md", Label: "JSON for programs"},
		{Source: "docs/counters.md", Label: "Counters"},
	}},
	{"Protocols", nil},
	{"Rely on it", []page{
		{Source: "docs/safety.md", Label: "Hostile traffic, secrets"},
		{Source: "docs/limits.md", Label: "Limits"},
		{Source: "SECURITY.md", Label: "Security"},
		{Source: "BENCHMARKS.md", Label: "Benchmarks"},
	}},
	{"Work on it", []page{
		{Source: "CHANGELOG.md", Label: "Changes"},
		{Source: "ARCHITECTURE.md", Label: "Architecture"},
		{Source: "CONTRIBUTING.md", Label: "Contributing"},
		{Name: filesPage, Label: "Files and licences", Title: "Files and licences"},
	}},
}

const (
	tryPage   = "try.html"
	filesPage = "files.html"

	protocolTopic = "Protocols"
)

// listTopics lists all pages by topic: those of order that are there, and all others of docs.
func listTopics(root string, withTry bool) ([]*topic, error) {
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("there is no docs/*.md in %s: this runs in the root of the repository", root)
	}
	var left []string
	for _, name := range docs {
		left = append(left, "docs/"+filepath.Base(name))
	}
	var topics []*topic
	for _, o := range order {
		t := &topic{Title: o.title}
		for _, p := range o.pages {
			left = slices.DeleteFunc(left, func(source string) bool { return source == p.Source })
			if p.Name == tryPage && !withTry {
				continue
			}
			if p.Name == "" {
				p.Name = nameOf(p.Source)
			}
			t.Pages = append(t.Pages, &p)
		}
		topics = append(topics, t)
	}
	for _, source := range left {
		t := topics[len(topics)-1]
		if isProtocol(root, source) {
			t = topics[slices.IndexFunc(topics, func(t *topic) bool { return t.Title == protocolTopic })]
		}
		t.Pages = append(t.Pages, &page{Source: source, Name: nameOf(source)})
	}
	return topics, nil
}

// isProtocol reports whether a page is that of the package of a protocol.
func isProtocol(root, source string) bool {
	info, err := os.Stat(filepath.Join(root, "dissect", strings.TrimSuffix(path.Base(source), ".md")))
	return err == nil && info.IsDir()
}

// nameOf returns the name of the page that is made of a source.
func nameOf(source string) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(source), ".md")) + ".html"
}
