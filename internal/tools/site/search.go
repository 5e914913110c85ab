package main

import (
	"encoding/json"
	"strings"

	"golang.org/x/net/html"
)

// searchFile is the index, as a script: a page that is opened from disk may load no other data.
const searchFile = "search.js"

// searchIndex is what the search looks through: the text of each section, and the rows of tables that are about one word.
// It is not folded or stemmed: half a megabyte is looked through in a few milliseconds.
type searchIndex struct {
	Pages   [][2]string `json:"pages"`   // name of the file, label
	Entries []entry     `json:"entries"` // in the order of the pages
}

// entry is something that can be found.
type entry struct {
	Page  int    `json:"p"`
	ID    string `json:"id"`
	Title string `json:"t"`
	Under string `json:"u,omitempty"` // of a row, the section's title
	Text  string `json:"x,omitempty"`
}

// add adds a page. Outputs of examples and whole files are not searched: they repeat names by the hundred.
func (x *searchIndex) add(p *page) {
	x.Pages = append(x.Pages, [2]string{p.Name, p.Label})
	w := indexer{index: x, page: len(x.Pages) - 1}
	w.section = entry{Page: w.page, Title: p.Title}
	w.walk(p.body)
	w.end()
}

// indexer walks through a page.
type indexer struct {
	index   *searchIndex
	page    int
	section entry
	text    strings.Builder // of the section
}

func (w *indexer) walk(n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		w.text.WriteString(n.Data)
		return
	case n.Data == "h1" || n.Data == "h2" || n.Data == "h3":
		w.end()
		w.section = entry{Page: w.page, ID: attr(n, "id"), Title: headingOf(n)}
		return
	case n.Data == "tr" && attr(n, "id") != "":
		w.addRow(n)
		return
	case attr(n, "class") == "output", attr(n, "class") == "file":
		return
	case attr(n, "class") == "dialogue":
		w.walk(n.FirstChild) // the command
		return
	}
	for c := range n.ChildNodes() {
		w.walk(c)
	}
	if n.Type == html.ElementNode && !isInline[n.Data] {
		w.text.WriteByte(' ')
	}
}

var isInline = map[string]bool{"a": true, "code": true, "em": true, "strong": true, "span": true}

// addRow adds a row about one word as something of its own.
func (w *indexer) addRow(row *html.Node) {
	subject := subjectOf(row)
	var rest strings.Builder
	for cell := range row.ChildNodes() {
		if s := textOf(cell); s != subject {
			rest.WriteString(s + " ")
		}
	}
	w.index.Entries = append(w.index.Entries, entry{w.page, attr(row, "id"), subject, w.section.Title, oneLine(rest.String())})
}

// end adds the section that was walked through.
func (w *indexer) end() {
	w.section.Text = oneLine(w.text.String())
	w.text.Reset()
	if w.section.ID != "" || w.section.Text != "" {
		w.index.Entries = append(w.index.Entries, w.section)
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// script returns the index as a script.
func (x *searchIndex) script() ([]byte, error) {
	data, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("globalThis.siteIndex = "), data...), ";\n"...), nil
}
