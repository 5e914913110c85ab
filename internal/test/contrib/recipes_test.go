package contrib

import (
	"bytes"
	"encoding/json"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/npm"
)

// flood is a capture with messages, findings and an incident.
var flood = captures + "/floods/spoofed.pcap"

// blocks returns the code of a language on a page of the manual.
func blocks(t *testing.T, page, language string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```\n").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("docs/%s has no %s", page, language)
	}
	return all
}

// shell runs the lines of a script in a folder where qsniff is this program and capture.pcap is a capture.
func shell(t *testing.T, dir, script string) {
	t.Helper()
	program := binary.Path(t)
	c := exec.Command("sh", "-ec", script)
	c.Dir, c.Env = dir, append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func copyCapture(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// duckdb runs statements, and prints the rows of each as a line of JSON.
const duckdb = `
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
const { DuckDBInstance } = createRequire(process.argv[2] + '/')('@duckdb/node-api')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
for (const statement of readFileSync(0, 'utf8').split(';').filter(s => s.trim()))
  console.log(JSON.stringify((await connection.runAndReadAll(statement)).getRowsJson()))
`

// TestDuckDB: the statements of the manual give what the capture has.
func TestDuckDB(t *testing.T) {
	node, modules := tool(t, "node", "nodejs"), npm.Modules(t, "@duckdb/node-api")
	dir := t.TempDir()
	copyCapture(t, flood, dir+"/capture.pcap")
	shell(t, dir, blocks(t, "json.md", "sh")[0])
	if err := os.WriteFile(dir+"/run.mjs", []byte(duckdb), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(node, dir+"/run.mjs", modules)
	c.Dir, c.Stdin = dir, strings.NewReader(blocks(t, "json.md", "sql")[0])
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	rows := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, want := range []string{`["198.18.7.1:27015","2023-11-14 22:14:01","600","0"]`, `["198.18.7.1:27015",20,"de_dust2"]`, `["flood_spoofed","udp/198.18.7.1:27015",600.`, `[["1984"]]`} {
		if i >= len(rows) || !strings.Contains(rows[i], want) {
			t.Errorf("statement %d: want %s in\n%s", i+1, want, out)
		}
	}
	if b, err := os.ReadFile(dir + "/messages.parquet"); err != nil || !bytes.HasPrefix(b, []byte("PAR1")) {
		t.Errorf("no Parquet: %v", err)
	}
}

// TestClickHouse: the statement of the manual gives what the capture has.
func TestClickHouse(t *testing.T) {
	program := tool(t, "clickhouse", "clickhouse, of its own repository")
	dir := t.TempDir()
	copyCapture(t, flood, dir+"/capture.pcap")
	shell(t, dir, blocks(t, "json.md", "sh")[0])
	c := exec.Command(program, "local", "--format", "JSONCompactEachRow", "--query", blocks(t, "json.md", "clickhouse")[0])
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "198.18.7.1:27015") || !strings.Contains(string(out), "600") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestGitLab: the recipe makes a report of code quality, and the check fails for an error.
func TestGitLab(t *testing.T) {
	tool(t, "jq", "jq")
	dir := t.TempDir()
	copyCapture(t, broken, dir+"/testdata/captures/broken.pcap")
	copyCapture(t, sound, dir+"/testdata/captures/sound.pcap")
	recipe, check, ok := strings.Cut(blocks(t, "ci.md", "sh")[0], "\nqsniff findings --fail-on")
	if !ok {
		t.Fatal("no check in the recipe")
	}
	shell(t, dir, recipe)
	shell(t, dir, "status=0; qsniff findings --fail-on"+strings.TrimSuffix(check, "\n")+" || status=$?; test $status = 3")
	var report []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	b, err := os.ReadFile(dir + "/gl-code-quality-report.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &report); err != nil || len(report) != 1 {
		t.Fatalf("%v: %s", err, b)
	}
	if r := report[0]; r.CheckName != "SPL-08" || r.Severity != "major" || r.Location.Path != "testdata/captures/broken.pcap" || r.Location.Lines.Begin != 4 || r.Fingerprint == "" {
		t.Errorf("%+v", r)
	}
}

// TestECS: what ecs.jq makes of messages, findings and incidents has fields of ECS, each of its type, and others below qsniff alone.
func TestECS(t *testing.T) {
	jq, program := tool(t, "jq", "jq"), binary.Path(t)
	types := map[string]string{}
	list, err := os.ReadFile("testdata/ecs-fields.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		name, form, _ := strings.Cut(strings.TrimSpace(line), "\t")
		types[name] = form
	}
	var lines []byte
	commands := [][]string{{"read", "-o", "json", flood}, {"findings", "-o", "json", broken}}
	if !testing.Short() {
		commands = append(commands, [][]string{{"floods", "-o", "json", flood}, {"floods", "-o", "json", captures + "/floods/reflection.pcap"}, {"read", "-o", "json", captures + "/net"}, {"read", "-o", "json", captures + "/rcon"}}...)
	}
	for _, args := range commands {
		out, err := exec.Command(program, args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		lines = append(lines, out...)
	}
	c := exec.Command(jq, "-c", "-f", folder+"/ecs.jq")
	c.Stdin = bytes.NewReader(lines)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(out)) {
		var x map[string]any
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		n++
		delete(x, "qsniff")
		eachLeaf("", x, func(name string, v any) {
			seen[name] = true
			if form, ok := types[name]; !ok {
				t.Errorf("%s is no field of ECS: %.200s", name, line)
				types[name] = "keyword"
			} else if !isOf(form, v) {
				t.Errorf("%s is no %s: %v", name, form, v)
			}
		})
		for _, name := range []string{"@timestamp", "ecs", "event"} {
			if x[name] == nil {
				t.Errorf("no %s: %.200s", name, line)
			}
		}
	}
	if n < 1980 {
		t.Errorf("only %d events", n)
	}
	for name := range types {
		if !seen[name] && name != "observer.ingress.interface.name" { // of captures that name interfaces
			t.Errorf("%s is listed, and no event has it", name)
		}
	}
}

// eachLeaf calls f with the values of an object, by their names; of a list, with each.
func eachLeaf(name string, v any, f func(string, any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			eachLeaf(strings.TrimPrefix(name+"."+key, "."), x, f)
		}
	case []any:
		for _, x := range v {
			eachLeaf(name, x, f)
		}
	default:
		f(name, v)
	}
}

// isOf reports whether an index takes a value as a form: a type of Elasticsearch, or one of several words.
func isOf(form string, v any) bool {
	s, isText := v.(string)
	n, isNumber := v.(float64)
	switch form {
	case "keyword", "match_only_text":
		return isText && s != ""
	case "long":
		return isNumber && n == math.Trunc(n) && n >= 0
	case "float":
		return isNumber
	case "date":
		_, err := time.Parse(time.RFC3339Nano, s)
		return isText && err == nil
	case "ip":
		_, err := netip.ParseAddr(s)
		return isText && err == nil
	}
	return isText && slices.Contains(strings.Fields(form), s)
}
