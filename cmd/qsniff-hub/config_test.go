package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/internal/app/cli"

	"github.com/spf13/cobra"
)

// TestConfig: a file sets flags by their long names, and the command line comes before it.
func TestConfig(t *testing.T) {
	name := filepath.Join(t.TempDir(), "hub.toml")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(args ...string) (*hubOptions, error) {
		t.Helper()
		o, cmd := &hubOptions{}, &cobra.Command{}
		o.register(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return o, loadConfig(cmd.Flags(), name)
	}
	put("store = \"streams\"\nlisten = \"127.0.0.1:1\"\nhost = [\"a\", \"b\"]\nretention-age = \"24h\"\nretention-size = \"1G\"\nreplicas = 3\nsyslog = true\n")
	o, err := load("--listen", "127.0.0.1:2")
	if err != nil {
		t.Fatal(err)
	}
	if o.store != "streams" || o.web.Listen != "127.0.0.1:2" || strings.Join(o.web.Hosts, " ") != "a b" || o.age.Hours() != 24 || o.size != 1<<30 || o.replicas != 3 || !o.told.Syslog {
		t.Errorf("got %+v", o)
	}
	for text, want := range map[string]string{
		"stores = \"x\"":         `"stores" is no flag`,
		"config = \"x\"":         `"config" is no flag`,
		"store = [\"x\", \"y\"]": "store: one value",
		"replicas = \"many\"":    "replicas: ",
		"store = ":               "line 1",
		"a = \"" + strings.Repeat("x", cli.LongestConfig) + "\"": "too long",
	} {
		put(text)
		if _, err := load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: %v, want %s", text, err, want)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
}

// TestDefaultConfig: the file that packages install has flags and values that exist, those in comments as well.
func TestDefaultConfig(t *testing.T) {
	text, err := os.ReadFile("../../contrib/hub.toml")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.ReplaceAll(string(text), "\n#", "\n")
	var lines []string
	for line := range strings.Lines(all) {
		if word, _, isSet := strings.Cut(line, " = "); isSet && !strings.Contains(word, " ") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 15 {
		t.Errorf("%d flags were found", len(lines))
	}
	name := filepath.Join(t.TempDir(), "hub.toml")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	o, cmd := &hubOptions{}, &cobra.Command{}
	o.register(cmd)
	if err := loadConfig(cmd.Flags(), name); err != nil {
		t.Fatal(err)
	}
}
