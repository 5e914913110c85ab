package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestByteSize: sizes with units, and their limits.
func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{"1": 1, "64K": 64 << 10, "64k": 64 << 10, "3KB": 3 << 10, "3KiB": 3 << 10, "8G": 8 << 30, "1024T": 1 << 50, "1125899906842624": 1 << 50} {
		var n ByteSize
		if err := n.Set(text); err != nil || n != want {
			t.Errorf("%s: got %d, %v\nwant %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "K", "B", "0", "0M", "-1", "1.5M", "1MK", "1KM", "1P", "1025T", "9223372036854775807T"} {
		n := ByteSize(7)
		if err := n.Set(text); err == nil || n != 7 {
			t.Errorf("%q was taken, as %d", text, n)
		}
	}
	for n, want := range map[ByteSize]string{0: "", 1: "1", 1536: "1536", 5 << 19: "2560K", 16 << 20: "16M", 8 << 30: "8G", 1 << 50: "1024T"} {
		if got := n.String(); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// FuzzByteSize: what is taken is within the limits, and printed as what it is.
func FuzzByteSize(f *testing.F) {
	for _, text := range []string{"64M", "8GiB", "1024T", "K", "-1k", "٣M"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n, again ByteSize
		if n.Set(text) != nil {
			return
		}
		if n <= 0 || n > 1<<50 {
			t.Fatalf("%q: %d", text, n)
		}
		if err := again.Set(n.String()); err != nil || again != n {
			t.Errorf("%q is %d, and %s is %d, %v", text, n, n.String(), again, err)
		}
	})
}

// TestSetFlag: a file has lists for flags that may be given several times, and for those that take several values with commas.
func TestSetFlag(t *testing.T) {
	name := filepath.Join(t.TempDir(), "flags.toml")
	if err := os.WriteFile(name, []byte("hosts = ['a,b', 'c']\nhost = 'd'\nservers = ['x', 'y']\nsize = '1K'\nnumber = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values, keys, err := (&Config{Name: name}).read()
	if err != nil || strings.Join(keys, " ") != "hosts host servers size number" {
		t.Fatalf("%v, %v", keys, err)
	}
	var hosts, host []string
	var servers listValue
	var size ByteSize
	var number int
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.StringArrayVar(&hosts, "hosts", nil, "")
	f.StringArrayVar(&host, "host", nil, "")
	f.Var(&servers, "servers", "")
	f.Var(&size, "size", "")
	f.IntVar(&number, "number", 0, "")
	for _, word := range keys {
		if err := SetFlag(f.Lookup(word), values[word]); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	if strings.Join(hosts, " ") != "a,b c" || strings.Join(host, " ") != "d" || servers != "x,y" || size != 1024 || number != 3 {
		t.Errorf("got %q %q %q %d %d", hosts, host, servers, size, number)
	}
	for word, value := range map[string]any{"number": "many", "size": []any{"1K", "2K"}} {
		if err := SetFlag(f.Lookup(word), value); err == nil {
			t.Errorf("%s took %v", word, value)
		}
	}
}

// listValue is the value of a flag that takes words with commas.
type listValue string

func (v *listValue) String() string     { return string(*v) }
func (v *listValue) Type() string       { return "NAME,..." }
func (v *listValue) Set(s string) error { *v = listValue(s); return nil }

// TestVersion: every way to build the program leaves a version that is true: tags, commits, and
// archives whose version the packager gives.
func TestVersion(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for _, x := range []struct{ module, revision, packaged, want, wantTime string }{
		{module: "v0.1.0", revision: hash, want: "v0.1.0"},
		{module: "v0.1.0", want: "v0.1.0"}, // go install MODULE/cmd/qsniff@v0.1.0
		{module: "v0.2.0-rc.1", revision: hash, want: "v0.2.0-rc.1"},
		{module: "v0.1.0+dirty", revision: hash, want: "v0.1.0, changed since"},
		{module: "v0.0.0-20261123093809-b9c838b0a1b2", revision: hash, want: "0123456789ab", wantTime: "2026-11-23T09:38:09Z"},
		{module: "v0.0.0-20261123093809-b9c838b0a1b2", want: "b9c838b0a1b2", wantTime: "2026-11-23T09:38:09Z"}, // @b9c838b
		{module: "v0.1.1-0.20261123093809-b9c838b0a1b2", want: "b9c838b0a1b2", wantTime: "2026-11-23T09:38:09Z"},
		{module: "v0.2.0-rc.1.0.20261123093809-b9c838b0a1b2+dirty", want: "b9c838b0a1b2, changed since", wantTime: "2026-11-23T09:38:09Z"},
		{module: "(devel)", revision: hash, want: "0123456789ab"},
		{module: "(devel)", want: "of an unknown revision"},
		{module: "(devel)", packaged: "v0.1.0", want: "v0.1.0"},
	} {
		var b Build
		b.setVersion(x.module, x.packaged)
		if x.revision != "" {
			b.Revision = x.revision
		}
		if got := b.Short(); got != x.want || b.Time != x.wantTime {
			t.Errorf("%+v: %q of %q", x, got, b.Time)
		}
	}
}

// TestQuote: a shell takes the line apart into the same words, and the line is printable.
func TestQuote(t *testing.T) {
	words := []string{"capture.pcap", "my capture.pcap", "it's.pcap", "", "$(reboot)", "`id`", "a;b", "-", "*", "~", "#x", "ä b",
		"new\nline", "esc\x1b]0;x\a", "bad\xff'\\"}
	line := Quote(words...)
	for _, r := range line {
		if r < ' ' || r == 0x7f {
			t.Fatalf("%U in %q", r, line)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	out, err := exec.Command(bash, "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("of %s\ngot  %q\nwant %q", line, got, words)
	}
}

// TestPlain: what needs no quotes has none.
func TestPlain(t *testing.T) {
	if got := Quote("-r", "captures/eth0-1.pcap.gz"); got != "-r captures/eth0-1.pcap.gz" {
		t.Errorf("got %s", got)
	}
}

func TestReflow(t *testing.T) {
	const in = "one two three\nfour five\n\n  as it\n  stands here\n\nüüü é averyverylongword x\n"
	const want = "one two\nthree four\nfive\n\n  as it\n  stands here\n\nüüü é\naveryverylongword\nx"
	if got := Reflow(in, 10); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
