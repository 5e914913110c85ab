package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown reads what the repository's pages use of GitHub's dialect. Cells are aligned by
// an attribute: the policy of the pages allows no style in markup.
var markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(
	extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))))

// parseMarkdown returns the elements of a Markdown text, in one that holds them. Markup in the text
// is refused but for comments: it would be shown on GitHub, and be left out here.
func parseMarkdown(source []byte) (*html.Node, error) {
	doc := markdown.Parser().Parse(text.NewReader(source))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var raw []byte
		switch n := n.(type) {
		case *ast.HTMLBlock:
			raw = n.Lines().Value(source)
		case *ast.RawHTML:
			raw = n.Segments.Value(source)
		}
		if entering && raw != nil && !strings.HasPrefix(string(raw), "<!--") {
			return ast.WalkStop, fmt.Errorf("markup in Markdown is not shown: %.40q", raw)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, doc); err != nil {
		return nil, err
	}
	return parseFragment(b.Bytes())
}

// parseFragment returns elements in one that holds them.
func parseFragment(markup []byte) (*html.Node, error) {
	body := element("div")
	nodes, err := html.ParseFragment(bytes.NewReader(markup), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body, nil
}
