package replay

import (
	"bytes"
	"context"
	"net/netip"
	"testing"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/protos"
)

// call is a request over TCP and the bytes of all replies to it.
type call struct {
	client, server netip.AddrPort
	typ            *dissect.Type
	request, reply []byte
	refused, isCut bool
}

// calls collects what was asked over TCP, by the keys of messages.
type calls struct {
	open map[pendingKey]*call
	last map[netip.AddrPort]*call // by client: replied to last
	all  []*call
}

func (c *calls) AppendNote(dst []byte, e *render.Event, _ bool) ([]byte, bool) {
	m := e.Msg
	if !e.TCP || e.Record != "" {
		return dst, false
	}
	if m.Key == 0 { // the second reply to an end probe, with its id or without a header
		x := c.last[e.Dst]
		if e.Reply && x != nil && (len(m.Data) < 12 || bytes.Equal(m.Data[4:8], x.request[4:8])) {
			x.reply = append(x.reply, m.Data...)
		}
		return dst, false
	}
	if !e.Reply {
		x := &call{client: e.Src, server: e.Dst, typ: m.Type, request: bytes.Clone(m.Data)}
		c.open[pendingKey{key: m.Key, client: e.Src, server: e.Dst}] = x
		c.all = append(c.all, x)
	} else if x := c.open[pendingKey{key: m.Key, client: e.Dst, server: e.Src}]; x != nil {
		c.last[e.Dst] = x
		x.reply = append(x.reply, m.Data...)
		x.refused = x.refused || m.Refused
		x.isCut = x.isCut || m.Status == dissect.Truncated || m.Status == dissect.Fragment
	}
	return dst, false
}
func (c *calls) AddMessage(*pipeline.Pick)       {}
func (c *calls) AddPackets(*capture.Batch) error { return nil }

// TestConnections plays the connections of captures. Each request that was answered in a
// connection whose login was accepted has, at its first time, the recorded bytes.
func TestConnections(t *testing.T) {
	reg := protos.Registry(t)
	played := 0
	for _, name := range captures(t, "rcon") {
		w := &calls{open: map[pendingKey]*call{}, last: map[netip.AddrPort]*call{}}
		src := open(t, name)
		if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Jobs: 1, Memory: 16 << 20, Packets: w}); err != nil {
			continue // damaged on purpose
		}
		src.Close()
		for _, b := range collect(t, reg, name) {
			conns := map[netip.AddrPort]*Conn{}
			firsts := map[string]*call{}
			for _, x := range w.all {
				if x.server != b.Server {
					continue
				}
				c := conns[x.client]
				if c == nil {
					c = NewServer(reg, b).NewConn(client)
					conns[x.client] = c
				}
				var got []byte
				outcome := Outcomes
				c.Receive(x.request, func(r Reply) {
					outcome = r.Outcome
					got = append(got, bytes.Join(r.Datagrams, nil)...)
				})
				if len(x.reply) > 0 && !x.isCut && firsts[string(x.request)] == nil {
					firsts[string(x.request)] = x
				}
				first := firsts[string(x.request)]
				if first == nil || !c.isAccepted && !first.refused {
					continue
				}
				played++
				if outcome != Answered || !bytes.Equal(got, first.reply) && !hasEarlier(w.all, x) {
					t.Errorf("%s: %s %q: %s\ngot  %q\nwant %q", name, x.typ.Name, x.request, outcome, got, first.reply)
				}
			}
		}
	}
	t.Logf("%d requests were played", played)
	if played < 60 {
		t.Errorf("%d requests were played", played)
	}
}

// hasEarlier reports whether the same was asked with another id before x.
func hasEarlier(all []*call, x *call) bool {
	for _, y := range all {
		if y == x {
			return false
		}
		if y.server == x.server && y.typ == x.typ && bytes.Equal(y.request[8:], x.request[8:]) && !bytes.Equal(y.request, x.request) {
			return true
		}
	}
	return false
}

// TestConsole: ids are those of the request, in as many pieces as it comes; commands before
// the login, other passwords and other bytes get nothing.
func TestConsole(t *testing.T) {
	reg := protos.Registry(t)
	b := collect(t, reg, "../../../pcapfiles/rcon/srcds-login-status.pcap")[0]
	login, command := "", ""
	for k := range b.kinds {
		switch {
		case k.typ.Asks.Has(dissect.AskLogin):
			login = k.text
		case k.typ.Asks.Has(dissect.AskRcon) && len(b.kinds[k].answer) > 0 && len(k.text) > 12:
			command = k.text
		}
	}
	withID := func(text, id string) []byte { return []byte(text[:4] + id + text[4:]) }
	play := func(c *Conn, in []byte) (out []byte, goesOn bool) {
		goesOn = true
		for i := range in {
			goesOn = c.Receive(in[i:i+1], func(r Reply) { out = append(out, bytes.Join(r.Datagrams, nil)...) })
			if !goesOn {
				break
			}
		}
		return out, goesOn
	}
	s := NewServer(reg, b)
	c := s.NewConn(client)
	if got, goesOn := play(c, withID(command, "abcd")); len(got) != 0 || !goesOn {
		t.Errorf("before the login\ngot  %q\nwant nothing", got)
	}
	if got, goesOn := play(c, withID(login, "efgh")); !bytes.Contains(got, []byte("efgh")) || !goesOn {
		t.Errorf("login\ngot  %q\nwant its id", got)
	}
	if got, _ := play(c, withID(command, "ijkl")); !bytes.Contains(got, []byte("ijkl")) || len(got) < 14 {
		t.Errorf("command\ngot  %q\nwant its id", got)
	}
	c = s.NewConn(client)
	if got, goesOn := play(c, hextest.Bytes(t, `0f000000 01000000 03000000 "wrong" 0000`)); len(got) != 0 || goesOn {
		t.Errorf("other password\ngot  %q\nwant an end", got)
	}
	if got, _ := play(c, withID(command, "mnop")); len(got) != 0 {
		t.Errorf("after another password\ngot  %q\nwant nothing", got)
	}
	if got, goesOn := play(s.NewConn(client), []byte("GET / HTTP/1.1\r\n\r\n")); len(got) != 0 || goesOn {
		t.Errorf("no console\ngot  %q\nwant an end", got)
	}
}
