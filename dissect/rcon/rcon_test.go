package rcon

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/race"
)

// The rows of an exchange with a server of the Source engine.
const (
	auth     = `0c000000 01000000 03000000 "pw" 0000`
	empty    = `0a000000 01000000 00000000 0000`
	authOK   = `0a000000 01000000 02000000 0000`
	authFail = `0a000000 ffffffff 02000000 0000`
	exec     = `10000000 02000000 02000000 "status" 0000`
	value    = `16000000 02000000 00000000 "hostname: x" 0a 0000`
	probe3   = `0a000000 03000000 00000000 0000`
	trailer3 = `0e000000 03000000 00000000 00010000 0000`
	stray    = `00010000 00 0a0b`
)

// up and down are packets of the client and of the server.
func up(id, num int32, body string) []byte { return packetBytes(id, num, body) }

func packetBytes(id, num int32, body string) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, uint32(minSize+len(body)))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	b = binary.LittleEndian.AppendUint32(b, uint32(num))
	return append(append(b, body...), 0, 0)
}

// context is that of a message in a direction, of a connection with session s.
func context(dir dissect.Direction, s dissect.Session) *dissect.Context {
	c := dissecttest.Context(0)
	if dir == dissect.ToServer {
		c.Src, c.Dst = c.Dst, c.Src
	}
	c.Stream = &dissect.Stream{Dir: dir, Session: s, Opened: true}
	return c
}

