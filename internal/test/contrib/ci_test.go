package contrib

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/npm"
)

// captures is the folder of captures, and one of each kind for a check: without findings, and with an error.
var (
	captures, _ = filepath.Abs(root + "/pcapfiles")
	sound       = captures + "/a2s/full-poll.pcap"
	broken      = captures + "/hostile/bzip2-bomb-honest.pcap"
)

// TestSARIF: the log of all captures is as the schema of the standard says.
func TestSARIF(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all captures")
	}
	dir := npm.Modules(t, "@microsoft/jest-sarif")
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(captures + "/*/*.pcap")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary.Path(t), append([]string{"findings", "-o", "sarif"}, all...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	log := string(out)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(log, `"level": "warning"`, `"level": "warn"`, 1)
	if v, _ := jsonschema.UnmarshalJSON(strings.NewReader(wrong)); wrong == log || schema.Validate(v) == nil {
		t.Error("a level that the standard has not is taken")
	}
}

// action is contrib/action/action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			ID, If, Shell, Run, Uses string
			Env                      map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{ *inputs\.([a-z-]+) *\}\}`)

// runAction runs the steps of the action that are programs of the shell, as GitHub's runner does, and returns what they
// print, whether all succeed, and the files of the runner.
func runAction(t *testing.T, inputs map[string]string) (printed string, ok bool, file func(name string) string) {
	t.Helper()
	var a action
	if err := yaml.Unmarshal([]byte(read(t, "action/action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	actionPath, err := filepath.Abs(folder + "/action")
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "GITHUB_ACTION_PATH="+actionPath, "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary")
	value := func(name string) string {
		if v, ok := inputs[name]; ok {
			return v
		}
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
		return a.Inputs[name].Default
	}
	for _, s := range a.Runs.Steps {
		if s.If != "" && s.If != "inputs.program == ''" {
			t.Fatalf("a condition that this test does not know: %s", s.If)
		}
		if s.Run == "" || s.If != "" && value("program") != "" {
			continue
		}
		if s.Shell != "bash" {
			t.Fatalf("shell %q", s.Shell)
		}
		script := filepath.Join(dir, "step.sh")
		if err := os.WriteFile(script, []byte(s.Run), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		c.Dir, c.Env = dir, environment
		for name, v := range s.Env {
			c.Env = append(c.Env, name+"="+expression.ReplaceAllStringFunc(v, func(x string) string { return value(expression.FindStringSubmatch(x)[1]) }))
		}
		out, err := c.CombinedOutput()
		printed += string(out)
		if err != nil {
			return printed, false, func(name string) string { return readIfThere(dir, name) }
		}
	}
	return printed, true, func(name string) string { return readIfThere(dir, name) }
}

func readIfThere(dir, name string) string {
	text, _ := os.ReadFile(filepath.Join(dir, name)) // the check of its text fails
	return string(text)
}

// TestAction: the action passes a sound capture and fails with an annotation on a broken one, and says where its log is.
func TestAction(t *testing.T) {
	program := binary.Path(t)
	for _, tc := range []struct {
		name, captures string
		inputs         map[string]string
		ok             bool
		annotation     string
	}{
		{"sound", sound, nil, true, ""},
		{"broken", sound + "\n\n" + broken + "\n", nil, false, "::error file=" + broken + ",line=4,title=SPL-08%2C fault%3A server::frame 4: "},
		{"broken, only listed", broken, map[string]string{"fail-on": ""}, true, "::error file="},
		{"broken, of others", broken, map[string]string{"servers": "203.0.113.0/24"}, true, ""},
		{"folder", captures + "/hostile", map[string]string{"fail-on": ""}, true, "::error file=" + broken + ","},
		{"no capture", captures + "/nothing.pcap", nil, false, "no such file"},
		{"no captures in a folder", t.TempDir(), nil, false, "::error title=qsniff::no captures in: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inputs := map[string]string{"captures": tc.captures, "program": program}
			for name, v := range tc.inputs {
				inputs[name] = v
			}
			out, ok, file := runAction(t, inputs)
			if ok != tc.ok || !strings.Contains(out, tc.annotation) || tc.annotation == "" && strings.Contains(out, "::error") {
				t.Errorf("succeeds %v, prints %s", ok, out)
			}
			_, log, _ := strings.Cut(strings.TrimSpace(file("output")), "sarif=")
			if strings.HasPrefix(tc.name, "no capture") {
				return
			}
			var x struct{ Runs []struct{ Results []any } }
			if err := json.Unmarshal([]byte(readIfThere("", log)), &x); err != nil || len(x.Runs) != 1 || (len(x.Runs[0].Results) > 0) != (tc.annotation != "") {
				t.Errorf("%s: %v, %d runs", log, err, len(x.Runs))
			}
			if !strings.Contains(file("summary"), "### qsniff findings\n```text\n") {
				t.Errorf("the summary is %q", file("summary"))
			}
		})
	}
}

// TestActionBuilds: without a program the action builds one.
func TestActionBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	if out, ok, _ := runAction(t, map[string]string{"captures": sound}); !ok {
		t.Error(out)
	}
}

// TestActionIsValid: a validator of GitHub's files takes the action.
func TestActionIsValid(t *testing.T) {
	node := tool(t, "node", "nodejs")
	dir := npm.Modules(t, "@action-validator/cli")
	npm.Modules(t, "@action-validator/core")
	cli := filepath.Join(dir, "@action-validator/cli/cli.mjs")
	run(t, node, cli, folder+"/action/action.yml")
	for _, name := range workflows(t) {
		run(t, node, cli, name)
	}
}

// TestWorkflows: what workflows make is in the Makefile, and what they give the action it takes.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal([]byte(read(t, "action/action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	made, given := 0, 0
	for _, name := range workflows(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Jobs map[string]struct {
				Steps []struct {
					Run, Uses string
					With      map[string]string
				}
			}
		}
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatal(err)
		}
		for _, job := range w.Jobs {
			for _, s := range job.Steps {
				if words := strings.Fields(s.Run); len(words) > 1 && words[0] == "make" {
					made++
					if !regexp.MustCompile(`(?m)^` + words[1] + `:`).Match(makefile) {
						t.Errorf("%s: %s: no such target", name, s.Run)
					}
				}
				if !strings.Contains(s.Uses, "/contrib/action@") {
					continue
				}
				for input := range s.With {
					given++
					if _, ok := a.Inputs[input]; !ok {
						t.Errorf("%s: the action has no input %s", name, input)
					}
				}
			}
		}
	}
	if made < 3 || given < 3 {
		t.Errorf("%d targets and %d inputs", made, given)
	}
}

// workflows lists the workflows of GitHub Actions in contrib.
func workflows(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(folder + "/github/*.yml")
	if err != nil || len(all) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	return all
}
