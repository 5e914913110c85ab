package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"qsniff/internal/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Main(m)) }

// hostile is an output that would be markup if it were not escaped.
const hostile = "</code></pre><script src=x></script><img src=x onerror=alert(1)>\n"

// tryFolder stands for what make page writes.
var tryFolder = fstest.MapFS{
	"index.html":          {Data: []byte("<!doctype html>\n<html lang=\"en\"><head><title>t</title></head><body></body></html>")},
	"examples/index.json": {Data: []byte(`[{"name": "a.pcap", "title": "<b>first</b>"}, {"name": "b c.pcap", "title": "second"}]`)},
	"examples/a.pcap":     {Data: []byte{0, 1}},
}

// built is the site of the repository, with the same output for every example.
var built = sync.OnceValues(func() (*site, error) { return buildHostile() })

func buildHostile() (*site, error) {
	return build(input{root: binary.Root, try: tryFolder, run: func(string) (output, error) {
		return output{parts: []part{{hostile, hostile}}}, nil
	}})
}

func builtSite(t *testing.T) *site {
	t.Helper()
	s, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachPage calls visit with the tree of each page, and not for those of the folder to try.
func eachPage(t *testing.T, s *site, visit func(name string, doc *html.Node)) {
	t.Helper()
	for name, b := range s.files {
		if path.Ext(name) != ".html" || strings.HasPrefix(name, "try/") {
			continue
		}
		doc, err := html.Parse(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		visit(name, doc)
	}
}

// TestLinks: every link and source inside the site is there, with the place that it names, and
// those that lead outside are addresses.
func TestLinks(t *testing.T) {
	s := builtSite(t)
	ids := map[string]map[string]bool{}
	eachPage(t, s, func(name string, doc *html.Node) {
		ids[name] = map[string]bool{}
		for n := range doc.Descendants() {
			if id := attr(n, "id"); id != "" {
				if ids[name][id] {
					t.Errorf("%s has two elements %q", name, id)
				}
				ids[name][id] = true
			}
		}
	})
	links, outside := 0, 0
	eachPage(t, s, func(name string, doc *html.Node) {
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key != "href" && a.Key != "src" || strings.HasPrefix(a.Val, "data:") {
					continue
				}
				u, err := url.Parse(a.Val)
				if err != nil || a.Val == "" {
					t.Errorf("%s: %s=%q: %v", name, a.Key, a.Val, err)
					continue
				}
				if u.Scheme != "" {
					outside++
					if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || n.Data != "a" {
						t.Errorf("%s: %s %s", name, n.Data, a.Val)
					}
					continue
				}
				links++
				to := name
				if u.Path != "" {
					to = path.Join(path.Dir(name), u.Path)
				}
				if s.files[to] == nil {
					t.Errorf("%s: %s is not there", name, a.Val)
				} else if u.Fragment != "" && !ids[to][u.Fragment] {
					t.Errorf("%s: %s has no place %s", name, to, u.Fragment)
				}
			}
		}
	})
	if links < 1000 || outside < 10 {
		t.Errorf("only %d links inside and %d outside were looked at", links, outside)
	}
}

// void elements have no end.
var void = map[string]bool{"meta": true, "link": true, "input": true, "img": true, "br": true, "hr": true}

// TestMarkup: every element that begins ends, in order; nothing in the markup is refused by the
// policy; there is one title; and pictures have a text.
func TestMarkup(t *testing.T) {
	s := builtSite(t)
	for name, b := range s.files {
		if path.Ext(name) != ".html" {
			continue
		}
		var open []string
		z := html.NewTokenizer(bytes.NewReader(b))
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				if !errors.Is(z.Err(), io.EOF) {
					t.Errorf("%s: %v", name, z.Err())
				}
				break
			}
			tok := z.Token()
			switch {
			case kind == html.StartTagToken && !void[tok.Data]:
				open = append(open, tok.Data)
			case kind == html.EndTagToken && (len(open) == 0 || open[len(open)-1] != tok.Data):
				t.Fatalf("%s: </%s> within %v", name, tok.Data, open)
			case kind == html.EndTagToken:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: %v do not end", name, open)
		}
	}
	eachPage(t, s, func(name string, doc *html.Node) {
		if n := len(elementsOf(doc, "h1")); n != 1 {
			t.Errorf("%s has %d titles", name, n)
		}
		if policy := elementsOf(doc, "meta")[1]; attr(policy, "http-equiv") != "Content-Security-Policy" || strings.Contains(attr(policy, "content"), "unsafe") {
			t.Errorf("%s begins without its policy", name)
		}
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: the policy refuses %s=%q", name, a.Key, a.Val)
				}
			}
			switch {
			case n.Data == "script" && (attr(n, "src") == "" || n.FirstChild != nil), n.Type == html.ElementNode && n.Data == "style":
				t.Errorf("%s: the policy refuses %s in the page", name, n.Data)
			case n.Data == "img" && attr(n, "alt") == "":
				t.Errorf("%s: %s has no text", name, attr(n, "src"))
			case n.Data == "b":
				t.Errorf("%s: the title of a sample became markup", name)
			}
		}
	})
}

