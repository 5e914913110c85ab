package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qsniff/internal/test/examples"
)

// output is what an example came to: what it printed and each file that it wrote; or why it is not run, and which
// program is missing for that.
type output struct {
	parts   []part
	exempt  string
	missing string
}

type part struct{ title, text string }

// runner runs examples, each in a copy of a folder with the files that they name.
type runner struct {
	bin, folder string
	files       map[string]string // in the folder
	flood       []byte            // capture.pcap of qsniff floods: in that of the others there is none
}

const floodCapture = "floods/spoofed.pcap"

// mostTime is after what time an example counts as one that does not end. Chosen: the slowest takes a second.
const mostTime = 5 * time.Minute

var errEndless = errors.New("it does not end: the rule of exemptions lacks it")

// newRunner returns a runner that has its folders below dir.
func newRunner(program, pcapfiles, dir string) (*runner, error) {
	r := &runner{bin: filepath.Join(dir, "bin"), folder: filepath.Join(dir, "files")}
	if err := os.Mkdir(r.bin, 0o755); err != nil {
		return nil, err
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("%w (make build builds it)", err)
	}
	if err := os.Symlink(program, filepath.Join(r.bin, "qsniff")); err != nil {
		return nil, err
	}
	if err := examples.Write(r.folder, pcapfiles); err != nil {
		return nil, err
	}
	if r.files, err = readAll(r.folder); err != nil {
		return nil, err
	}
	r.flood, err = os.ReadFile(filepath.Join(pcapfiles, filepath.FromSlash(floodCapture)))
	return r, err
}

// run runs the line of an example with sh. What it prints is what a terminal shows: both streams, as they come.
func (r *runner) run(line string) (output, error) {
	if why := r.exemption(line); why != "" {
		return output{exempt: why}, nil
	}
	if name := missingProgram(line); name != "" {
		return output{exempt: "runs " + name, missing: name}, nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(r.bin), "example")
	if err != nil {
		return output{}, err
	}
	if err := os.CopyFS(dir, os.DirFS(r.folder)); err != nil {
		return output{}, err
	}
	if isFlood(line) {
		if err := os.WriteFile(filepath.Join(dir, "capture.pcap"), r.flood, 0o644); err != nil {
			return output{}, err
		}
	}
	had, err := readAll(dir)
	if err != nil {
		return output{}, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), mostTime, errEndless)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "COLUMNS=", "TZ=UTC", "NO_COLOR=1", "HOME="+dir)
	printed, err := c.CombinedOutput()
	var status *exec.ExitError
	if errors.As(err, &status) && strings.Contains(line, "--fail-on") {
		printed, err = fmt.Appendf(printed, "(exit status %d)\n", status.ExitCode()), nil
	}
	if err != nil {
		return output{}, fmt.Errorf("%w\n%s", cmp.Or(context.Cause(ctx), err), printed)
	}
	has, err := readAll(dir)
	if err != nil {
		return output{}, err
	}
	return makeOutput(line, string(printed), had, has), nil
}

func isFlood(line string) bool { return strings.HasPrefix(line, "qsniff floods ") }

// makeOutput puts the parts of an output together: what was printed, and files that were written.
func makeOutput(line, printed string, had, has map[string]string) output {
	from := ""
	for _, name := range slices.Sorted(maps.Keys(examples.Captures)) {
		of := examples.Captures[name]
		if isFlood(line) && name == "capture.pcap" {
			of = floodCapture
		}
		if strings.Contains(line, " "+name) {
			from += "; " + name + " is pcapfiles/" + of
		}
	}
	var out output
	if printed != "" {
		out.parts = append(out.parts, part{"Output", strings.ToValidUTF8(printed, "\uFFFD")})
	}
	var named []string
	for _, name := range slices.Sorted(maps.Keys(has)) {
		switch old, there := had[name]; {
		case there && old == has[name]:
		case isShown(name, has[name]):
			out.parts = append(out.parts, part{"Writes " + name, has[name]})
		default:
			named = append(named, name)
		}
	}
	if len(named) > 0 {
		out.parts = append(out.parts, part{title: "Writes " + strings.Join(named, ", ")})
	}
	if len(out.parts) == 0 {
		out.parts = []part{{title: "Prints nothing"}}
	}
	out.parts[0].title += from
	return out
}

// isShown reports whether the text of a file is shown. Of captures, of pages, and of folders of files, which
// are made with other invented names each time, the name is all.
func isShown(name, text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && !strings.HasSuffix(name, ".html") && !strings.Contains(name, "/")
}

// readAll returns all files below dir by their paths.
func readAll(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(b)
		return err
	})
	return files, err
}