// show writes what a message says: values in order, secrets as stars, findings.
func show(m *dissect.Message) string {
	var out []string
	name := "null"
	if m.Type != nil {
		name = strings.TrimPrefix(m.Type.Name, "SERVERDATA_")
		if m.Type.Reply {
			name = "< " + name
		} else {
			name = "> " + name
		}
	}
	out = append(out, name)
	if m.Status != dissect.Complete {
		out = append(out, m.Status.String())
	}
	for i := 0; i < len(m.Fields); i++ {
		f := &m.Fields[i]
		if f.Def.Flags&dissect.Framing != 0 {
			continue
		}
		v := fmt.Sprintf("%q", m.Bytes(f))
		switch {
		case m.Pieces(i) > 1:
			v = ""
			for n := m.Pieces(i); n > 0; n-- {
				if s := m.Fields[i]; s.Def.Flags&dissect.Secret != 0 {
					v += "***"
				} else {
					v += string(m.Bytes(&s))
				}
				i++
			}
			i--
			v = fmt.Sprintf("%q", v)
		case f.Def.Flags&dissect.Secret != 0:
			v = "***"
		case f.Def.Kind == dissect.Uint || f.Def.Kind == dissect.Int:
			v = fmt.Sprint(int64(f.Num))
		case f.Def.Kind == dissect.Bytes:
			v = fmt.Sprintf("%x", m.Bytes(f))
		case len(v) > 60:
			v = fmt.Sprintf("%d bytes", len(m.Bytes(f)))
		}
		if f.Def != &defSize && f.Def != &defType || m.Status != dissect.Complete {
			out = append(out, f.Def.Key()+"="+v)
		}
	}
	if s := dissecttest.Findings(m); s != "" {
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestDissect(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		dir      dissect.Direction
		want     string
	}{
		{"login", auth, dissect.ToServer, `> AUTH id=1 body=*** RCN-08`},
		{"login, no password", `0a000000 01000000 03000000 0000`, dissect.ToServer, `> AUTH id=1 body=*** RCN-08`},
		{"empty answer", empty, dissect.ToClient, `< RESPONSE_VALUE id=1 body=""`},
		{"login accepted", authOK, dissect.ToClient, `< AUTH_RESPONSE id=1 body=""`},
		{"login refused", authFail, dissect.ToClient, `< AUTH_RESPONSE id=-1 body="" RCN-01`},
		{"command", exec, dissect.ToServer, `> EXECCOMMAND id=2 body="status" RCN-04`},
		{"output", value, dissect.ToClient, `< RESPONSE_VALUE id=2 body="hostname: x\n"`},
		{"end probe", probe3, dissect.ToServer, `> RESPONSE_VALUE id=3 body="" role="probe"`},
		{"end probe of type 2", `0a000000 03000000 02000000 0000`, dissect.ToServer, `> EXECCOMMAND id=3 body="" role="probe" RCN-04`},
		{"trailer", trailer3, dissect.ToClient, `< RESPONSE_VALUE id=3 body="\x00\x01\x00\x00" role="trailer"`},
		{"NULs in the body", `0d000000 02000000 00000000 "a" 00 "b" 0000`, dissect.ToClient, `< RESPONSE_VALUE id=2 body="a\x00b"`},
		{"unknown type to the server", `0c000000 02000000 c8000000 "pw" 0000`, dissect.ToServer, `> OTHER id=2 body=***`},
		{"password with the wrong type", `0c000000 02000000 00000000 "pw" 0000`, dissect.ToServer, `> RESPONSE_VALUE id=2 body=***`},
		{"unknown type to the client", `0c000000 02000000 04000000 "ab" 0000`, dissect.ToClient, `< OTHER id=2 body="ab" role="push"`},
		{"login, the ends taken for each other", auth, dissect.ToClient, `< OTHER id=1 body=*** role="push"`},
		{"a NUL too much", `0b000000 ffffffff 02000000 000000`, dissect.ToClient, `< AUTH_RESPONSE id=-1 body="" RCN-13 RCN-01`},
		{"a NUL too much after text", `0d000000 02000000 00000000 "ab" 000000`, dissect.ToClient, `< RESPONSE_VALUE id=2 body="ab" RCN-13`},
		{"one NUL", `0c000000 02000000 00000000 "abc" 00`, dissect.ToClient, `< RESPONSE_VALUE id=2 body="abc" RCN-13`},
		{"no NUL", `0c000000 02000000 03000000 "abcd"`, dissect.ToServer, `> AUTH id=2 body=*** RCN-13 RCN-08`},
		{"size counts characters", `0d000000 00000000 00000000 "a" c3a9 c3a9 0000`, dissect.ToClient, `< RESPONSE_VALUE id=0 body="aéé" role="push" RCN-11`},
		{"size counts UTF-16 units", `0d000000 05000000 00000000 "a" f09f9880 0000`, dissect.ToClient, `< RESPONSE_VALUE id=5 body="a😀" RCN-11`},
		{"size too small", `09000000 02000000 00000000`, dissect.ToClient, `< RESPONSE_VALUE malformed size=9 id=2 type=0 RCN-09`},
		{"size negative", `ffffffff 02000000 00000000`, dissect.ToClient, `< RESPONSE_VALUE malformed size=-1 id=2 type=0 RCN-09`},
		{"size too large", `fdff0f00 02000000 00000000`, dissect.ToClient, `< RESPONSE_VALUE malformed size=1048573 id=2 type=0 RCN-09`},
		{"size impossible, may be a password", `"password123" 00`, dissect.ToServer, `> OTHER malformed unread=*** RCN-09`},
		{"size impossible, cut", `ffffff`, dissect.ToClient, `null malformed size=0 RCN-09`},
		{"a password is set", `1e000000 02000000 02000000 "rcon_password geheim" 0000`, dissect.ToServer, `> EXECCOMMAND id=2 body="rcon_password ***" RCN-04`},
		{"output names a password", `20000000 02000000 00000000 22 "rcon_password" 22 " is " 22 "x" 22 0000`, dissect.ToClient, `< RESPONSE_VALUE id=2 body="\"rcon_password\" ***"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.in)
			budget := &dissect.Budget{}
			c := context(tc.dir, newSession(budget))
			m := dissecttest.RunStream(New(), c, b, len(b))
			dissecttest.CheckInvariants(t, m)
			if got := show(m); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
			dissecttest.CheckStreamTruncations(t, New(), c, b)
		})
	}
}

// What depends on earlier packets is hidden in every prefix too.
func TestTruncatedPart(t *testing.T) {
	for _, tc := range []struct{ name, first, second string }{
		{"name across the border", "\"rcon_pass", "word\" is \"hunter2\"\nmap x"},
		{"name in front", "rcon_password ", "hunter2\nmap x"},
		{"value across the border", "sv_password hun", "ter2\nmap x"},
		{"value in the next line", "\"sv_password\" is:", "\n\"hunter2\"\nmap x"},
		{"two secrets", "sv_password ", "a\nmap x\nrcon_password b\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := dissecttest.NewConversation(t, New(), 1<<20)
			v.Send(dissect.ToClient, packetBytes(2, numValue, tc.first))
			c := context(dissect.ToClient, v.Stream.Session)
			b := packetBytes(2, numValue, tc.second)
			if got := show(dissecttest.RunStream(New(), c, b, len(b))); strings.Contains(got, "hunter") || strings.Contains(got, "ter2") || !strings.Contains(got, "map x") {
				t.Errorf("got %s", got)
			}
			dissecttest.CheckStreamTruncations(t, New(), c, b)
		})
	}
}

// The bytes of the annotated example: two packets in one segment after a login.
func TestLogin(t *testing.T) {
	v := dissecttest.NewConversation(t, New(), 1<<20)
	v.Send(dissect.ToServer, hextest.Bytes(t, auth))
	v.Send(dissect.ToClient, hextest.Bytes(t, `
		0a000000 01000000 00000000 0000
		0a000000 01000000 02000000 0000`))
	lines(t, v, `
		> AUTH id=1 body=*** RCN-08
		< RESPONSE_VALUE id=1 body=""
		< AUTH_RESPONSE id=1 body="" RCN-02`)
	want := []string{"size 0+4", "id 4+4", "type 8+4", "body 12+0", "terminators 12+2"}
	for _, m := range v.Messages[1:] {
		var got []string
		for _, f := range m.Fields {
			got = append(got, fmt.Sprintf("%s %d+%d", f.Def.Key(), f.Off, f.Len))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("\ngot  %q\nwant %q", got, want)
		}
	}
}

func lines(t *testing.T, v *dissecttest.Conversation, want string) {
	t.Helper()
	var w []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			w = append(w, line)
		}
	}
	for i := range max(len(w), len(v.Messages)) {
		g, x := "nothing", "nothing"
		if i < len(v.Messages) {
			g = show(v.Messages[i])
		}
		if i < len(w) {
			x = w[i]
		}
		if g != x {
			t.Errorf("message %d\ngot  %s\nwant %s", i, g, x)
		}
	}
}

// Passwords can be told apart, where the whole one is there; nothing else has a secret.
func TestSecret(t *testing.T) {
	secret := func(dir dissect.Direction, in string) uint32 {
		v := dissecttest.NewConversation(t, New(), 1<<20)
		v.Send(dir, hextest.Bytes(t, in))
		return v.Messages[0].Secret
	}
	const one, two = `0d000000 01000000 03000000 "one" 0000`, `0d000000 02000000 03000000 "two" 0000`
	first := secret(dissect.ToServer, one)
	for _, tc := range []struct {
		name string
		got  uint32
		same bool
	}{
		{"none", 0, false},
		{"another", secret(dissect.ToServer, two), false},
		{"a NUL longer", secret(dissect.ToServer, `0f000000 01000000 03000000 "one" 00 "x" 0000`), false},
		{"another id", secret(dissect.ToServer, `0d000000 07000000 03000000 "one" 0000`), true},
	} {
		if got := tc.got == first; got != tc.same {
			t.Errorf("%s: the same\ngot  %v\nwant %v", tc.name, got, tc.same)
		}
	}
	if got := secret(dissect.ToServer, `0d000000 01000000 02000000 "one" 0000`); got != 0 {
		t.Errorf("a command\ngot  %d\nwant 0", got)
	}
}

// Only the answer with id -1 refuses a login.
func TestRefused(t *testing.T) {
	v := talk(t, append(login, c(5, numAuth, "no"), s(failedID, numAuthResponse, ""), s(failedID, numValue, "x"))...)
	for i, m := range v.Messages {
		if want := i == 3; m.Refused != want {
			t.Errorf("message %d\ngot  %v\nwant %v", i, m.Refused, want)
		}
	}
}

// Names are output format: each stands for one thing.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range proto.Defs {
		if seen[d.Name] || !strings.HasPrefix(d.Name, "rcon.") || d.Doc == "" {
			t.Errorf("field %q", d.Name)
		}
		seen[d.Name] = true
	}
	for _, c := range proto.Codes {
		if seen[c.ID] || c.Seen == "" || c.Means == "" || c.Owner == "" || c.Client == "" {
			t.Errorf("finding %q", c.ID)
		}
		seen[c.ID] = true
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	d := New()
	budget := &dissect.Budget{Limit: 1 << 20}
	s := newSession(budget)
	m := new(dissect.Message)
	turn := func(dir dissect.Direction, b []byte) func() {
		c := context(dir, s)
		c.Wire = len(b)
		return func() {
			r := d.Frame(c, b)
			d.Resync(c, b, true)
			m.Reset(d.Proto(), b)
			d.Dissect(c, r.Type, b, m)
			d.Learn(c, m)
			d.Joined(c, m)
		}
	}
	steps := []func(){
		turn(dissect.ToServer, up(1, numAuth, "geheim")),
		turn(dissect.ToClient, up(1, numAuthResponse, "")),
		turn(dissect.ToServer, up(2, numExec, "cvarlist; sv_password x")),
		turn(dissect.ToServer, up(3, numValue, "")),
		turn(dissect.ToClient, up(2, numValue, "one \"rcon_pass")),
		turn(dissect.ToClient, up(2, numValue, "word\" is \"x\"\ntwo é")),
		turn(dissect.ToClient, up(3, numValue, "")),
		turn(dissect.ToClient, up(3, numValue, string(trailerBody))),
	}
	run := func() {
		for _, step := range steps {
			step()
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkMessage is one packet from framing to learning.
func BenchmarkMessage(b *testing.B) {
	for _, bc := range []struct {
		name string
		body string
	}{
		{"short", "hostname: x\n"},
		{"full", strings.Repeat("cvar_name : 1 : , \"sv\" : text\n", 4096/31)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			d := New()
			s := newSession(&dissect.Budget{Limit: 1 << 20})
			c := context(dissect.ToClient, s)
			packets := [2][]byte{packetBytes(2, numValue, bc.body), packetBytes(3, numValue, bc.body)}
			m := new(dissect.Message)
			b.ReportAllocs()
			b.SetBytes(int64(len(packets[0])))
			for i := 0; b.Loop(); i++ {
				p := packets[i%2]
				r := d.Frame(c, p)
				c.Wire = len(p)
				m.Reset(d.Proto(), p)
				d.Dissect(c, r.Type, p, m)
				d.Learn(c, m)
				d.Joined(c, m)
			}
		})
	}
}

func TestIsPublic(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want bool
	}{
		{"10.1.2.3", false}, {"172.16.0.1", false}, {"172.32.0.1", true}, {"192.168.1.1", false}, {"127.0.0.1", false}, {"169.254.1.1", false},
		{"100.64.0.1", false}, {"100.127.255.255", false}, {"100.128.0.1", true}, {"8.8.8.8", true}, {"0.0.0.0", false}, {"255.255.255.255", false},
		{"192.0.2.1", false}, {"192.0.3.1", true}, {"198.51.100.7", false}, {"198.51.101.7", true}, {"203.0.113.7", false}, {"239.1.2.3", false},
		{"198.18.0.1", true}, // on purpose
		{"::", false}, {"::1", false}, {"fe80::1%eth0", false}, {"fd00::1", false}, {"2001:db8::1", false}, {"3fff::1", false}, {"3fff:1000::1", true},
		{"2606:4700::1", true}, {"::ffff:10.0.0.1", false}, {"::ffff:8.8.8.8", true}, {"::ffff:203.0.113.7", false},
	} {
		if got := isPublic(netip.MustParseAddr(tc.in)); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.in, got, tc.want)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address\ngot  true\nwant false")
	}
}