// TestOutputsAreText: what an example prints is text, in the page and in the index.
func TestOutputsAreText(t *testing.T) {
	s := builtSite(t)
	if s.shown < 100 || s.shown != len(s.examples) {
		t.Errorf("%d of %d examples have an output", s.shown, len(s.examples))
	}
	found := 0
	eachPage(t, s, func(name string, doc *html.Node) {
		for _, e := range elementsOf(doc, "details") {
			if attr(e, "class") == "output" && strings.Contains(textOf(e), strings.TrimSpace(hostile)) {
				found++
			}
		}
	})
	if found != s.shown {
		t.Errorf("%d of %d outputs are text", found, s.shown)
	}
	if bytes.Contains(s.files[searchFile], []byte("</script")) || bytes.Contains(s.files[searchFile], []byte("onerror=alert")) {
		t.Error("the index has markup, or outputs")
	}
}

// TestFresh: every page of docs is a page, and every command, flag, finding and field can be found.
func TestFresh(t *testing.T) {
	s := builtSite(t)
	var index searchIndex
	data, _ := bytes.CutPrefix(bytes.TrimSuffix(s.files[searchFile], []byte(";\n")), []byte("globalThis.siteIndex = "))
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for _, e := range index.Entries {
		titles[index.Pages[e.Page][0]+" "+e.Title] = e.ID
	}
	docs, err := filepath.Glob(binary.Root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more := []string{"README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, name := range more {
		docs = append(docs, filepath.Join(binary.Root, name))
	}
	want := 0
	heading := regexp.MustCompile("(?m)^#{1,3} (.+)$")
	row := regexp.MustCompile("(?m)^\\| `([^`|\n]+)` \\|")
	for _, file := range docs {
		rel, err := filepath.Rel(binary.Root, file)
		if err != nil {
			t.Fatal(err)
		}
		name := s.names[filepath.ToSlash(rel)]
		if s.files[name] == nil {
			t.Errorf("%s is no page", rel)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"docs/commands.md", "docs/findings.md", "docs/fields.md", "docs/counters.md"}, filepath.ToSlash(rel)) {
			continue
		}
		for _, m := range append(heading.FindAllSubmatch(text, -1), row.FindAllSubmatch(text, -1)...) {
			want++
			if id, ok := titles[name+" "+string(m[1])]; !ok || id == "" || !bytes.Contains(s.files[name], []byte(`id="`+id+`"`)) {
				t.Errorf("%s: %q cannot be found", name, m[1])
			}
		}
	}
	if want < 500 {
		t.Errorf("only %d things were looked for", want)
	}
}

// TestSame: the same sources give the same bytes.
func TestSame(t *testing.T) {
	first := builtSite(t)
	again, err := buildHostile()
	if err != nil {
		t.Fatal(err)
	}
	same(t, first, again)
}

func same(t *testing.T, a, b *site) {
	t.Helper()
	if len(a.files) != len(b.files) {
		t.Errorf("%d and %d files", len(a.files), len(b.files))
	}
	for name := range a.files {
		if !bytes.Equal(a.files[name], b.files[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestRealOutputs: every example that the rule does not exempt succeeds, and prints the same each time.
func TestRealOutputs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every example twice")
	}
	make := func() *site {
		r, err := newRunner(binary.Path(t), filepath.Join(binary.Root, "pcapfiles"), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s, err := build(input{root: binary.Root, run: r.run})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := make()
	same(t, s, make())
	if s.shown < 90 {
		t.Errorf("only %d examples have an output", s.shown)
	}
	for name, want := range map[string]string{
		"index.html":    "table inet qsniff", // what qsniff floods -o nft wrote
		"commands.html": "trailing",          // what is wrong with capture.pcap
	} {
		if !bytes.Contains(s.files[name], []byte(want)) {
			t.Errorf("%s does not show %q", name, want)
		}
	}
	if s.files[tryPage] != nil || bytes.Contains(s.files["index.html"], []byte(tryPage)) {
		t.Error("a site without the program to try has a page for it")
	}
}
