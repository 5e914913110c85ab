package docgen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/render/manual"
)

// protocolPage returns the page of one protocol.
func protocolPage(in *Input, d dissect.Protocol) ([]byte, error) {
	p := d.Proto()
	text, err := packageDoc(in.Module, d)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n\n%s", p.Name, escapeCell(p.Doc), notice)
	b.WriteString(text)
	if len(p.Ports) > 0 {
		fmt.Fprintf(&b, "\n## Ports\n\nUsually met on %s; messages are recognised on every port.\n", formatRanges(p.Ports))
	}
	b.WriteString("\n## Messages\n\n")
	writeHead(&b, "message", "direction", "meaning")
	for _, s := range manual.Messages(in.Registry) {
		if s.Name != p.Name {
			continue
		}
		for _, m := range s.Rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", code(m.Name), m.Direction, escapeCell(m.Doc))
		}
	}
	b.WriteString("\n## Fields\n\nThe last part of a name is the key in JSON; framing is in the tree and in `--layout` only.\n[Filters](filters.md#types) compare them by their type there.\n\n")
	for _, s := range fields(in) {
		if s.Name == p.Name {
			writeFieldTable(&b, s.Rows)
		}
	}
	if len(p.Codes) > 0 {
		b.WriteString("\n## Findings\n\nOf this protocol alone; [all others](findings.md).\n")
		writeFindings(&b, manual.Findings(p.Codes))
	}
	return b.Bytes(), nil
}

// formatRanges writes ports in order, runs of them as 27000 to 27050.
func formatRanges(ports []uint16) string {
	ports = slices.Sorted(slices.Values(ports))
	var parts []string
	for i := 0; i < len(ports); {
		first := i
		for i++; i < len(ports) && ports[i] == ports[i-1]+1; i++ {
		}
		part := strconv.Itoa(int(ports[first]))
		if i-first > 1 {
			part += " to " + strconv.Itoa(int(ports[i-1]))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// packageDoc returns the comment of the package that declares d, as Markdown.
func packageDoc(module string, d dissect.Protocol) (string, error) {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, dir, _ := strings.Cut(t.PkgPath(), "/")
	file := filepath.Join(module, filepath.FromSlash(dir), "doc.go")
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return "", err
	}
	return markdown(f.Name.Name, f.Doc), nil
}

// markdown turns a package comment into Markdown for users: "Package x dissects" becomes
// "qsniff decodes".
func markdown(pkg string, group *ast.CommentGroup) string {
	text := strings.Replace(group.Text(), "Package "+pkg+" dissects", "qsniff decodes", 1)
	var p comment.Parser
	pr := comment.Printer{HeadingLevel: 2, HeadingID: func(*comment.Heading) string { return "" }}
	return string(pr.Markdown(p.Parse(text)))
}
