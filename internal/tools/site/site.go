package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"qsniff/internal/base/digits"
)

// sources has the template of a page, its style and its scripts.
const sources = "internal/web/site"

// input is what a site is made of.
type input struct {
	root string                            // of the repository
	run  func(line string) (output, error) // runs an example; nil: none has an output
	try  fs.FS                             // what make page wrote, nil if nothing
}

// site is the files to write, by their names, and what was counted on the way.
type site struct {
	input
	files    map[string][]byte
	topics   []*topic
	pages    []*page
	names    map[string]string // of pages, by their sources
	linked   map[string]bool   // files of the repository that pages link to
	examples []example
	shown    int            // of them, with an output
	missing  map[string]int // examples by the program that they lack
}

// build makes the site.
func build(in input) (*site, error) {
	s := &site{input: in, files: map[string][]byte{}, names: map[string]string{}, missing: map[string]int{}, linked: map[string]bool{"LICENSE": true, "NOTICE": true}}
	var err error
	if s.topics, err = listTopics(in.root, in.try != nil); err != nil {
		return nil, err
	}
	for _, t := range s.topics {
		for _, p := range t.Pages {
			s.pages = append(s.pages, p)
			if p.Source != "" {
				s.names[p.Source] = p.Name
			}
		}
	}
	// The page of files is the last: it has what the others link to.
	slices.SortStableFunc(s.pages, func(a, b *page) int {
		return cmp.Compare(btoi(a.Name == filesPage), btoi(b.Name == filesPage))
	})
	for _, p := range s.pages {
		if err := s.readPage(p); err != nil {
			return nil, fmt.Errorf("%s: %w", cmp.Or(p.Source, p.Name), err)
		}
	}
	if err := s.addExampleOutputs(); err != nil {
		return nil, err
	}
	if err := s.render(); err != nil {
		return nil, err
	}
	return s, s.addAssets()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readPage makes the elements of a page, without the frame that all pages have.
func (s *site) readPage(p *page) (err error) {
	switch {
	case p.Name == tryPage:
		p.body, err = s.tryBody()
	case p.Name == filesPage:
		p.body, err = s.filesBody()
	default:
		var text []byte
		if text, err = os.ReadFile(filepath.Join(s.root, filepath.FromSlash(p.Source))); err == nil {
			p.body, err = parseMarkdown(text)
		}
	}
	if err != nil {
		return err
	}
	if p.Title == "" {
		p.Title = titleOf(p.body)
	}
	if p.Label == "" {
		p.Label, _, _ = strings.Cut(p.Title, ":")
	}
	return s.prepare(p)
}

func titleOf(body *html.Node) string {
	for n := range body.Descendants() {
		if n.Data == "h1" {
			return textOf(n)
		}
	}
	return ""
}

// filesBody has the files of the repository that pages link to, so that no link leads out of the site.
func (s *site) filesBody() (*html.Node, error) {
	body := element("div", element("h1", textNode("Files and licences")),
		element("p", textNode("Files of the repository that other pages name: units, a dashboard, alerts, recipes of packages, licences.")))
	for _, name := range sortedKeys(s.linked) {
		data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		body.AppendChild(element("h2", textNode(name)))
		fold := element("details", element("summary", textNode(digits.Counted(uint64(bytes.Count(data, []byte("\n"))), "line"))),
			element("pre", element("code", textNode(string(data)))))
		setAttr(fold, "class", "file")
		body.AppendChild(fold)
	}
	return body, nil
}

// tryBody embeds the page that decodes captures, and has links that open its samples there.
func (s *site) tryBody() (*html.Node, error) {
	list, err := fs.ReadFile(s.try, "examples/index.json")
	if err != nil {
		return nil, fmt.Errorf("%w (make page writes it)", err)
	}
	var samples []struct{ Name, Title string }
	if err := json.Unmarshal(list, &samples); err != nil {
		return nil, fmt.Errorf("examples/index.json: %w", err)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("examples/index.json lists nothing")
	}
	t, err := template.ParseFiles(filepath.Join(s.root, sources, tryPage))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, samples); err != nil {
		return nil, err
	}
	return parseFragment(b.Bytes())
}

// render puts all pages into the frame, and makes the index of the search.
func (s *site) render() error {
	frame, err := template.ParseFiles(filepath.Join(s.root, sources, "page.html"))
	if err != nil {
		return err
	}
	var index searchIndex
	for _, p := range s.pages {
		index.add(p)
		contents := contentsOf(p.body)
		addContents(p.body, contents)
		var body, whole bytes.Buffer
		for n := range p.body.ChildNodes() {
			if err := html.Render(&body, n); err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		err := frame.Execute(&whole, map[string]any{
			"Page": p, "Topics": s.topics, "Contents": contents, "Body": template.HTML(body.String()), // rendered from a tree, which escapes
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		s.files[p.Name] = whole.Bytes()
	}
	s.files[searchFile], err = index.script()
	return err
}

// addAssets adds style, scripts, and the page that decodes captures.
func (s *site) addAssets() (err error) {
	for _, name := range []string{"site.css", "site.js", "theme.js"} {
		if s.files[name], err = os.ReadFile(filepath.Join(s.root, sources, name)); err != nil {
			return err
		}
	}
	if s.try == nil {
		return nil
	}
	return fs.WalkDir(s.try, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s.files[path.Join("try", name)], err = fs.ReadFile(s.try, name)
		return err
	})
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
