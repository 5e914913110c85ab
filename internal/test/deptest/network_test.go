package deptest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// networkUsers are the packages that connect or listen, and what for: SECURITY.md says it to users. Sockets that
// capture are not among them, for nothing is sent through these.
var networkUsers = map[string]string{
	"internal/monitor/serve":    "page and metrics of monitor",
	"internal/fleet/messenger":  "webhooks, syslog, journal",
	"internal/fleet/outbox":     "messages to the hub",
	"internal/fleet/hub/broker": "the hub's broker",
	"internal/app/replay":       "replay",
	"capture/live":              "--tzsp",
	"internal/base/systemd":     "readiness, and a socket that systemd opened",
}

// usesNetwork matches what opens a connection or listens.
var usesNetwork = regexp.MustCompile(`\bnet\.(Dial|Listen|Dialer|ListenConfig|Lookup|Resolver|DefaultResolver)(UDP|TCP|Unix|IP|Addr|Host|Timeout)?\b[^)]|\bhttp\.(Get|Post|Client|ListenAndServe|DefaultClient)\b|\bnats\.Connect\b|\bsyslog\.`)

// packagesWith returns the packages of the product with a file that matches, and what matched.
func packagesWith(t *testing.T, what *regexp.Regexp) map[string]string {
	t.Helper()
	const root = "../../.."
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() {
			if rel == "internal/test" || rel == "internal/tools" || rel == "findings" || rel != root && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m := what.Find(text); m != nil {
			found[filepath.ToSlash(filepath.Dir(rel))] = rel + ": " + string(m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestNetworkUse: no other package connects or listens, and SECURITY.md names the flags that ask for it.
func TestNetworkUse(t *testing.T) {
	found := packagesWith(t, usesNetwork)
	for dir, where := range found {
		if networkUsers[dir] == "" {
			t.Errorf("%s connects or listens: say so in SECURITY.md and here (%s)", dir, where)
		}
	}
	for dir, why := range networkUsers {
		if found[dir] == "" {
			t.Errorf("%s no longer connects or listens (%s)", dir, why)
		}
	}
	security, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"`--webhooks`", "`--syslog`", "`--journal`", "`--fleet`", "`--tzsp`", "`monitor`", "`replay`", "`qsniff-hub`", "systemd"} {
		if !strings.Contains(string(security), word) {
			t.Errorf("SECURITY.md does not name %s, which connects or listens", word)
		}
	}
}

// starters are the packages that start programs, and which.
var starters = map[string]string{
	"internal/app/cli":            "the program itself, with other arguments",
	"internal/fleet/messenger":    "what --on-incident-exec names",
	"internal/flood/rules/loaded": "nft, to list the rules that are loaded",
}

// TestStarters: no other package starts a program, so that rules are printed and never loaded.
func TestStarters(t *testing.T) {
	starts := regexp.MustCompile(`\bexec\.Command(Context)?\(|\bos\.StartProcess\(|\b(syscall|unix)\.(Exec|ForkExec)\(`)
	found := packagesWith(t, starts)
	for dir, where := range found {
		if starters[dir] == "" {
			t.Errorf("%s starts a program (%s)", dir, where)
		}
	}
	for dir, what := range starters {
		if found[dir] == "" {
			t.Errorf("%s no longer starts a program (%s)", dir, what)
		}
	}
}

// TestOneFigure: how long make test takes is said in one place, the Makefile; sizes of what make page makes, nowhere.
func TestOneFigure(t *testing.T) {
	texts, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(texts) == 0 {
		t.Fatalf("no docs (error: %v)", err)
	}
	texts = append(slices.Clip(texts), "../../../README.md", "../../../CONTRIBUTING.md")
	duration := regexp.MustCompile("(?m)make test[^-\\w][^\n;|]{0,40}(minute|second)")
	size := regexp.MustCompile(`[0-9.]+ MiB (to download|unpacked)`)
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := append(duration.FindAll(text, -1), size.FindAll(text, -1)...); m != nil {
			t.Errorf("%s: %q", name, m)
		}
	}
}
