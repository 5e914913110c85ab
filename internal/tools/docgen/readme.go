package docgen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qsniff/dissect"
)

// linkedRow is how a row begins that has a link in its first cell: in the README those
// are the rows of the protocols, and no others.
const linkedRow = "| ["

// withProtocolRows returns the module's README.md with the rows of the protocols as they
// are declared.
func withProtocolRows(module string, reg *dissect.Registry) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(module, "README.md"))
	if err != nil {
		return nil, err
	}
	return replaceRows(text, protocolRows(reg.Protos()))
}

// protocolRows returns a row for each protocol, by name: the order in which they are
// probed means nothing to readers.
func protocolRows(all []*dissect.Proto) []byte {
	var b bytes.Buffer
	for _, p := range slices.SortedFunc(slices.Values(all), func(p, q *dissect.Proto) int { return strings.Compare(p.Name, q.Name) }) {
		fmt.Fprintf(&b, "%s%s](docs/%s.md) | %s |\n", linkedRow, p.Name, p.Name, strings.ReplaceAll(p.Reads, "|", `\|`))
	}
	return b.Bytes()
}

// replaceRows returns text with rows in place of its linked ones, which follow each other.
func replaceRows(text, rows []byte) ([]byte, error) {
	var out []byte
	found, after := false, false // a linked row precedes; another line follows the last one
	for line := range bytes.Lines(text) {
		switch linked := bytes.HasPrefix(line, []byte(linkedRow)); {
		case linked && after:
			return nil, errors.New("README.md: rows with links in two places: " + string(line))
		case linked && !found:
			out, found = append(out, rows...), true
		case !linked:
			out, after = append(out, line...), found
		}
	}
	if !found {
		return nil, errors.New("README.md: no row of a protocol, which begins with \"" + linkedRow + "\"")
	}
	return out, nil
}
