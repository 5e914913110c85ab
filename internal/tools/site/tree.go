package main

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// element returns an element with children.
func element(name string, children ...*html.Node) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: name, DataAtom: atom.Lookup([]byte(name))}
	for _, c := range children {
		n.AppendChild(c)
	}
	return n
}

// classed returns an element of a class with children.
func classed(name, class string, children ...*html.Node) *html.Node {
	n := element(name, children...)
	setAttr(n, "class", class)
	return n
}

// text returns a node of text, which is escaped when it is written.
func textNode(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

// elementsOf lists the elements of a name below n, before any of them is moved.
func elementsOf(n *html.Node, names ...string) []*html.Node {
	var found []*html.Node
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && slices.Contains(names, c.Data) {
			found = append(found, c)
		}
	}
	return found
}

// textOf returns the text of n and all below it.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func setAttr(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// wrap puts n into an element, in its place.
func wrap(n, around *html.Node) {
	replace(n, around)
	around.AppendChild(n)
}

// replace puts another node in the place of n.
func replace(n, by *html.Node) {
	n.Parent.InsertBefore(by, n)
	n.Parent.RemoveChild(n)
}

// onlyChild returns the only child of n if that is an element of the name.
func onlyChild(n *html.Node, name string) *html.Node {
	if c := n.FirstChild; c != nil && c.NextSibling == nil && c.Type == html.ElementNode && c.Data == name {
		return c
	}
	return nil
}
