package pipeline

import (
	"math/rand/v2"
	"testing"

	"qsniff/internal/test/forms"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// TestPairing: a capture of which one of N packets was kept by chance looks so, and none else does, with
// the same figures where messages are read and where only watchers want something.
func TestPairing(t *testing.T) {
	const ethernet = testpcap.LinkEthernet
	whole := forms.Base(12_000, 0)
	for _, tt := range []struct {
		name  string
		all   []forms.Packet
		least uint64 // of how many packets it looks to have one, at least and at most
		most  uint64
	}{
		{"whole", whole, 0, 0},
		{"whole with a flood", forms.Base(2_000, 30_000), 0, 0},
		{"one of 10", kept(whole, 10), 5, 20},
		{"one of 4", kept(whole, 4), 2, 5},
		{"one of 10, too few", kept(whole[:8_000], 10), 0, 0},
		{"requests without replies", only(whole, false), 0, 0},
		{"replies without requests", only(whole, true), 0, 0},
		{"a reflection beside whole exchanges", append(only(forms.Base(3_000, 0), true), whole...), 0, 0},
	} {
		f := form{name: tt.name, files: [][]byte{forms.Pcapng(forms.Capture(tt.all, ethernet, []forms.Hop{{}}, []forms.Hop{{}}, forms.Inside), ethernet, 1)}}
		watched := runForm(t, &f, Config{Watchers: []track.Watcher{&log{}}})
		if n := watched.LooksSampled(); n < tt.least || n > tt.most {
			t.Errorf("%s: looks to have one of %d packets, want %d to %d; %+v", tt.name, n, tt.least, tt.most, watched.Pairing)
		}
		for _, cfg := range []Config{{CountsMessages: true}, {CountsMessages: true, Watchers: []track.Watcher{&log{}}}} {
			if run := runForm(t, &f, cfg); run.Pairing != watched.Pairing {
				t.Errorf("%s: with messages\n got %+v\nwant %+v", tt.name, run.Pairing, watched.Pairing)
			}
		}
		if watched.Pairing.Requests+watched.Pairing.Replies != uint64(len(tt.all)) {
			t.Errorf("%s: %+v of %d packets", tt.name, watched.Pairing, len(tt.all))
		}
	}
}

// kept returns one of n packets, by chance.
func kept(all []forms.Packet, n int) (list []forms.Packet) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range all {
		if r.IntN(n) == 0 {
			list = append(list, p)
		}
	}
	return list
}

// only returns the packets of one direction.
func only(all []forms.Packet, isBack bool) (list []forms.Packet) {
	for _, p := range all {
		if p.IsBack == isBack {
			list = append(list, p)
		}
	}
	return list
}

// TestPairingCrowded: a flood of more ends than there is room for has fewer flows paired, and each is as it was.
func TestPairingCrowded(t *testing.T) {
	var all []forms.Packet
	base := forms.Base(1, 0)
	for i := range 60_000 { // 10,000 exchanges, half a millisecond apart
		p := base[i%4]
		p.Nanos = testpcap.Start + int64(i)*125_000
		client := &p.Src
		if p.IsBack {
			client = &p.Dst
		}
		*client = forms.Client(i / 4)
		all = append(all, p)
	}
	f := form{name: "crowd", files: [][]byte{forms.Pcapng(forms.Capture(all, testpcap.LinkEthernet, []forms.Hop{{}}, []forms.Hop{{}}, forms.Inside), testpcap.LinkEthernet, 1)}}
	run := runForm(t, &f, Config{Watchers: []track.Watcher{&log{}}})
	p := run.Pairing
	if p.Paired < 200 || p.Paired > 20_000 || p.Strays > p.Paired/50 || p.Unanswered > p.Answered/50 {
		t.Errorf("%+v", p)
	}
}
