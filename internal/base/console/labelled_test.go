package console

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/internal/test/consoletest"
)

// labelled returns the lines of a file of testdata, unescaped, with the heading that each stands under.
func labelled(t *testing.T, name string) (lines, headings []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	heading := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if h, ok := strings.CutPrefix(line, "# "); ok {
			heading = h
			continue
		}
		plain, err := strconv.Unquote(`"` + strings.NewReplacer(`\"`, `\"`, `"`, `\"`).Replace(line) + `"`)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines, headings = append(lines, plain), append(headings, heading)
	}
	return lines, headings
}

// TestLabelledSecrets: no secret of the list is shown, in what a client sends and in what a server prints.
func TestLabelledSecrets(t *testing.T) {
	lines, headings := labelled(t, "secrets.txt")
	for i, line := range lines {
		for _, isOutput := range []bool{false, true} {
			if shown := hideWith(Finder{IsOutput: isOutput}, line); strings.Contains(shown, consoletest.Mark) {
				t.Errorf("%s, output %v: %q shows %q", headings[i], isOutput, line, shown)
			}
		}
	}
	if n := len(slices.Compact(headings)); n < 12 {
		t.Errorf("%d kinds", n)
	}
}

// TestLabelledProse: of 100 lines that servers print about passwords, logins and rcon, one may lose a word.
func TestLabelledProse(t *testing.T) {
	lines, _ := labelled(t, "prose.txt")
	var lost []string
	for _, line := range lines {
		if shown := hideWith(Finder{IsOutput: true}, line); shown != line {
			lost = append(lost, shown)
		}
	}
	if len(lines) < 200 || len(lost) > len(lines)/100 {
		t.Errorf("%d of %d lines lost a word:\n%s", len(lost), len(lines), strings.Join(lost, "\n"))
	}
}

// TestLookAlikes: each letter of each alphabet has one that it is read as.
func TestLookAlikes(t *testing.T) {
	for _, p := range alphabets {
		if letters := []rune(p[0]); len(letters) != len(p[1]) {
			t.Fatalf("%s: %d letters, read as %d", p[0], len(letters), len(p[1]))
		}
	}
	for in, want := range map[string]string{"раssword": "password", "contraseña": "contrasena", "ｐａｓｓ": "pass", "žółw": "zolw", "pass\u200bword": "password"} {
		var buf [maxFolded]byte
		if got, _ := foldWord(&buf, []byte(in)); string(got) != want {
			t.Errorf("%q is read as %q, want %q", in, got, want)
		}
	}
}
