package docgen

import (
	"testing"

	"qsniff/dissect"
)

// TestReplaceRows: a new protocol gets a row, one that is gone loses it, and all other
// lines stay.
func TestReplaceRows(t *testing.T) {
	rows := protocolRows([]*dissect.Proto{{Name: "b", Reads: "players"}, {Name: "a", Reads: "info|rules"}})
	const a, b = "| [a](docs/a.md) | info\\|rules |\n", "| [b](docs/b.md) | players |\n"
	for _, tc := range []struct{ name, in, want string }{
		{"as it is", "x\n| y | z |\n" + a + b + "| s | t |\n", "x\n| y | z |\n" + a + b + "| s | t |\n"},
		{"new protocol", "x\n" + a + "y\n", "x\n" + a + b + "y\n"},
		{"changed, gone", "| [c](docs/c.md) | info |\n| [a](docs/a.md) | rules |\n", a + b},
		{"no place for rows", "x\n| y | z |\n", ""},
		{"two places", a + "x\n" + b, ""},
	} {
		got, err := replaceRows([]byte(tc.in), rows)
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", tc.name, got, err, tc.want)
		}
	}
}
