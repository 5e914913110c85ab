package flood

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/track"
)

// FuzzDetector: whatever comes from whoever at whatever time, and however clocks
// leap, incidents keep their promises.
func FuzzDetector(f *testing.F) {
	f.Add([]byte{1, 0, 0x11, 0, 40, 0x21, 3, 9, 7, 0x31})
	f.Add([]byte{1, 1, 0x80, 0, 200, 1, 1, 0x40, 0, 200, 9, 1, 0x80, 0, 200})  // requests of one source
	f.Add([]byte{5, 2, 0x10, 7, 250, 9, 80, 0, 0, 0})                          // junk, then silence
	f.Add([]byte{2, 1, 0x12, 7, 250, 2, 1, 0x12, 7, 250, 2, 1, 0x12, 7, 250})  // replies
	f.Add([]byte{11, 20, 0x12, 4, 60, 11, 20, 0x12, 0, 60, 12, 1, 0x21, 0, 1}) // passwords
	f.Add([]byte{1, 9, 0xf0, 3, 120, 2, 9, 0xf0, 3, 9})                        // many servers
	f.Add([]byte{14, 255, 255, 255, 255, 1, 0, 0, 0, 99, 14, 255, 255, 0, 0, 15, 0, 0, 0, 0})
	challenge, request := byte(track.IsChallenge), byte(track.IsRequest)
	f.Add(bytes.Repeat([]byte{challenge, 1, 0x29, 0x11, 1, request, 40, 0x92, 0x11, 40}, 40)) // a tool of one's own
	own, err := hostset.ParseNetworks("198.51.100.8/30,2000::/16")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v := newPromises(t, 1.0/64)
		v.d.SetOwn(own)
		z := &fuzzed{d: v.d, age: dawn.UnixNano()}
		for len(in) >= 5 && z.sights < 5000 && z.leaps < 8 {
			z.play(in[:5])
			in = in[5:]
		}
		v.d.End(z.age, z.age+z.shift)
		v.ended()
	})
}

// fuzzed makes sightings of bytes.
type fuzzed struct {
	d          *Detector
	age, shift int64
	frame      uint64
	rand       uint64
	sights     int
	leaps      int
}

// play takes five bytes: what, how much later, by whom, what is in it, and how
// often.
func (z *fuzzed) play(b []byte) {
	what := track.PacketType(b[0]) % (track.NumPacketTypes + 3)
	switch what - track.NumPacketTypes {
	case 0: // a leap, of seconds to centuries
		n := int64(b[1])*int64(time.Minute) + int64(b[2])*int64(time.Second)
		if b[3] == 0xff {
			n = min(n*5000, math.MaxInt64/4-z.age)
		}
		z.age += max(n, 0)
		z.leaps++ // each costs as much time as two minutes
		z.d.Tick(z.age, z.age+z.shift)
		return
	case 1: // clocks that are set, and packets late
		z.shift = (int64(b[1]) - 128) * int64(time.Minute) * int64(b[2])
		if b[3] == 0xff { // before 1970
			z.shift = -2 * z.age
		}
		return
	case 2:
		z.d.Lost(uint64(b[1]))
		return
	}
	n := int(b[4])
	if b[0]&0x80 != 0 {
		n *= 16
	}
	gap := int64(b[1]) * int64(b[1]) * int64(time.Millisecond) / 64 // up to a second
	for i := range n {
		z.age += gap
		z.one(what, b[2], b[3], i)
	}
}

func (z *fuzzed) one(what track.PacketType, who, how byte, i int) {
	z.frame++
	z.sights++
	z.rand = z.rand*6364136223846793005 + 1442695040888963407
	age := z.age
	if how&0x80 != 0 { // packets that came late
		age -= int64(z.rand>>34) % int64(3*time.Second)
	}
	s := track.Sighting{Frame: z.frame, Age: age, Nanos: age + z.shift, What: what, TTL: how,
		Src: fuzzHost(who>>4, i, z.rand), SrcPort: uint16(who>>4) + 27000, Dst: fuzzHost(who&15, i, z.rand>>7), DstPort: uint16(who&15) + 27000,
		Asks: dissect.Asked(how & 15), Flags: track.SightFlags(how >> 4), Bytes: 25, Key: uint32(how&3) * 77, Print: uint32(how)}
	if how&4 != 0 {
		s.Key, s.Secret, s.SrcPort, s.Bytes = uint32(z.rand>>32), uint32(z.rand>>33), uint16(z.rand>>40), 1<<16
	}
	if how&8 != 0 {
		s.Proto = a2s
	}
	s.FillHashes(seed)
	z.d.Sight(&s)
	if what == track.IsLogin && how&2 == 0 { // no byte would guess the ports of an answer
		s.What, s.Src, s.SrcPort, s.Dst, s.DstPort = track.IsRejected, s.Dst, s.DstPort, s.Src, s.SrcPort
		s.FillHashes(seed)
		z.d.Sight(&s)
	}
}

