package jsonl

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
)

func TestRecord(t *testing.T) {
	r := &render.Record{Nanos: 1700000000_000370_000, Frames: []uint64{7}, Server: dissecttest.Server, Client: dissecttest.Client,
		Expert: &finding.Expert{Code: &dissect.TooManyFields, Severity: finding.Note, A: 3, B: 4}, Detail: []byte(": \x1b[31mname\"")}
	got := string(New(Options{}).AppendRecord(nil, r))
	want := `{"schema":1,"record":"finding","id":"LIM-01","severity":"note","fault":"server","time":"2023-11-14T22:13:20.000370Z",` +
		`"frames":[7],"server":"198.18.0.1:27015","client":"10.64.0.1:40001",` +
		`"text":"decoding stopped after 3 fields, 4 bytes left undecoded from byte 0 on: \u001b[31mname\"","count":1}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	r.Frames, r.Server, r.Client = nil, netip.AddrPort{}, netip.AddrPort{}
	if got := New(Options{}).AppendRecord(nil, r); !json.Valid(got) {
		t.Errorf("no JSON: %s", got)
	}
}

func TestWaysAndComments(t *testing.T) {
	m := new(dissect.Message)
	m.Reset(&proto, nil)
	e := event(m)
	e.IfName = "eth0\""
	e.Comments = [][]byte{[]byte("look \x1b here"), []byte("again")}
	e.Ways = []render.Way{{Kind: "VLAN", ID: 7}, {Kind: "VXLAN", ID: 42, Src: dissecttest.Client, Dst: dissecttest.Server},
		{Kind: "IP in IP", Src: netip.MustParseAddrPort("10.0.0.1:0"), Dst: netip.MustParseAddrPort("10.0.0.2:0")}}
	var got struct {
		Interface_name string
		Comments       []string
		Via            []struct {
			Kind     string
			ID       int
			Src, Dst string
		}
	}
	line := New(Options{}).Append(nil, e)
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	if got.Interface_name != "eth0\"" || len(got.Comments) != 2 || got.Comments[0] != "look \x1b here" {
		t.Errorf("got %+v", got)
	}
	if len(got.Via) != 3 || got.Via[0].ID != 7 || got.Via[0].Src != "" || got.Via[1].Dst != "198.18.0.1:27015" || got.Via[2].Src != "10.0.0.1" {
		t.Errorf("got %+v", got.Via)
	}
}

// TestBare: without packets there is neither a time nor are there ends.
func TestBare(t *testing.T) {
	m := new(dissect.Message)
	m.Reset(&proto, nil)
	e := event(m)
	e.File, e.Iface = 1, 2
	r := &render.Record{Frames: []uint64{7}, Server: dissecttest.Server, Client: dissecttest.Client,
		Expert: &finding.Expert{Code: &dissect.TooManyFields}, Detail: []byte(": 10.64.0.1:1")}
	bare := New(Options{Bare: true})
	for _, line := range [][]byte{bare.Append(nil, e), bare.AppendRecord(nil, r)} {
		var got map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, key := range []string{"time", "src", "dst", "community_id", "file", "interface", "server", "client"} {
			if _, ok := got[key]; ok {
				t.Errorf("%q in %s", key, line)
			}
		}
		if text, _ := got["text"].(string); strings.Contains(text, "10.64") {
			t.Errorf("an end in %s", line)
		}
	}
}
