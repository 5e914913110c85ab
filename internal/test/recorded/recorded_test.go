package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
)

func TestMain(m *testing.M) { os.Exit(binary.Main(m)) }

// recordings is the folder of the recordings.
const recordings = binary.Root + "/pcapfiles/recorded"

// The least that the comparisons have to come to, so that one that compares nothing fails. They are what
// the recordings had; raise them with new ones.
const (
	recorded      = 49
	decodedValues = 6458
	printedValues = 2311
)

// message is a message, as qsniff and decode.py print it.
type message struct {
	Record, Message, Src, Dst string
	Frame                     int
	Exchange                  struct {
		Request int `json:"request_frame"`
	}
	Fields map[string]any
}

// names returns the names of the recordings.
func names(t *testing.T) []string {
	t.Helper()
	table, err := os.ReadFile(recordings + "/recordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(table)) {
		name, _, _ := strings.Cut(line, "\t")
		names = append(names, name)
	}
	return names[1:]
}

// parse parses JSON and keeps numbers as they are written.
func parse(t *testing.T, b []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
}

// decoded returns the messages that qsniff reads in a recording, for the caller to change.
func decoded(t *testing.T, name string) (all []message) {
	t.Helper()
	out, err := exec.Command(binary.Path(t), "read", "--show-secrets", "--memory=16M", "-o", "json",
		filepath.Join(recordings, name+".pcap")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var m message
		if parse(t, line, &m); m.Record == "" {
			all = append(all, m)
		}
	}
	return all
}

// TestFiles: each recording of the table has its files, and none has a file without being there.
func TestFiles(t *testing.T) {
	t.Parallel()
	all := names(t)
	if len(all) != recorded {
		t.Errorf("recordings\ngot  %d\nwant %d", len(all), recorded)
	}
	found, err := filepath.Glob(recordings + "/*.pcap")
	if err != nil || len(found) != len(all) {
		t.Errorf("%d captures of %d recordings, error %v", len(found), len(all), err)
	}
	for _, name := range all {
		for _, form := range []string{".pcap", ".client.*", ".expected.json"} {
			files, err := filepath.Glob(filepath.Join(recordings, name+form))
			if err != nil || len(files) != 1 {
				t.Errorf("%s%s: %d files, error %v", name, form, len(files), err)
			}
		}
	}
}

// derived are the fields that qsniff works out of others, which decode.py does not.
var derived = []string{"steam_id3", "game_id_type", "tags", "conditions", "role"}

// TestDecodesAgree compares each value that qsniff reads in a recording with the one that decode.py read.
func TestDecodesAgree(t *testing.T) {
	t.Parallel()
	values := 0
	for _, name := range names(t) {
		stored, err := os.ReadFile(filepath.Join(recordings, name+".expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Messages []message }
		parse(t, stored, &want)
		got := decoded(t, name)
		if len(got) != len(want.Messages) {
			t.Errorf("%s: messages\ngot  %d\nwant %d", name, len(got), len(want.Messages))
			continue
		}
		for i, w := range want.Messages {
			values += compareMessages(t, name, got[i], w)
		}
	}
	t.Logf("%d values of %d recordings are the same in both decodes", values, len(names(t)))
	if values < decodedValues {
		t.Errorf("%d values compared, want %d", values, decodedValues)
	}
}

// compareMessages compares two messages, and returns how many values of them are the same.
func compareMessages(t *testing.T, name string, got, want message) (same int) {
	t.Helper()
	for _, f := range derived {
		delete(got.Fields, f)
	}
	where := fmt.Sprintf("%s, frame %d, %s", name, want.Frame, want.Message)
	g, w := leaves(got), leaves(want)
	for path, value := range w {
		if have, ok := g[path]; !ok || have != value {
			t.Errorf("%s: %s\ngot  %q\nwant %q", where, path, have, value)
		} else {
			same++
		}
		delete(g, path)
	}
	for _, path := range slices.Sorted(maps.Keys(g)) {
		t.Errorf("%s: %s is %q, and decode.py has nothing", where, path, g[path])
	}
	return same
}

// leaves returns the values of a message by their paths; a list has its length, too.
func leaves(m message) map[string]string {
	out := map[string]string{"frame": fmt.Sprint(m.Frame), "src": m.Src, "dst": m.Dst, "message": m.Message}
	var add func(path string, v any)
	add = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				add(path+"."+k, x)
			}
		case []any:
			out[path+".length"] = fmt.Sprint(len(v))
			for i, x := range v {
				add(fmt.Sprintf("%s.%d", path, i), x)
			}
		default:
			out[path] = fmt.Sprint(v)
		}
	}
	add("fields", m.Fields)
	return out
}

// TestDecoder: the stored decodes are what decode.py says of the recordings.
func TestDecoder(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	var want []byte
	args := []string{"decode.py"}
	for _, name := range names(t) {
		stored, err := os.ReadFile(filepath.Join(recordings, name+".expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, stored...)
		args = append(args, filepath.Join(recordings, name+".pcap"))
	}
	got, err := exec.Command(python, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("decode.py prints something else than the files NAME.expected.json hold:\n%s", cmp.Diff(string(want), string(got)))
	}
}
