package contrib

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
)

// TestLoadRules: contrib/load-rules loads the rules of an incident as qsniff passes it to a program, if it is an
// attack, sure, and not over; and nothing else.
func TestLoadRules(t *testing.T) {
	tool(t, "jq", "jq")
	ns := netns.New(t)
	ns.Run(t, "", "nft", "list", "ruleset") // or the test is skipped
	script, err := filepath.Abs(root + "/contrib/load-rules")
	if err != nil {
		t.Fatal(err)
	}
	line, err := exec.Command(binary.Path(t), "floods", "-o", "json", flood).Output()
	if err != nil {
		t.Fatal(err)
	}
	incident, _, _ := strings.Cut(string(line), "\n")
	if !strings.Contains(incident, `"level":"alert"`) || !strings.Contains(incident, `"confidence":0.98`) {
		t.Fatalf("not the attack that the test is about: %.300s", incident)
	}
	load := func(event, level, line string) {
		t.Helper()
		ns.Run(t, line, "env", "QSNIFF_RECORD=incident", "QSNIFF_EVENT="+event, "QSNIFF_LEVEL="+level, script)
	}
	for _, x := range []struct {
		name, event, level, line string
		loads                    bool
	}{
		{"a warning", "open", "warn", incident, false},
		{"its end", "close", "alert", incident, false},
		{"one that is not sure", "open", "alert", strings.Replace(incident, `"confidence":0.98`, `"confidence":0.85`, 1), false},
		{"one without rules", "open", "alert", `{"confidence":0.99}`, false},
		{"an attack", "open", "alert", incident, true},
		{"a change of it", "update", "alert", incident, true},
	} {
		load(x.event, x.level, x.line)
		rules := ns.Run(t, "", "nft", "list", "ruleset")
		if loads := strings.Contains(rules, "table inet qsniff"); loads != x.loads || loads && !strings.Contains(rules, "198.18.7.1 expires") {
			t.Errorf("%s: the rules are\n%s", x.name, rules)
		}
	}
	ns.Run(t, "", "nft", "delete", "table", "inet", "qsniff") // as the script says
	if rules := ns.Run(t, "", "nft", "list", "ruleset"); rules != "" {
		t.Errorf("after the undo:\n%s", rules)
	}
}

// TestLoadRulesUnit: systemd takes the drop-in that gives the service the right to load rules.
func TestLoadRulesUnit(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	program := filepath.Join(dir, "qsniff")
	text := strings.ReplaceAll(read(t, "systemd/qsniff-monitor.service"), "/usr/local/bin/qsniff", program)
	dropIn := filepath.Join(dir, "qsniff-monitor.service.d", "load-rules.conf")
	if err := os.Mkdir(filepath.Dir(dropIn), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{filepath.Join(dir, "qsniff-monitor.service"): strings.ReplaceAll(text, "Documentation=", "#"),
		dropIn: read(t, "systemd/load-rules.conf")} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out := run(t, analyze, "verify", filepath.Join(dir, "qsniff-monitor.service")); strings.Contains(out, "load-rules.conf") {
		t.Errorf("systemd-analyze verify:\n%s", out)
	}
}
