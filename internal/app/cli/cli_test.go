package cli

import (
	"os"
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
	values, keys, err := ReadConfig(name)
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
