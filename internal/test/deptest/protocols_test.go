package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"unicode"

	"qsniff/dissect/protocols"
)

// nicknames are words for protocols, their families and their games besides the
// protocols' own names. rcon is left out: it names a role of messages as well as a
// protocol.
var nicknames = []string{"eye", "frontlines", "hltv", "mta", "quake", "xash"}

// mayNameProtocols are the files and folders that may name a protocol, outside of its own
// folder, the commands and tests. The list is to become shorter: what is of one
// protocol belongs to it, and the rest reads what it declares.
var mayNameProtocols = map[string]string{
	"internal/track/fingerprint/table.go": "programs have protocols in their names",
	"reassembly/eye":                      "joins them",
	"reassembly/wire":                     "headers that two packages read",
	"internal/tools/bench":                "decodes one with gopacket, to compare",
	"internal/tools/mkpcap":               "makes captures",
	"internal/test/testpcap":              "makes captures",
	"internal/test/responder":             "a server for tests",
	"internal/test/floodtest":             "incidents for tests",
	"internal/test/fleettest":             "servers of a fleet for tests",
	"internal/test/examples":              "captures for examples",
	"internal/render/manual":              "values of a field that all messages have",
}

// TestNobodyNamesAProtocol: a new protocol is its folder and a line in a list, so no
// identifier and no text of others is about one.
func TestNobodyNamesAProtocol(t *testing.T) {
	words := slices.Clone(nicknames)
	for _, p := range protocols.All() {
		if name := p.Proto().Name; name != "rcon" {
			words = append(words, name)
		}
	}
	used := map[string]bool{}
	eachGoFile(t, func(dir, file string, test bool) {
		top := strings.Split(dir, "/")[0]
		if test || top == "dissect" || top == "cmd" {
			return
		}
		path := strings.TrimPrefix(file, root+"/")
		names := namesIn(t, file, words)
		for entry := range mayNameProtocols {
			if strings.HasPrefix(path, entry) && len(names) > 0 {
				used[entry], names = true, nil
			}
		}
		for _, n := range names {
			t.Errorf("%s names a protocol: %s", path, n)
		}
	})
	for entry := range mayNameProtocols {
		if !used[entry] {
			t.Errorf("%s names no protocol any more: take it off the list", entry)
		}
	}
}

// namesIn lists the identifiers and strings of a file with one of some words in them.
func namesIn(t *testing.T, file string, words []string) (found []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.Ident:
			text = n.Name
		case *ast.BasicLit:
			text = n.Value
		}
		if slices.ContainsFunc(wordsIn(text), func(w string) bool { return slices.Contains(words, w) }) {
			found = append(found, text)
		}
		return true
	})
	return found
}

// wordsIn cuts text, or an identifier at its capital letters, into small words.
func wordsIn(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range s {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
