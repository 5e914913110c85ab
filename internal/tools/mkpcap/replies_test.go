package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/testpcap"
)

// TestRepliesDiffer: what a cache of payloads would save is little, as on real servers. A
// part is compared without its id.
func TestRepliesDiffer(t *testing.T) {
	all, repeated := map[string]int{}, map[string]int{}
	seen := map[string]bool{}
	for _, d := range decode(t, generate(t, "mix", "-n", "20000")) {
		c, content := class(d), string(d.payload)
		if c == "split" || c == "compressed" {
			content = string(d.payload[8:])
		}
		if all[c]++; seen[content] {
			repeated[c]++
		}
		seen[content] = true
	}
	for class, most := range map[string]float64{"split": 0.05, "compressed": 0, "D": 0, "EYE1": 0, "f": 0, "I": 0.8, "m": 0.8} {
		if got := float64(repeated[class]) / float64(all[class]); all[class] == 0 || got > most {
			t.Errorf("%s: share of %d that came before\ngot  %.2f\nwant at most %.2f", class, all[class], got, most)
		}
	}
}

// TestAdvance: time changes what a server answers.
func TestAdvance(t *testing.T) {
	w := newWorld(1, testpcap.Start)
	s, now := &w.servers[0], testpcap.Start
	players := map[int]bool{}
	maps := map[string]bool{}
	for range 1000 {
		w.advance(s, now)
		players[len(s.roster)] = true
		maps[s.mapName] = true
		now += int64(time.Second)
	}
	if len(players) < 5 || len(maps) < 5 {
		t.Errorf("numbers of players, maps\ngot  %d, %d\nwant 5 or more of each", len(players), len(maps))
	}
	first := durations(s.appendPlayers(nil, now))
	for i, d := range durations(s.appendPlayers(nil, now+int64(1500*time.Millisecond))) {
		if grown := d - first[i]; math.Abs(float64(grown)-1.5) > 0.01 {
			t.Errorf("player %d: seconds more after a second and a half\ngot  %v\nwant 1.5", i, grown)
		}
	}
}

// durations reads how long each player of an S2A_PLAYER plays.
func durations(b []byte) (all []float32) {
	for b = b[6:]; len(b) > 0; {
		_, rest, _ := bytes.Cut(b[1:], []byte{0})
		all = append(all, math.Float32frombits(binary.LittleEndian.Uint32(rest[4:])))
		b = rest[8:]
	}
	return all
}

// TestParts: the parts are those of testpcap.
func TestParts(t *testing.T) {
	w := newWorld(1, testpcap.Start)
	for _, i := range []int{0, firstOld, firstOld + 1, firstGoldSource} {
		s := &w.servers[i]
		s.splitID = 7
		msg := w.appendRules(nil, s)
		var want [][]byte
		switch s.engine {
		case goldSource:
			want = testpcap.SplitGoldSource(msg, 7, goldSourcePart)
		case oldSource:
			want = testpcap.SplitSource(msg, 7, sourcePart, false, true)
			msg = newPacker().pack(nil, msg)
		default:
			want = testpcap.SplitSource(msg, 7, sourcePart, true, false)
		}
		var got [][]byte
		for n := range s.countParts(msg) {
			got = append(got, s.appendPart(nil, msg, n))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("server %d: -want +got\n%s", i, diff)
		}
	}
}
