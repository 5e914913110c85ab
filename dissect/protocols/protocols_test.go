package protocols

import (
	"path/filepath"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/dissecttest"
	"qsniff/internal/testpcap"
)

func registry(t testing.TB) *dissect.Registry {
	t.Helper()
	reg, err := dissect.NewRegistry(All()...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// datagrams returns the UDP datagrams of this repository's captures.
func datagrams(t testing.TB, groups ...string) []testpcap.Datagram {
	t.Helper()
	var all []testpcap.Datagram
	for _, g := range groups {
		names, err := filepath.Glob(filepath.Join("../../pcapfiles", g, "*.hex"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d captures, %v", g, len(names), err)
		}
		for _, name := range names {
			c, err := testpcap.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c.Whole...)
		}
	}
	return all
}

// TestTruncations cuts every message of the captures at every length, once as a
// short capture and once as a short message.
func TestTruncations(t *testing.T) {
	const longest = 3000 // longer ones repeat what shorter ones have
	reg := registry(t)
	seen := map[string]int{}
	for _, d := range datagrams(t, "a2s", "goldsource", "master", "ase") {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload)}
		v := reg.Pick(c, d.Payload)
		dis, typ := v.Dissector, v.Type
		if dis == nil || len(d.Payload) > longest {
			continue
		}
		seen[typ.Name]++
		// The Ship's tail, the end of GoldSource's information, the start
		// number of an old master query and a list that begins with 127.0 are
		// told by what is behind them, so a cut one may read otherwise.
		m := dissecttest.Run(dis, c, d.Payload)
		var free []*dissect.Def
		for i := range m.Fields {
			if f := &m.Fields[i]; f.Def.Joins != nil || f.Def == &dissect.Trailing {
				for j := i; j < len(m.Fields); j++ {
					free = append(free, m.Fields[j].Def)
				}
				free = append(free, &dissect.Trailing)
				break
			}
		}
		if strings.HasPrefix(string(d.Payload), "\xff\xff\xff\xfff\n\x7f\x00") || typ.Name == "A2M_GET_SERVERS_BATCH2" && m.Fields[1].Def.Key() == "next" {
			free = m.Proto.Defs
		}
		dissecttest.Truncations(t, dis, c, d.Payload, free...)
	}
	for _, d := range All() {
		for _, typ := range d.Proto().Types {
			if seen[typ.Name] == 0 {
				t.Errorf("no capture has a %s", typ.Name)
			}
		}
	}
}

// TestLookalikes: what other games send is nobody's, with two known exceptions
// whose bytes are those of a message of ours.
func TestLookalikes(t *testing.T) {
	reg := registry(t)
	// Frontlines: Fuel of War asks for a challenge and for players exactly as
	// Source does.
	same := map[string]bool{"A2S_SERVERQUERY_GETCHALLENGE": true, "A2S_PLAYER": true, "A2S_RULES": true, "S2C_CHALLENGE": true}
	n := 0
	for _, d := range datagrams(t, "lookalike") {
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(d.Payload)}
		v := reg.Pick(c, d.Payload)
		n++
		if v.Dissector != nil && reg.Believe(c, &v) && !same[v.Type.Name] {
			t.Errorf("%v: % x\ntaken for %s %s", d.Src, d.Payload, v.Dissector.Proto().Name, v.Type.Name)
		}
	}
	if n < 30 {
		t.Errorf("only %d datagrams", n)
	}
}

// TestDefinitions: names are keys of JSON, and every one is explained.
func TestDefinitions(t *testing.T) {
	for _, d := range All() {
		p := d.Proto()
		if p.Doc == "" || len(p.Types) == 0 {
			t.Errorf("%s is not described", p.Name)
		}
		for _, def := range p.Defs {
			if def.Doc == "" || def.Label == "" || def.Key() == "" {
				t.Errorf("%s is not described", def.Name)
			}
		}
		for _, c := range p.Codes {
			if c.Seen == "" || c.Means == "" || c.Do == "" || c.Text == nil {
				t.Errorf("%s is not explained", c.ID)
			}
		}
		for _, typ := range p.Types {
			if typ.Doc == "" {
				t.Errorf("%s is not described", typ.Name)
			}
		}
	}
}
