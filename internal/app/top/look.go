package top

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"

	"qsniff/capture/recent"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/hostset"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/track"
)

// Decoder decodes the packets that are kept of a server.
type Decoder struct {
	Registry *dissect.Registry
	DecodeAs []pipeline.DecodeAs
	Filter   func(text string) (*filter.Program, error)
	Store    *recent.Store
}

// lookAt is what the packets that are kept of a server show.
type lookAt struct {
	server    netip.AddrPort
	added     uint64 // packets of the server that were kept before
	packets   recent.Packets
	clients   []client // by requests, most first
	findings  []found  // the worst first
	exchanges []exchange
}

// client is who asked a server.
type client struct {
	addr                        netip.Addr
	requests, replies, unproven uint64 // unproven: requests that brought no challenge back
	last                        int64
}

// found is a kind of finding.
type found struct {
	code     *finding.Code
	severity finding.Severity
	count    uint64
	last     string // the sentence of the last one; it may come from the network
	frame    uint64
}

// exchange is a line of the list of exchanges: it has no turns.
type exchange struct {
	render.Dialogue
	findings string // their ids
	// isCut reports that the request may have come before the packets that are kept.
	isCut bool
}

// decode decodes what is kept of a server, as far as an expression chooses it. It is for any
// goroutine.
func (d *Decoder) decode(ctx context.Context, server netip.AddrPort, expression string) (*lookAt, error) {
	x := &lookAt{server: server, added: d.Store.Added(server), packets: d.Store.Packets(server)}
	ours, err := hostset.Parse(server.String())
	if err != nil {
		return nil, err
	}
	lines := &exchangeList{Headline: render.Headline{Ours: ours}, begin: x.packets.Begin()}
	sums := &counter{server: server, clients: map[netip.Addr]*client{}}
	cfg := d.config(x.packets)
	cfg.Listener, cfg.Dialogues = sums, dialogue.New(dialogue.Options{Renderer: lines, Size: 1. / 16})
	if expression != "" {
		p, err := d.Filter(expression)
		if err != nil {
			return nil, err
		}
		cfg.Filter = &pipeline.Filter{Program: p}
	}
	if _, err := pipeline.Run(ctx, cfg); err != nil {
		return nil, err
	}
	for _, c := range sums.clients {
		x.clients = append(x.clients, *c)
	}
	slices.SortFunc(x.clients, func(a, b client) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), a.addr.Compare(b.addr))
	})
	x.findings, x.exchanges = sums.findings, lines.list
	slices.SortStableFunc(x.findings, func(a, b found) int { return cmp.Compare(b.severity, a.severity) })
	return x, nil
}

// check returns what is wrong with an expression, nil for nothing.
func (d *Decoder) check(text string) *terminal.Mistake {
	_, err := d.Filter(text)
	var wrong *filter.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &terminal.Mistake{From: wrong.From, To: wrong.To, Message: wrong.Error()}
	}
	return &terminal.Mistake{To: len(text), Message: err.Error()}
}

// config returns the configuration of a run that decodes packets.
func (d *Decoder) config(packets recent.Packets) pipeline.Config {
	return pipeline.Config{Source: packets.Source(), Registry: d.Registry, DecodeAs: d.DecodeAs, Out: io.Discard, Jobs: 1, Memory: decodeMemory}
}

// exchangeList keeps dialogues without their messages.
type exchangeList struct {
	render.Headline
	list  []exchange
	begin int64 // of the packets
}

// AppendDialogue adds a dialogue to the list.
func (l *exchangeList) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if l.Shows(d) {
		isCut := d.Outcome == render.Unsolicited && d.First < l.begin+longestAnswer
		x := exchange{*d, string(l.AppendFindings(nil, d, " ", "")), isCut}
		x.Turns = nil
		l.list = append(l.list, x)
	}
	return dst
}

// counter counts clients and findings. It is a track.Listener.
type counter struct {
	server   netip.AddrPort
	clients  map[netip.Addr]*client
	findings []found
}

// AddFact counts a message.
func (c *counter) AddFact(f *track.Fact, found []track.Found, _ *track.ServerInfo) {
	if f.Server != c.server {
		return
	}
	for i := range found {
		c.add(&found[i], f.Frame)
	}
	x := c.clients[f.Client.Addr()]
	if x == nil {
		x = &client{addr: f.Client.Addr()}
		c.clients[x.addr] = x
	}
	switch {
	case f.Step == track.Silence:
		return
	case f.Reply:
		x.replies++
	default:
		x.requests++
		if !f.BroughtChallenge {
			x.unproven++
		}
	}
	x.last = f.Nanos
}

// AddFinding counts a finding that belongs to no message.
func (c *counter) AddFinding(frame uint64, _ int64, server, _ netip.AddrPort, x track.Found) {
	if server == c.server && x.Code != &track.CaptureDamaged {
		c.add(&x, frame)
	}
}

func (c *counter) add(x *track.Found, frame uint64) {
	i := slices.IndexFunc(c.findings, func(y found) bool { return y.code == x.Code })
	if i < 0 {
		i = len(c.findings)
		c.findings = append(c.findings, found{code: x.Code})
	}
	y := &c.findings[i]
	y.count++
	y.severity = max(y.severity, x.Severity)
	y.last, y.frame = string(append(x.Code.Text(nil, &x.Expert), x.Detail...)), frame
}

// messagesOf returns the messages of an exchange, or of a connection, in their order: at most
// mostMessages.
func (d *Decoder) messagesOf(ctx context.Context, packets recent.Packets, x *exchange) ([]*render.Event, error) {
	r := &messages{of: x}
	cfg := d.config(packets)
	cfg.Renderer = r
	_, err := pipeline.Run(ctx, cfg)
	return r.list, err
}

// messages keeps the messages of an exchange.
type messages struct {
	of   *exchange
	list []*render.Event
}

// Append keeps a message if it is of the exchange.
func (m *messages) Append(dst []byte, e *render.Event) []byte {
	isIt := e.Exchange.ID == m.of.ID || e.Exchange.ID == 0 && e.Frame == m.of.ID
	if m.of.IsStream {
		isIt = e.TCP && (e.Src == m.of.Client && e.Dst == m.of.Server || e.Dst == m.of.Client && e.Src == m.of.Server) && e.Nanos >= m.of.First && e.Nanos <= m.of.Last
	}
	if !isIt || len(m.list) == mostMessages {
		return dst
	}
	m.list = append(m.list, e.Clone())
	return dst
}

// AppendRecord does nothing: findings that belong to no message are in the list of exchanges.
func (m *messages) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// packetsOf returns the packets that messages came in.
func packetsOf(list []*render.Event, all recent.Packets) recent.Packets {
	return slices.DeleteFunc(slices.Clone(all), func(p recent.Packet) bool {
		return !slices.ContainsFunc(list, func(e *render.Event) bool { return e.Frame == p.No || slices.Contains(e.Frames, p.No) })
	})
}
