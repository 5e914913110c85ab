package docgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/render/manual"
)

// toy is a tree of commands with one of everything.
func toy() *Input {
	root := &cobra.Command{Use: "toy [flags]", Short: "play", Long: "toy plays.\n\n  .as 'it'\n  stands\n\n.not a request", Run: func(*cobra.Command, []string) {}}
	root.AddGroup(&cobra.Group{ID: "g", Title: "Games"})
	sub := &cobra.Command{Use: "ball FILE|-", GroupID: "g", Short: "throw a ball", Long: "ball throws.", Example: "  toy ball -n 2 a.txt   \\o/\n  .hidden", Run: root.Run}
	sub.Flags().IntP("number", "n", 1, "throw `N` times: a|b")
	sub.Flags().Bool("high", false, "throw it *high*")
	root.AddCommand(sub)
	return &Input{Root: root, Flags: func(cmd *cobra.Command) []FlagGroup {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.AddFlagSet(cmd.LocalFlags())
		if !set.HasFlags() {
			return nil
		}
		return []FlagGroup{{"Play flags", set}}
	}}
}

func TestMan(t *testing.T) {
	in := toy()
	const root = `.\" Written by make docs from the program itself.
.TH TOY 1 "" qsniff "qsniff manual"
.SH NAME
toy \- play
.SH SYNOPSIS
.B toy [flags]
.br
.B toy COMMAND [flags] ...
.SH DESCRIPTION
toy plays.
.PP
.nf
  .as \(aqit\(aq
  stands
.fi
.PP
\&.not a request
.SH GAMES
.TP
.B ball
throw a ball
.SH SEE ALSO
\fBtoy\-ball\fR(1)
`
	const ball = `.\" Written by make docs from the program itself.
.TH TOY-BALL 1 "" qsniff "qsniff manual"
.SH NAME
toy\-ball \- throw a ball
.SH SYNOPSIS
.B toy ball FILE|\- [flags]
.SH DESCRIPTION
ball throws.
.SH PLAY FLAGS
.TP
\fB\-\-high\fR
throw it *high*
.TP
\fB\-n\fR, \fB\-\-number\fR \fIN\fR
throw N times: a|b (default 1)
.SH EXAMPLES
.nf
toy ball \-n 2 a.txt   \eo/
\&.hidden
.fi
.SH SEE ALSO
\fBtoy\fR(1)
`
	if diff := cmp.Diff(root, string(manPage(in, in.Root))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if diff := cmp.Diff(ball, string(manPage(in, in.Root.Commands()[0]))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestManIsFormatted holds the pages against the program that formats them.
func TestManIsFormatted(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	in := toy()
	for _, cmd := range documented(in.Root) {
		c := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
		c.Stdin = strings.NewReader(string(manPage(in, cmd)))
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", cmd.Name(), err, out)
		}
	}
}

func TestCommands(t *testing.T) {
	page := string(commandsPage(toy()))
	for _, want := range []string{
		"- [toy ball](#toy-ball): throw a ball\n",
		"\n## toy ball\n\n    toy ball FILE|- [flags]\n\nball throws.\n",
		"| `-n, --number N` | throw N times: a\\|b (default 1) |\n",
		"| `--high` | throw it \\*high\\* |\n",
		"\nExamples:\n\n    toy ball -n 2 a.txt   \\o/\n    .hidden\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, tc := range []struct {
		in   []uint16
		want string
	}{
		{[]uint16{5}, "5"},
		{[]uint16{3, 1, 2, 9}, "1 to 3, 9"},
		{[]uint16{65535, 65534}, "65534 to 65535"},
	} {
		if got := formatRanges(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name, file, src string
		want            []manual.Limit
		err             string
	}{
		{"reasons", "limits.go", "// A is\n// so.\nconst A = 12_288\n\nconst (\n\t// B: C follows.\n\tB = 2 << 20\n\tC = B / 1024\n\n\tD = 3 // D has its own.\n)",
			[]manual.Limit{{Name: "A", Value: "12,288", Number: "12288", Why: "A is so."}, {Name: "B", Value: "2 MiB", Number: "2097152", Why: "B: C follows."},
				{Name: "C", Value: "2,048", Number: "2048", Why: "see B"}, {Name: "D", Value: "3", Number: "3", Why: "D has its own."}}, ""},
		{"times", "limits.go", "import \"time\"\n\n// W waits.\nconst W = 5 * time.Second", []manual.Limit{{Name: "W", Value: "5s", Number: "5000000000", Why: "W waits."}}, ""},
		{"functions are passed over", "limits.go", "// A is.\nconst A = 1\n\nfunc F() int { return undefined }", []manual.Limit{{Name: "A", Value: "1", Number: "1", Why: "A is."}}, ""},
		{"no reason", "limits.go", "const A = 1", nil, "a limit without a reason"},
		{"no value", "limits.go", "// A is.\nconst A = undefined", nil, "the value of A is not known"},
		{"marks", "p.go", "const free = 1\n\n// limit: A is\n// so.\nconst A = 2\n\nconst (\n\tfree2 = 3\n\t// limit: B is.\n\tB = 4\n\t// no limit.\n\tfree3 = 5\n)\n\n// limit:\nconst (\n\t// C is.\n\tC = 6\n\tD = 7\n)",
			[]manual.Limit{{Name: "A", Value: "2", Number: "2", Why: "A is so."}, {Name: "B", Value: "4", Number: "4", Why: "B is."},
				{Name: "C", Value: "6", Number: "6", Why: "C is."}, {Name: "D", Value: "7", Number: "7", Why: "see C"}}, ""},
		{"marked without a reason", "p.go", "// limit:\nconst A = 1", nil, "a limit without a reason"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "p")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte("package p\n\n"+tc.src+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			for i := range tc.want {
				tc.want[i].Package = "p"
			}
			got, err := Limits(filepath.Dir(dir))
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("got  %v\nwant %s", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}
