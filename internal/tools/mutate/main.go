// Command mutate measures whether tests notice changes. It makes small changes of sources
// (mutants: an operator, a constant, a condition, a statement less, a return at the start), one
// at a time and chosen by a seed, and runs the tests of the changed package, then those of
// packages that import it. A mutant that no test fails for is printed. Sources stay as they are:
// go build and go test get the changed file through -overlay. The package is not part of the
// program; make mutate runs it.
//
// Limits (files limits.go, and constants marked with "limit:") stay as they are, since a test compares each
// with docs/limits.md.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// groups are what is mutated, each with as many mutants as the others.
var groups = []string{"reassembly", "dissect", "internal/track", "internal/flood", "internal/pipeline"}

// equivalent lists mutants that change nothing a test could see, a line each: key and reason.
//
//go:embed equivalent.tsv
var equivalent string

func main() {
	n := flag.Int("n", 12, "mutants of each group")
	seed := flag.Uint64("seed", 1, "chooses the mutants")
	under := flag.String("under", "", "only mutants whose path, or path:line:, begins so")
	list := flag.Bool("list", false, "print the mutants, run nothing")
	quick := flag.Bool("quick", false, "only the tests of the package, of those of its folder that import it, the output of captures and the manual, which takes a tenth of the time")
	flag.Parse()
	survived, err := run(*n, *seed, *under, *list, *quick)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survived {
		os.Exit(1)
	}
}

// run tries n mutants of each group and reports whether more than one of twenty survived.
func run(n int, seed uint64, under string, list, quick bool) (failed bool, err error) {
	known := equivalents()
	r, err := newRunner()
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(r.dir)
	r.quick = quick
	var killed, total int
	var survivors []string
	for _, group := range groups {
		all, err := mutantsOf(group, under)
		if err != nil {
			return false, err
		}
		rnd := rand.New(rand.NewPCG(seed, 0))
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		tried := 0
		for _, m := range all {
			if tried == n {
				break
			}
			if reason := known[m.key()]; reason != "" {
				fmt.Printf("equivalent %s (%s)\n", &m, reason)
				continue
			}
			if list {
				fmt.Println(&m)
				tried++
				continue
			}
			start := time.Now()
			by, compiles, err := r.try(&m)
			if err != nil {
				return false, err
			}
			if !compiles {
				continue
			}
			tried++
			total++
			if by != "" {
				killed++
				fmt.Printf("killed     %s by %s (%.0fs)\n", &m, by, time.Since(start).Seconds())
				continue
			}
			survivors = append(survivors, m.String())
			fmt.Printf("SURVIVED   %s (%.0fs)\n", &m, time.Since(start).Seconds())
		}
	}
	if list {
		return false, nil
	}
	fmt.Printf("mutate: seed %d: %d of %d mutants killed\n", seed, killed, total)
	for _, s := range survivors {
		fmt.Println("survived:", s)
	}
	return killed*20 < total*19, nil
}

// equivalents returns the reasons for which mutants are equivalent, by their keys.
func equivalents() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(equivalent) {
		if i := strings.LastIndexByte(line, '\t'); i > 0 && line[0] != '#' {
			all[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return all
}

// mutantsOf returns the mutants of all sources of a folder that the program is built of.
func mutantsOf(group, under string) (all []mutant, err error) {
	err = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path == "dissect/example"):
			return fs.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"), d.Name() == "limits.go":
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := findMutants(path, src)
		for _, m := range found {
			if strings.HasPrefix(m.String(), under) {
				all = append(all, m)
			}
		}
		return err
	})
	return all, err
}

// A runner runs tests with one file replaced.
type runner struct {
	dir       string
	module    string
	quick     bool
	importers map[string][]string // of each package, those with tests that it is built into
}

func newRunner() (*runner, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	r := &runner{dir: dir, module: strings.TrimSpace(string(module)), importers: map[string][]string{}}
	out, err := exec.Command("go", "list", "-test", "-f", `{{.ForTest}} {{join .Deps " "}}`, "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		forTest, deps, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if forTest == "" {
			continue
		}
		for _, d := range strings.Fields(deps) {
			if d != forTest && strings.HasPrefix(d, r.module+"/") && !slices.Contains(r.importers[d], forTest) {
				r.importers[d] = append(r.importers[d], forTest)
			}
		}
	}
	return r, nil
}

// try reports whether the mutant compiles, and which test noticed it, if one did.
func (r *runner) try(m *mutant) (by string, compiles bool, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", false, err
	}
	changed, overlay := filepath.Join(r.dir, "changed.go"), filepath.Join(r.dir, "overlay.json")
	file, err := filepath.Abs(m.file)
	if err != nil {
		return "", false, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", false, err
	}
	if err := errors.Join(
		os.WriteFile(changed, slices.Concat(src[:m.from], []byte(m.new), src[m.to:]), 0o600),
		os.WriteFile(overlay, text, 0o600),
	); err != nil {
		return "", false, err
	}
	env := append(os.Environ(), "GOFLAGS=-pgo=off -overlay="+overlay) // tests that build the program get it, too
	dir := filepath.Dir(m.file)
	build := exec.Command("go", "build", "./"+dir)
	build.Env = env
	if build.Run() != nil {
		return "", false, nil
	}
	if by := r.test(env, packageTime, "./"+dir); by != "" {
		return by, true, nil
	}
	importers := slices.DeleteFunc(slices.Clone(r.importers[r.module+"/"+dir]), func(p string) bool {
		return strings.Contains(p, "/internal/test/") || strings.Contains(p, "/internal/tools/")
	})
	// The output of every capture and the manual notice most of what the tests of a package do not.
	if by := r.test(env, packageTime, "./cmd/qsniff", "-run", "TestGolden|TestDocs"); by != "" {
		return by, true, nil
	}
	if r.quick {
		importers = slices.DeleteFunc(importers, func(p string) bool { return !strings.HasPrefix(p, r.module+"/"+m.group()) })
	}
	if len(importers) == 0 {
		return "", true, nil
	}
	// The command has the slowest tests, so they come last.
	slices.SortStableFunc(importers, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "/cmd/"), strings.Count(b, "/cmd/"))
	})
	return r.test(env, importersTime, importers...), true, nil
}

// failure matches the line of a test or a package that failed.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^FAIL\s+(\S+)|^panic: (.*)`)

// packageTime and importersTime are how many seconds of a processor the tests of a package may take, or those of
// one that imports it: a mutant may loop for ever, and other work on the machine is no reason to call it killed.
// Chosen: the longest tests of a changed package take 15 s, and those of the command two minutes.
const (
	packageTime   = 60
	importersTime = 600
)

// test runs go test and returns what failed; it ends at the first package that does. Time and memory
// of each package's tests are limited, as a mutant may allocate for ever, too.
func (r *runner) test(env []string, seconds int, args ...string) string {
	cmd := exec.Command("go", append([]string{"test", "-short", "-failfast", "-vet=off", "-ldflags=-w", "-p=1", "-timeout=30m",
		fmt.Sprintf(`-exec=sh -c 'ulimit -v 16000000; ulimit -t %d; exec "$0" "$@"'`, seconds)}, args...)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if f := failure.FindSubmatch(out); f != nil {
		return string(bytes.TrimSpace(slices.Concat(f[1], f[2], f[3])))
	}
	return "an unknown failure: " + brief(string(out))
}
