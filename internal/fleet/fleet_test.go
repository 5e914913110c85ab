package fleet

import (
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"qsniff/internal/flood/measure"
)

func newSecret(t testing.TB) *Secret {
	s, err := NewSecret([]byte("of all sensors and hubs"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// exampleServer returns a message with something in every member.
func exampleServer(t testing.TB) *Server {
	s := newSecret(t)
	m := &Server{Head: Head{Version: Version, Kind: KindServer, Sensor: "ams-1", Run: "5f0c", Seq: 7, Time: 1700000010e9},
		Addr: netip.MustParseAddrPort("198.51.100.7:27015"), PacketsIn: 12, Times: []uint64{1, 0, 3}, TimesNanos: 12345,
		Asked: []Asked{{Protocol: "a2s", Message: "A2S_INFO", Count: 12, Outcomes: map[string]uint64{"answered": 11}}}}
	m.IsMeasured = true
	m.Features[measure.Sources], m.Features[measure.Pace] = 5000, 0.5
	for i := range uint64(5000) {
		m.Sources.Add(i * 0x9e3779b97f4a7c15)
	}
	m.Top = []Network{{s.SealNetwork(netip.MustParsePrefix("203.0.113.0/24")), 9}}
	m.Forms = []Form{{Protocol: "a2s", Message: "A2S_INFO", Min: 25, Max: 25, Packets: 12}}
	return m
}

func TestEncode(t *testing.T) {
	want := exampleServer(t)
	data, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("ams-1", KindServer, data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, Message(want)) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, want := got.(*Server).Sources.Count(), want.Sources.Count(); got != want {
		t.Errorf("the sketch counts %f, not %f", got, want)
	}
	if strings.Contains(string(data), "203.0.113") {
		t.Errorf("the message shows a network of clients: %s", data)
	}
}

// TestFixedSize: a window in which nothing came takes as many bytes as one of a flood, but for digits.
func TestFixedSize(t *testing.T) {
	m := exampleServer(t)
	before, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	m.Measured = Measured{IsMeasured: true, Top: m.Top, Forms: m.Forms}
	m.Features[measure.Completion] = math.NaN()
	after, err := Encode(m)
	if err != nil || len(before) != len(after) {
		t.Errorf("%d bytes with an empty sketch, %d with a full one: %v", len(after), len(before), err)
	}
}

func TestParseRefuses(t *testing.T) {
	data, err := Encode(exampleServer(t))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, tc := range map[string]struct {
		sensor, data, want string
		kind               Kind
	}{
		"another sensor":  {"fra-1", text, `says that it is of "ams-1"`, KindServer},
		"another kind":    {"ams-1", text, "says that it is", KindHost},
		"no such kind":    {"ams-1", text, "no kind of message", "packet"},
		"a later version": {"ams-1", strings.Replace(text, `"v":1`, `"v":2`, 1), "version 2", KindServer},
		"no number":       {"ams-1", strings.Replace(text, `"seq":7`, `"seq":0`, 1), "no number", KindServer},
		"a long sketch":   {"ams-1", strings.Replace(text, `"sources":"`, `"sources":"AAAA`, 1), "letters in place", KindServer},
		"a wrong rank":    {"ams-1", strings.Replace(text, `"sites":"AAAA`, `"sites":"////`, 1), "register 0", KindServer},
		"cut":             {"ams-1", text[:len(text)/2], "no JSON", KindServer},
		"too long":        {"ams-1", text + strings.Repeat(" ", MaxMessage), "more than a message has", KindServer},
		"a long list":     {"ams-1", strings.Replace(text, `"times":[`, `"times":[`+strings.Repeat("0,", MaxKinds), 1), "a list", KindServer},
	} {
		if _, err := Parse(tc.sensor, tc.kind, []byte(tc.data)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecret(t *testing.T) {
	s := newSecret(t)
	other, err := NewSecret([]byte("of another fleet altogether"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"203.0.113.9", "2001:db8::9"} {
		a := netip.MustParseAddr(text)
		x := s.SealHost(a)
		if got := s.OpenHost(x); got != a || x != s.SealHost(a) || x == other.SealHost(a) {
			t.Errorf("%s: opened as %s", a, got)
		}
	}
	for _, text := range []string{"203.0.113.0/24", "2001:db8:1:2::/64"} {
		p := netip.MustParsePrefix(text)
		x := s.SealNetwork(p)
		if got := s.OpenNetwork(x); got != p {
			t.Errorf("%s: opened as %s", p, got)
		}
		if x == s.SealHost(p.Addr()) {
			t.Errorf("%s is sealed as its first host is", p)
		}
		if got := other.OpenNetwork(x); got.IsValid() {
			t.Errorf("%s: another fleet opens it as %s", p, got)
		}
	}
	if s.Seed() == other.Seed() || s.Key() == other.Key() {
		t.Error("two fleets have the same seed")
	}
	if _, err := NewSecret([]byte("short")); err == nil {
		t.Error("a short secret is taken")
	}
}

func TestSubjects(t *testing.T) {
	sensor, k, err := ParseSubject("games.eu", Subject("games.eu", "ams-1", KindHost))
	if sensor != "ams-1" || k != KindHost || err != nil {
		t.Errorf("got %q, %q, %v", sensor, k, err)
	}
	for _, subject := range []string{"", "qsniff", "qsniff.", "qsniff.a", "qsniff..server", "other.a.server", "qsniff.a b.server", "qsniff._hub.server", "qsniff." + strings.Repeat("a", MaxName+1) + ".server"} {
		if sensor, _, err := ParseSubject("qsniff", subject); err == nil {
			t.Errorf("%q is of sensor %q", subject, sensor)
		}
	}
	for host, want := range map[string]string{"game-1.example.net": "game-1-example-net", "Spiel*räume": "Spiel-r-ume", strings.Repeat("x", 300): strings.Repeat("x", MaxName)} {
		if got := NameOf(host); got != want || CheckName(got) != nil {
			t.Errorf("%q becomes %q", host, got)
		}
	}
}

// FuzzParse: what is a message stays the same message when it is encoded again.
func FuzzParse(f *testing.F) {
	data, err := Encode(exampleServer(f))
	if err != nil {
		f.Fatal(err)
	}
	for i, k := range Kinds {
		f.Add(uint8(i), []byte(strings.Replace(string(data), `"kind":"server"`, `"kind":"`+string(k)+`"`, 1)))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		k := Kinds[int(kind)%len(Kinds)]
		m, err := Parse("ams-1", k, data)
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil {
			return // it has grown: what is not valid UTF-8 takes three bytes
		}
		m2, err := Parse("ams-1", k, again)
		if err != nil {
			t.Fatalf("%s\nis refused: %v", again, err)
		}
		third, err := Encode(m2)
		if err != nil || string(third) != string(again) {
			t.Errorf("%s\nbecomes\n%s (%v)", again, third, err)
		}
	})
}
