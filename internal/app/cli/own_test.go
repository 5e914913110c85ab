package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHome: the command line comes before a variable, also an empty one, and a variable before the file; of the
// files the first that exists counts.
func TestHome(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := file("first.toml", "servers = [\"198.18.0.1:27015\", \"198.18.0.2\"]\nown = \"198.51.100.9\"\n")
	second := file("second.toml", "servers = \"203.0.113.0/24\"\n")
	missing := filepath.Join(dir, "missing.toml")
	for _, tc := range []struct {
		name, line, env string
		files           []string
		servers, own    string
		wrong           string // part of the error
	}{
		{name: "nothing", files: []string{missing}},
		{name: "file", files: []string{missing, first, second}, servers: "198.18.0.1:27015,198.18.0.2", own: "198.51.100.9"},
		{name: "second file alone", files: []string{missing, second}, servers: "203.0.113.0/24"},
		{name: "variable before file", env: "QSNIFF_SERVERS=192.0.2.1", files: []string{first}, servers: "192.0.2.1", own: "198.51.100.9"},
		{name: "empty variable", env: "QSNIFF_SERVERS=", files: []string{first}, own: "198.51.100.9"},
		{name: "command line before both", line: "192.0.2.7", env: "QSNIFF_SERVERS=192.0.2.1", files: []string{first}, servers: "192.0.2.7", own: "198.51.100.9"},
		{name: "no list of servers", env: "QSNIFF_SERVERS=ams-2", wrong: `QSNIFF_SERVERS, for --servers: "ams-2"`},
		{name: "no list of tools", env: "QSNIFF_OWN=198.51.100.9:27015", wrong: "QSNIFF_OWN, for --own"},
		{name: "flag of another kind", files: []string{file("other.toml", "interface = \"eth0\"\n")}, wrong: `"interface" is no flag of this file`},
		{name: "no file of settings", files: []string{file("text.toml", "servers\n")}, wrong: "text.toml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var servers, own string
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.Var(Text(&servers, "CIDR|ADDR:PORT,..."), "servers", "")
			flags.Var(ListText(&own, "CIDR|ADDR,..."), "own", "")
			if tc.line != "" {
				if err := flags.Set("servers", tc.line); err != nil {
					t.Fatal(err)
				}
			}
			home := Home{Files: tc.files, Lookup: func(name string) (string, bool) {
				return strings.CutPrefix(tc.env, name+"=")
			}}
			notes, err := home.Apply(flags)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("got  %v\nwant %s", err, tc.wrong)
				}
				return
			}
			if err != nil || servers != tc.servers || own != tc.own {
				t.Errorf("got  %q, %q, %v, %q\nwant %q, %q", servers, own, err, notes, tc.servers, tc.own)
			}
		})
	}
}

// TestHomeKnowsFlags: a command without --servers and --own takes nothing, whatever is in the file.
func TestHomeKnowsFlags(t *testing.T) {
	home := Home{Files: []string{t.TempDir()}, Lookup: func(string) (string, bool) { return "no list", true }}
	if notes, err := home.Apply(pflag.NewFlagSet("", pflag.ContinueOnError)); err != nil || notes != nil {
		t.Errorf("got  %q, %v", notes, err)
	}
}
