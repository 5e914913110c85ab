package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/protos"
)

// message is a line of JSON, of either decoder.
type message struct {
	Src, Dst, Message, Protocol string
	Fields                      map[string]any
}

// TestDump: the decoder on gopacket finds the messages that qsniff finds, and every field
// that it writes has qsniff's value.
func TestDump(t *testing.T) {
	for _, name := range []string{"a2s/full-poll", "split/source-six-parts", "split/source-shuffled", "split/source-players-58", "split/source-old-two-parts",
		"split/source-old-compressed-80-rules", "split/source-compressed-three-parts", "split/goldsource-shuffled", "split/interleaved-ids", "net/fragmented-ipv4", "net/fragmented-split"} {
		t.Run(name, func(t *testing.T) {
			path := "../../../pcapfiles/" + name
			in, err := os.Open(path + ".pcap")
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var out bytes.Buffer
			if err := dumpCapture(in, &out); err != nil {
				t.Fatal(err)
			}
			got, want := readLines(t, out.String()), readLines(t, read(t, path+".pcap"))
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("messages\ngot  %d\nwant %d\n%s", len(got), len(want), out.String())
			}
			for i, m := range got {
				w := want[i]
				w.Protocol = ""
				for key := range w.Fields {
					if _, has := m.Fields[key]; !has {
						delete(w.Fields, key)
					}
				}
				if diff := cmp.Diff(w, m); diff != "" {
					t.Errorf("message %d: -qsniff +gopacket\n%s", i, diff)
				}
			}
		})
	}
}

// read returns what qsniff reads from a capture.
func read(t *testing.T, name string) string {
	t.Helper()
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out bytes.Buffer
	cfg := pipeline.Config{Source: src, Registry: protos.Registry(t), Out: &out, Renderer: jsonl.New(jsonl.Options{})}
	if _, err := pipeline.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func readLines(t *testing.T, text string) (all []message) {
	t.Helper()
	for line := range strings.Lines(text) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Message == "" || m.Protocol == "rcon" {
			continue
		}
		all = append(all, m)
	}
	return all
}
