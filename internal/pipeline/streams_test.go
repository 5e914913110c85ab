package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/test/testpcap"
	"qsniff/reassembly/tcpstream"
)

// Packets of RCON, in the language of captures' sources.
const (
	auth    = `> 0c 00 00 00 01 00 00 00 03 00 00 00 "pw\0\0"` + "\n"
	authOK  = `< 0a 00 00 00 01 00 00 00 02 00 00 00 00 00` + "\n"
	status  = `> 10 00 00 00 02 00 00 00 02 00 00 00 "status\0\0"` + "\n"
	output  = `< 0f 00 00 00 02 00 00 00 00 00 00 00 "name\n\0\0"` + "\n"
	echoed  = `< 0d 00 00 00 03 00 00 00 00 00 00 00 "hi\n\0\0"` + "\n"
	another = `> 0e 00 00 00 03 00 00 00 02 00 00 00 "echo\0\0"` + "\n"
)

// told is what a run says: a line for each message or finding, and the result.
func told(t *testing.T, source string, cfg Config) ([]string, tally.Run) {
	t.Helper()
	c, err := testpcap.Parse("test.hex", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	w, err := testpcap.NewWriter(&data, c.Format)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Packets {
		if err := w.WritePacket(p.Nanos, p.Frame); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, line := range lines(t, data.Bytes(), cfg) {
		var m struct {
			Frame                       uint64
			Message, Status, Record, ID string
		}
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(m.Message, "SERVERDATA_") + m.ID
		if m.Record == "reply" {
			name = "joined"
		}
		if m.Status != "" && m.Status != "complete" {
			name += " " + m.Status
		}
		out = append(out, name)
	}
	cfg.Source, cfg.Registry = open(t, data.Bytes()), protos.Registry(t)
	run, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return out, run
}

func TestStreams(t *testing.T) {
	const (
		known = "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n@ transport tcp\n"
		odd   = "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:9999\n@ transport tcp\n"
	)
	for _, tc := range []struct {
		name, source string
		want         []string
	}{
		{"a login speaks for itself", odd + auth + authOK, []string{"AUTH", "AUTH_RESPONSE"}},
		{"a command on the usual port", known + status, []string{"EXECCOMMAND"}},
		{"a command elsewhere waits", odd + status, nil},
		{"until another one comes", odd + status + another, []string{"EXECCOMMAND", "EXECCOMMAND"}},
		{"or an answer, and it stands before that", odd + status + output, []string{"EXECCOMMAND", "RESPONSE_VALUE"}},
		{"the answer first", odd + "@ open none\n" + output + status, []string{"RESPONSE_VALUE", "EXECCOMMAND"}},
		{"begin not captured, usual port", known + "@ open none\n" + status + output, []string{"EXECCOMMAND", "RESPONSE_VALUE"}},
		{"within a message", known + "@ open none\n" + `> "tus\0\0"` + "\n" + status + another + status,
			[]string{"NET-08", "EXECCOMMAND", "EXECCOMMAND", "EXECCOMMAND"}},
		{"within a message, elsewhere", odd + "@ open none\n" + `< "tus\0\0"` + "\n" + status + another + output + echoed,
			[]string{"EXECCOMMAND", "EXECCOMMAND", "NET-08", "RESPONSE_VALUE", "RESPONSE_VALUE"}},
		{"text of another protocol", known + `> "GET / HTTP/1.1\r\n\r\n"` + "\n" + status, nil},
		{"closed within a message", known + auth + authOK + `< 0f 00 00 00 02 00 00 00 00 00 00 00 "na"` + "\n@ close fin server\n",
			[]string{"AUTH", "AUTH_RESPONSE", "RESPONSE_VALUE malformed"}},
		{"reset within a message", known + auth + authOK + `< 0f 00 00 00 02 00 00 00 00 00 00 00 "na"` + "\n@ close rst server\n",
			[]string{"AUTH", "AUTH_RESPONSE", "RESPONSE_VALUE truncated"}},
		{"a message is missing", known + auth + authOK + "@ seek +14\n" + status + another,
			[]string{"AUTH", "AUTH_RESPONSE", "NET-06", "EXECCOMMAND", "EXECCOMMAND"}},
		{"the begin of the first message is missing", known + "@ open handshake\n@ seek +12\n" + `> "pw\0\0"` + "\n" + authOK + status + another + status,
			[]string{"AUTH_RESPONSE", "NET-06", "NET-08", "EXECCOMMAND", "EXECCOMMAND", "EXECCOMMAND"}},
		{"the begin of the first message is missing, elsewhere", odd + "@ open handshake\n@ seek +12\n" + `> "pw\0\0"` + "\n" + status + another + status,
			[]string{"NET-06", "NET-08", "EXECCOMMAND", "EXECCOMMAND", "EXECCOMMAND"}},
	} {
		got, _ := told(t, tc.source, Config{Jobs: 2})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

// What belongs to nobody is counted by whether it had data.
func TestStreamsOfOthers(t *testing.T) {
	_, run := told(t, "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:443\n@ transport tcp\n"+
		"> 16 03 01 00 05 \"hello\"\n< 16 03 03 00 05 \"hello\"\n@ close fin client\n", Config{Jobs: 1})
	want := []tally.Reason{{Why: whyTCPEmpty, Count: 8}, {Why: whyTCP, Count: 2}}
	if diff := cmp.Diff(want, run.Skipped); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// -d makes one of ours of a connection whose messages are too weak alone.
func TestStreamAsTold(t *testing.T) {
	source := "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:9999\n@ transport tcp\n" + status
	proto := protocol(t, protos.Registry(t), "rcon")
	got, _ := told(t, source, Config{Jobs: 1, DecodeAs: []DecodeAs{{TCP: true, Port: 9999, Proto: proto}}})
	if diff := cmp.Diff([]string{"EXECCOMMAND"}, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	got, _ = told(t, source, Config{Jobs: 1, DecodeAs: []DecodeAs{{Port: 9999, Proto: proto}}})
	if len(got) > 0 {
		t.Errorf("a rule for UDP: got %q", got)
	}
}

// Of more consoles than there is memory for, those that were closed make room
// first, and only others count as given up.
func TestStreamSessions(t *testing.T) {
	var closed, open strings.Builder
	closed.WriteString("# test\n@ transport tcp\n")
	open.WriteString("# test\n@ transport tcp\n")
	const n = 2 * maxSessions // all of one address pair, so of one partition
	for i := range n {
		ends := fmt.Sprintf("@ client 10.64.0.1:%d\n@ server 198.18.0.1:27015\n", 40_000+i)
		closed.WriteString(ends + auth + authOK + "@ close fin client\n")
		open.WriteString(ends + auth + authOK)
	}
	for _, tc := range []struct {
		name, source string
		evicted      uint64
	}{{"closed", closed.String(), 0}, {"open", open.String(), n - maxSessions}} {
		got, run := told(t, tc.source, Config{Jobs: 1})
		if len(got) != 2*n || run.SessionsEvicted != tc.evicted {
			t.Errorf("%s\ngot  %d messages, %d given up\nwant %d, %d", tc.name, len(got), run.SessionsEvicted, 2*n, tc.evicted)
		}
		if len(run.Skipped) > 0 {
			t.Errorf("%s: left out: %v", tc.name, run.Skipped)
		}
	}
}

// Logins with forged addresses do not push out a console that both ends speak in.
func TestStreamForgedLogins(t *testing.T) {
	var b strings.Builder
	b.WriteString("# test\n@ transport tcp\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n" + auth + authOK)
	for i := range 2 * maxSessions {
		fmt.Fprintf(&b, "@ client 10.64.0.1:%d\n@ open none\n", 41_000+i)
		b.WriteString(auth)
	}
	b.WriteString("@ client 10.64.0.1:40001\n" + status + output)
	got, _ := told(t, b.String(), Config{Jobs: 1})
	if n := len(got); n < 2 || got[n-2] != "EXECCOMMAND" || got[n-1] != "RESPONSE_VALUE" {
		t.Errorf("the console is lost: %d messages, the last %q", n, got[max(0, n-2):])
	}
}

// counted makes sessions and counts how often it was asked to.
type counted struct {
	dissect.StreamDissector
	times, made int
}

type emptySession struct{ _ int }

func (*emptySession) Reset() {}

func (d *counted) AppendSessions(list []dissect.Session, n int, _ *dissect.Budget) []dissect.Session {
	d.times++
	d.made += n
	for range n {
		list = append(list, new(emptySession))
	}
	return list
}

// TestSessionsFill: sessions are doubled until there are maxSessions, and no two connections have
// the same.
func TestSessionsFill(t *testing.T) {
	var p sessions
	d := new(counted)
	for range 2 {
		seen := map[dissect.Session]bool{}
		for !p.areUsedUp() {
			x := p.take(d)
			if seen[x] {
				t.Fatalf("session %d has another connection already", len(seen))
			}
			seen[x] = true
		}
		for x := range seen {
			p.giveBack(x)
		}
		if len(seen) != maxSessions || d.made != maxSessions || d.times != 5 {
			t.Errorf("%d sessions used, %d made in %d steps\nwant %d, %d, 5", len(seen), d.made, d.times, maxSessions, maxSessions)
		}
	}
}

// TestConnectionsFill: states of connections are allocated in 18 steps, and each stays where it is.
func TestConnectionsFill(t *testing.T) {
	fill := func() {
		var s streams
		for i := range tcpstream.DefaultConns {
			s.connectionOf(&tcpstream.Conn{Slot: i}).number = uint64(i)
		}
		for i, k := range s.conns {
			if k.number != uint64(i) {
				t.Fatalf("the connection in slot %d is %d", i, k.number)
			}
		}
		if len(s.conns) != tcpstream.DefaultConns {
			t.Fatalf("%d connections", len(s.conns))
		}
	}
	if got := testing.AllocsPerRun(3, fill); got > 2*18 && !race.Enabled {
		t.Errorf("%v allocations, want 36 at most", got)
	}
}