// fuzzHost is one of few, one of a network, or any.
func fuzzHost(n byte, i int, random uint64) track.Host {
	h := track.Host{10: 0xff, 11: 0xff, 12: 198, 13: 51, 14: 100, 15: n}
	switch {
	case n == 15:
		binary.BigEndian.PutUint32(h[12:], uint32(random>>20))
	case n == 14: // the next one each time
		h[13], h[14], h[15] = byte(i>>16), byte(i>>8), byte(i)
	case n == 13: // any of IPv6
		h = track.Host{0: 0x20}
		binary.BigEndian.PutUint64(h[8:], random)
	case n == 12:
		h = track.Host{0: 0xfe, 1: 0x80, 15: 1}
	}
	return h
}

// promises holds incidents to what is said of them.
type promises struct {
	t      *testing.T
	d      *Detector
	last   uint64
	open   map[uint64]*Incident
	minute int32
	begun  [NumKinds]int
}

func newPromises(t *testing.T, size float64) *promises {
	v := &promises{t: t, d: New(Defaults(), size, nil), open: map[uint64]*Incident{}}
	v.d.AddObserver(v.found)
	return v
}

func (v *promises) fail(in *Incident, e Event, what string) {
	v.t.Helper()
	v.t.Errorf("%s\ngot  %v of %+v\nin second %d", what, e, *in, v.d.book.Now)
}

func (v *promises) found(in *Incident, e Event) {
	switch e {
	case Begins:
		if in.ID != v.last+1 {
			v.fail(in, e, "numbers rise by one")
		}
		v.last = in.ID
		v.open[in.ID] = in
		if v.d.book.Now/60 != v.minute {
			v.minute = v.d.book.Now / 60
			clear(v.begun[:])
		}
		if v.begun[in.Kind]++; v.begun[in.Kind] > maxPerMinute {
			v.fail(in, e, "no more of a kind than maxPerMinute begin in a minute")
		}
		if in.End != 0 && in.Kind != OpenAmplifier {
			v.fail(in, e, "what begins is not over")
		}
	case Changes, Ends:
		if v.open[in.ID] != in {
			v.fail(in, e, "what goes on began, and did not end")
		}
		if e == Ends {
			delete(v.open, in.ID)
		}
	}
	v.check(in, e)
}

func (v *promises) ended() {
	for _, in := range v.open {
		v.fail(in, Begins, "what begins ends")
	}
}

func (v *promises) check(in *Incident, e Event) {
	bad := func(no bool, what string) {
		v.t.Helper()
		if no {
			v.fail(in, e, what)
		}
	}
	late := in.Kind == Scan || in.Kind == Survey // they are told of when no answer came in time: it may be over
	bad(in.Start == 0, "it starts at some time")
	bad(in.Start > in.Detected, "nothing is detected before it starts")
	bad(in.End != 0 && in.End < in.Start, "nothing ends before it starts")
	bad(in.End != 0 && in.End < in.Detected && !late, "nothing ends before it is detected")
	bad(in.Kind == NoKind || in.Kind >= NumKinds || in.Kind.Level() != in.Level, "it has a kind, and its level")
	bad(in.Campaign == 0 || in.Campaign > in.ID, "its campaign began with an earlier one")
	bad(!(in.Confidence() >= 0 && in.Confidence() <= 1), "confidence is between 0 and 1")
	bad(in.Completion != -1 && !(in.Completion >= 0 && in.Completion <= 1), "completion is a share")
	bad(in.Pulses < 1, "it has a pulse")
	bad(in.Mean > in.Peak, "the mean is no more than the peak")
	bad(len(in.Evidence) == 0, "there is evidence")
	for _, s := range in.Evidence {
		bad(strings.ContainsFunc(s.Text, func(r rune) bool { return r < ' ' || r > '~' }) || s.Text == "", "evidence is printable ASCII")
	}
	for _, s := range in.Top {
		bad(s.Low > s.High || s.High == 0 || !s.Addr.IsValid() || s.Ports < 0, "low <= high of sources")
		bad(in.Kind == OwnToolStorm && !in.Own.Has(s.Addr), "a storm of one's own is of sources that are named")
	}
	for _, p := range in.Prefixes {
		bad(p.Low > p.High || p.High == 0 || !p.Prefix.IsValid(), "low <= high of networks")
	}
	x := reflect.ValueOf(*in)
	for i := range x.NumField() {
		if f := x.Field(i); f.Kind() == reflect.Float64 {
			n := f.Float()
			bad(math.IsNaN(n) || math.IsInf(n, 0) || n < -1, "figures are numbers: "+x.Type().Field(i).Name)
		}
	}
	for _, n := range in.Features {
		bad(math.IsInf(n.Value, 0), "features are numbers, or none: "+n.Name)
	}
	bad(math.IsNaN(in.Amplification()) || math.IsInf(in.Amplification(), 0), "amplification is a number")
	for _, h := range in.History {
		bad(h.Kind == NoKind || h.Kind >= NumKinds, "its history has kinds")
	}
}
