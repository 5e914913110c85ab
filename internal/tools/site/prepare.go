package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// prepare makes of what Markdown gives what the site shows: places that can be linked to, links between
// the pages, pictures, tables and blocks that scroll by themselves, examples.
func (s *site) prepare(p *page) error {
	dropComments(p.body)
	closeLevels(p.body)
	addPlaces(p.body)
	for _, a := range elementsOf(p.body, "a") {
		href, err := s.resolve(p, attr(a, "href"))
		if err != nil {
			return err
		}
		setAttr(a, "href", href)
	}
	for _, img := range elementsOf(p.body, "img") {
		src, err := s.resolve(p, attr(img, "src"))
		if err != nil {
			return err
		}
		setAttr(img, "src", src)
		link := classed("a", "picture")
		setAttr(link, "href", src) // on a phone, to look at it by itself
		wrap(img, link)
	}
	for _, table := range elementsOf(p.body, "table") {
		dropEmptyHead(table)
		markStack(table)
		wrap(table, classed("div", "scroll"))
	}
	for _, pre := range elementsOf(p.body, "pre") {
		s.prepareBlock(pre)
	}
	return nil
}

func dropComments(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode {
			n.RemoveChild(c)
		} else {
			dropComments(c)
		}
		c = next
	}
}

// closeLevels raises headings that leave a level out, as those of findings, which stand below another one on the pages of
// protocols: readers who hear a page go from level to level.
func closeLevels(body *html.Node) {
	var above []byte // the levels, as Markdown has them, of the headings that hold this one
	for _, h := range elementsOf(body, "h1", "h2", "h3", "h4", "h5", "h6") {
		level := h.Data[1]
		for len(above) > 0 && above[len(above)-1] >= level {
			above = above[:len(above)-1]
		}
		above = append(above, level)
		h.Data = "h" + strconv.Itoa(len(above))
		h.DataAtom = atom.Lookup([]byte(h.Data))
	}
}

// dropEmptyHead removes the head that Markdown demands of a table that has none.
func dropEmptyHead(table *html.Node) {
	for _, head := range elementsOf(table, "thead") {
		if strings.TrimSpace(textOf(head)) == "" {
			head.Parent.RemoveChild(head)
		}
	}
}

// roles are what elements of tables are, whatever the style makes of them.
var roles = map[string]string{"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "th": "columnheader", "td": "cell"}

// markStack marks a table that is about one word a row and has more columns than a phone is wide: there the style puts
// the cells of a row below each other.
func markStack(table *html.Node) {
	cells := elementsOf(table, "td")
	rows := elementsOf(table, "tr")
	if len(cells) < 3*(len(rows)-1) || len(cells) == 0 || subjectOf(cells[0].Parent) == "" {
		return
	}
	setAttr(table, "class", "stack")
	setAttr(table, "role", roles["table"])
	for n := range table.Descendants() {
		if role := roles[n.Data]; role != "" && n.Type == html.ElementNode {
			setAttr(n, "role", role)
		}
	}
}

// places gives names to places as GitHub does, so that links which work there work here.
type places map[string]int

func (p places) name(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	name := b.String()
	n := p[name]
	p[name]++
	if n == 0 {
		return name
	}
	return p.name(name + "-" + strconv.Itoa(n))
}

// addPlaces names the headings, and after them the rows of tables that are about one word: a field, a flag, a counter.
func addPlaces(body *html.Node) {
	used := places{"main": 1, "topics": 1, "search": 1, "results": 1} // by the frame
	for _, h := range elementsOf(body, "h1", "h2", "h3", "h4") {
		title := textOf(h)
		id := used.name(title)
		setAttr(h, "id", id)
		link := classed("a", "place", textNode("#"))
		setAttr(link, "href", "#"+id)
		setAttr(link, "aria-label", "Link to "+title)
		setAttr(link, "tabindex", "-1") // the contents beside the page have all of them for the keyboard
		h.AppendChild(link)
	}
	section := ""
	for n := range body.Descendants() {
		switch n.Data {
		case "h1", "h2", "h3":
			section = attr(n, "id")
		case "tr":
			if subject := subjectOf(n); subject != "" {
				setAttr(n, "id", used.name(section+" "+cmp.Or(longFlag.FindString(subject), subject)))
			}
		}
	}
}

var longFlag = regexp.MustCompile(`--[a-z0-9-]+`)

// subjectOf returns the word in code that is all of a row's first cell.
func subjectOf(row *html.Node) string {
	for cell := range row.ChildNodes() {
		if cell.Data == "td" {
			if code := onlyChild(cell, "code"); code != nil {
				return textOf(code)
			}
			return ""
		}
	}
	return ""
}

// resolve returns where a link of a page leads in the site. A page that is linked to must be there; files
// become part of the page of files, pictures are copied.
func (s *site) resolve(p *page, href string) (string, error) {
	u, err := url.Parse(href)
	if err != nil {
		return "", err
	}
	if u.Scheme != "" || u.Host != "" || u.Path == "" || p.Source == "" {
		return href, nil
	}
	name := path.Join(path.Dir(p.Source), u.Path)
	if page, ok := s.names[name]; ok {
		u.Path = page
		return u.String(), nil
	}
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name)))
	switch {
	case err != nil:
		return "", fmt.Errorf("the link to %s leads nowhere: %w", href, err)
	case strings.HasPrefix(name, "docs/img/"):
		to := "img/" + path.Base(name)
		s.files[to], err = os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		return to, err
	case info.IsDir():
		return filesPage, s.linkAll(name)
	}
	s.linked[name] = true
	return filesPage + "#" + places{}.name(name), nil
}

// linkAll has the page of files show all in a folder.
func (s *site) linkAll(folder string) error {
	return fs.WalkDir(os.DirFS(s.root), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			s.linked[name] = true
		}
		return err
	})
}

// link is an entry of the contents of a page.
type link struct {
	Href, Title string
	Sub         bool
}

// mostContents is how many headings the contents of a page may have before those of the third level are left out.
// Chosen: two screens.
const mostContents = 60

// contentsOf lists the headings of a page, if they are more than one sees at once. Where there is but one level it
// is listed whole.
func contentsOf(body *html.Node) []link {
	seconds, all := elementsOf(body, "h2"), elementsOf(body, "h2", "h3")
	if len(all) > mostContents && len(seconds) > 1 {
		all = seconds
	}
	var list []link
	for _, h := range all {
		list = append(list, link{"#" + attr(h, "id"), headingOf(h), h.Data == "h3" && len(seconds) > 0})
	}
	if len(list) < 3 {
		return nil
	}
	return list
}

// addContents adds the contents below the title, folded, for where there is no room for them beside the text.
func addContents(body *html.Node, contents []link) {
	titles := elementsOf(body, "h1")
	if len(contents) == 0 || len(titles) == 0 {
		return
	}
	list := element("ul")
	for _, l := range contents {
		a := element("a", textNode(l.Title))
		setAttr(a, "href", l.Href)
		item := element("li", a)
		if l.Sub {
			setAttr(item, "class", "sub")
		}
		list.AppendChild(item)
	}
	body.InsertBefore(classed("details", "contents narrow", element("summary", textNode("On this page")), list), titles[0].NextSibling)
}

// headingOf is the text of a heading, without the link to itself.
func headingOf(h *html.Node) string { return strings.TrimSuffix(textOf(h), "#") }
