package pipeline

import (
	"bytes"
	"net/netip"
	"time"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
	"qsniff/reassembly/wire"
)

// identifier finds the protocol and the type of a payload: by its bytes, then by what is
// known of its flow. A request for which both are too weak is parked until its reply
// comes. Messages go to the parser.
type identifier struct {
	now      *current
	reg      *dissect.Registry
	decodeAs []DecodeAs
	flows    *track.Flows
	parked   *parking
	parser   *parser
	ctx      dissect.Context // of the payload at work
	waited   dissect.Context // of a parked request
	last     *lastLook
	echoes   *echoes
	pairs    *pairing // of echoes; nil if it gets replies as sightings are made
	own      look     // by look and lookOnce
}

// identify passes s on if it is a message, and returns what became of it. A doubtful
// request is parked.
func (d *identifier) identify(s *payload) outcome {
	c := &d.ctx
	*c = dissect.Context{}
	c.Src, c.Dst, c.Wire = s.src, s.dst, s.wire
	if s.set != nil {
		c.FromSplit = s.set.Engine
		c.IsCorrupt = s.isMismatched() && !s.set.IsSound
		c.Disputed = s.set.Disputed || c.IsCorrupt
	}
	b := s.data[:s.run]
	l := d.look(c, b, s.first)
	v := d.pick(c, b, l)
	switch {
	case v.Dissector == nil:
		if !s.isMismatched() {
			d.noteForeign(c, b)
		}
		return unclaimed
	case !v.Type.FromServer() && s.set == nil && d.now.item.kind == kindDatagram && d.takeEcho(d.now.item):
		return sentBack
	case !d.reg.Believe(c, &v):
		if !v.Type.FromServer() && s.set == nil {
			d.parked.keepRequest(s, v.Type.Asks, &l.verdict)
			if p := v.Dissector.Proto(); p.QueryOffset != 0 && v.Type.MatchesAnywhere(b, s.wire) {
				d.parser.tracker.emitter.emitDoubtful(s, p, v.Type)
			}
		}
		return doubtful
	}
	if v.Type.Reply {
		d.echoes.close(d.now.item)
		if d.pairs != nil && d.now.item.kind == kindDatagram {
			d.pairs.addReply(d.now.item)
		}
		d.releaseRequest(s.src, s.dst, s.nanos, v.Type)
	}
	d.parser.parseMessage(s, c, &v)
	return reported
}

// identifyOrCount passes s on if it is a message, and counts it if not.
func (d *identifier) identifyOrCount(s *payload) {
	switch d.identify(s) {
	case unclaimed:
		if u := packet.UnreadOverUDP(s.src.Port(), s.dst.Port(), s.data); u != packet.UnreadUnknown {
			d.now.n.unread[u]++
		} else {
			d.now.n.unknown++
		}
	case doubtful:
		d.now.n.unbelieved++
	}
}

// typeOf returns the type of the message in a datagram, or nil if it is none. first is
// what sightMaker found out about it, or nil.
func (d *identifier) typeOf(it *item, first *look) *dissect.Type {
	c := &d.ctx
	*c = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
	l := d.look(c, it.Payload, first)
	v := d.pick(c, it.Payload, l)
	if v.Dissector == nil || !d.reg.Believe(c, &v) {
		return nil
	}
	return v.Type
}

// look returns first or, if that is nil, the verdict on the bytes of b alone, which is valid until
// the next ones are looked at.
func (d *identifier) look(c *dissect.Context, b []byte, first *look) *look {
	switch {
	case first != nil:
		return first
	case len(d.decodeAs) == 0 && c.FromSplit == wire.None && d.last.matches(b, c.Wire, c.Src):
		return &d.last.look
	}
	d.own.lookAt(d.reg, d.decodeAs, c, b)
	if len(d.decodeAs) == 0 {
		d.last.store(c, b, &d.own)
	}
	return &d.own
}

// lookOnce returns the verdict on the bytes of a whole datagram alone. It is valid until the next
// one is looked at.
func (d *identifier) lookOnce(it *item) *look {
	if !d.last.matches(it.Payload, it.Wire, it.Src) {
		d.ctx = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
		d.own.lookAt(d.reg, d.decodeAs, &d.ctx, it.Payload)
		d.last.store(&d.ctx, it.Payload, &d.own)
		return &d.own
	}
	return &d.last.look
}

// pick returns the verdict on b, of which l is the verdict on its bytes alone. If that is
// weak, the registry is asked again, with what is known of the flow.
func (d *identifier) pick(c *dissect.Context, b []byte, l *look) dissect.Verdict {
	v := l.verdict
	isEnough := v.Conf >= dissect.Likely && !l.isForced
	if !isEnough || !v.Type.FromServer() {
		d.flows.RecallReceiver(c)
	}
	if !isEnough || v.Type.FromServer() {
		d.flows.RecallSender(c)
	}
	switch {
	case isEnough:
		return v
	case l.isForced:
		c.ToServer.Foreign, c.FromServer.Foreign = false, false
	}
	c.Waiting = d.parked.asked(c.Src, c.Dst, d.now.item.nanos)
	isNew := c.ToServer == (dissect.FlowFacts{}) && c.FromServer == (dissect.FlowFacts{}) && c.Waiting == 0
	if l.isForced || isNew {
		return v
	}
	return d.reg.Pick(c, b)
}

// recallServer fills in what is known of the sender as a server, and what the receiver
// asked it.
func (d *identifier) recallServer(c *dissect.Context) {
	d.flows.RecallSender(c)
	c.Waiting = d.parked.asked(c.Src, c.Dst, d.now.item.nanos)
}

// noteForeign records that the flow in c belongs to a game of no known protocol, if b
// shows that, and passes on that a server speaks a protocol that is known by its name. What a
// client asks counts only if no message was identified in the flow: scanners send the queries of
// all games.
func (d *identifier) noteForeign(c *dissect.Context, b []byte) {
	if t := d.reg.ForeignReply(c, b); t != nil {
		d.parser.tracker.emitter.emitForeign(t, c.Src, c.Dst, false)
	}
	reply, ok := d.reg.Foreign(c, b)
	switch {
	case !ok:
	case reply:
		d.flows.Learn(c.Src, c.Dst.Addr(), dissect.FlowFacts{Foreign: true})
	case c.ToServer.Proto == 0:
		d.flows.Learn(c.Dst, c.Src.Addr(), dissect.FlowFacts{Foreign: true})
	}
}

// releaseRequest passes on the parked request that a reply of type t, from src to dst at
// nanos, answers, and drops any that is parked for a reply between these ends.
func (d *identifier) releaseRequest(src, dst netip.AddrPort, nanos int64, t *dissect.Type) {
	w := d.parked.findRequest(src, dst)
	if w == nil {
		return
	}
	if v := w.verdict; w.isFresh(nanos) && v.Dissector != nil && !v.Type.Reply && v.Type.Asks&t.Asks != 0 {
		v.Conf, v.Why = dissect.Likely, "its reply came"
		d.now.n.unbelieved-- // it was counted when it came
		s := payload{src: dst, dst: src, data: w.bytes(), run: w.n, wire: w.wire, frame: w.frame, nanos: w.nanos}
		d.waited = dissect.Context{Src: s.src, Dst: s.dst, Wire: s.wire}
		d.parser.parseMessage(&s, &d.waited, &v)
	}
	d.parked.dropRequest(src, dst)
}

// identifyFragment passes on the parked request that a fragment of a reply answers. It
// does not wait for the whole reply: another request may take the place of the parked one
// before.
func (d *identifier) identifyFragment(it *item, first *look) {
	if d.parked.isEmpty() {
		return
	}
	if t := d.typeOf(it, first); t != nil && t.Reply {
		d.releaseRequest(it.Src, it.Dst, it.nanos, t)
	}
}

// identifyUnread passes on a split set, of which s was made, whose message cannot be
// read, if anything but its first four bytes shows that it belongs to a known protocol:
// other datagrams may begin with these, too.
func (d *identifier) identifyUnread(s *payload, status dissect.Status) {
	if !d.isWitnessed(s.set) {
		d.now.n.unbelieved++
		return
	}
	d.parser.parseUnread(s, status)
}

// isWitnessed reports whether the start of the message, a port or the flow shows that a
// split set belongs to a known protocol.
func (d *identifier) isWitnessed(set *split.Set) bool {
	if wire.IsSingle(set.Data[:set.Run]) {
		return true
	}
	if set.Compressed && wire.IsBzip2(set.Joined[min(set.Prefix, len(set.Joined)):]) {
		return true
	}
	src, dst := set.Src, set.Dst
	if d.reg.ToServer(0, src.Port()) || d.reg.ToServer(0, dst.Port()) || d.parked.asked(src, dst, d.now.item.nanos) != 0 {
		return true
	}
	for i := range d.decodeAs {
		if d.decodeAs[i].isFor(src, dst) {
			return true
		}
	}
	a, b := d.flows.Get(src, dst.Addr()), d.flows.Get(dst, src.Addr())
	return a.Asked != 0 || a.Proto != 0 || b.Asked != 0 || b.Proto != 0
}

// lastLook is the last short payload that its bytes show to be a message, and the verdict on
// it. Most packets of a flood are the same, so the next one need not be looked at again.
type lastLook struct {
	n, wire int
	isIPv4  bool // it came over IPv4: lists of servers have another form over IPv6
	b       [lastPayloadBytes]byte
	look    look
}

// lastPayloadBytes is the longest payload that is kept. Chosen: requests with a challenge
// are shorter.
const lastPayloadBytes = 64

// matches reports whether b, as long as wire, from src, is the payload that is kept.
func (a *lastLook) matches(b []byte, wire int, src netip.AddrPort) bool {
	return len(b) == a.n && wire == a.wire && a.n > 0 && isIPv4(src) == a.isIPv4 && bytes.Equal(b, a.b[:a.n])
}

// store keeps b, and reports whether it is short enough and l sure.
func (a *lastLook) store(c *dissect.Context, b []byte, l *look) bool {
	if len(b) > len(a.b) || l.verdict.Conf <= dissect.Maybe || c.FromSplit != wire.None {
		return false
	}
	a.n, a.wire, a.isIPv4, a.look = copy(a.b[:], b), c.Wire, isIPv4(c.Src), *l
	return true
}

func isIPv4(a netip.AddrPort) bool { return a.Addr().Is4() || a.Addr().Is4In6() }

// lastSighting is what else is known of the payload of a lastLook.
type lastSighting struct {
	lastLook
	sum   uint64 // its printOf
	known track.Sighting
}

// store keeps the payload b, of which s and l were found out, as lastLook does.
func (a *lastSighting) store(c *dissect.Context, b []byte, s *track.Sighting, l *look, sum uint64) {
	if !a.lastLook.store(c, b, l) {
		return
	}
	a.sum = sum
	k := &a.known
	k.What, k.Flags, k.Asks, k.Proto, k.Type, k.Key = s.What, s.Flags&^track.Joined, s.Asks, s.Proto, s.Type, s.Key
}

// fillIn fills in what is known of the payload that is kept.
func (a *lastSighting) fillIn(s *track.Sighting) {
	k := &a.known
	s.What, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Asks, k.Proto, k.Type, k.Key
	s.Flags |= k.Flags
}

// DecodeAs is a rule of -d: what comes from or goes to a port of UDP, or of TCP, belongs
// to a protocol. If Proto is nil, which is for UDP only, it belongs to the known protocol
// that fits best.
type DecodeAs struct {
	TCP   bool
	Port  uint16
	Proto *dissect.Proto
}

// isFor reports whether the rule is for a datagram between two ends.
func (d *DecodeAs) isFor(src, dst netip.AddrPort) bool {
	return !d.TCP && (d.Port == src.Port() || d.Port == dst.Port())
}

// look is the verdict on the bytes of a datagram alone. Sightings and messages both begin
// with it, so it is found out once for both.
type look struct {
	verdict  dissect.Verdict
	isForced bool // a rule of -d gave the protocol
	// isUsual is set for a request of a usual form; key and form are those of its
	// dissect.Message then, and proto its dissect.FlowFacts.Proto.
	isUsual bool
	key     uint64
	proto   uint8
	form    dissect.Form
}

// lookAt makes l the verdict on b of the protocol that a rule of -d gives or, if there is
// none, of all protocols.
func (l *look) lookAt(reg *dissect.Registry, decodeAs []DecodeAs, c *dissect.Context, b []byte) {
	*l = look{}
	for i := range decodeAs {
		if as := &decodeAs[i]; as.isFor(c.Src, c.Dst) {
			if v, ok := reg.PickAs(c, b, as.Proto); ok {
				l.verdict, l.isForced = v, true
				return
			}
		}
	}
	l.verdict = reg.Pick(c, b)
	l.rate(reg, c, b)
}

// doubt turns packets that are only weakly ours into those of nobody before a watcher
// gets them: one byte in forty of a game's packets looks like a query of one byte. They
// count where the server has shown that it speaks their protocol, by a reply that is
// more than weak, and where neither it nor their sender gets anything else: a game server, whose
// packets go to thousands of players, asks none of them.
type doubt struct {
	speakers *sketch.Recent // servers, each with a protocol that it spoke
	busy     *sketch.Recent // ends that got what is not weak: a game's packets, queries of another protocol
	turned   int64          // age at the last turn
}

const (
	// doubtBytes is the size of each of the four filters: 2,000 servers set one bit in
	// 64.
	doubtBytes = 32 << 10
	// doubtTurn is how long they remember at least, twice that at most.
	doubtTurn = 10 * time.Minute
)

func newDoubt() doubt {
	return doubt{speakers: sketch.NewRecent(doubtBytes), busy: sketch.NewRecent(doubtBytes)}
}

// resolve makes a packet of nobody of a weak request that does not count, and learns from
// the others who speaks and gets what. A weak reply stays: it has the form of a version,
// which a game's packets hardly take by chance.
func (d *doubt) resolve(s *track.Sighting) {
	if s.Age-d.turned >= int64(doubtTurn) {
		d.speakers.Rotate()
		d.busy.Rotate()
		d.turned = s.Age
	}
	isWeak := s.Flags&track.Weak != 0
	switch s.What {
	case track.IsReply:
		if !isWeak && s.Proto != nil {
			d.speakers.Add(speakerOf(s))
		}
	case track.IsOther, track.IsJunk:
		d.busy.Add(s.ServerHash)
	case track.IsRequest:
		switch {
		case !isWeak:
			d.busy.Add(s.ServerHash)
		case (d.busy.Has(s.ServerHash) || d.busy.Has(s.FromHash())) && !d.speakers.Has(speakerOf(s)): // IsOther has the same ends as IsRequest, and the same hashes
			s.What, s.Proto, s.Type, s.Asks, s.Key = track.IsOther, nil, nil, 0, 0
			s.Flags &^= track.Weak | track.HasKey
		}
	}
}

// speakerOf returns a hash of the server of s with its protocol.
func speakerOf(s *track.Sighting) uint64 {
	return lru.MixBytes(s.ServerHash, []byte(s.Proto.Name))
}

// claims finds the protocol of a connection by asking all of them.
type claims struct {
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	stream   dissect.Stream // of ctx
}

// findForced returns the protocol that a rule of -d gives to a port of c, nil if none
// does, and sets k.server: the end that did not open the connection, or the one with that
// port if the opener is unknown.
func (q *claims) findForced(c *tcpstream.Conn, k *connection) dissect.StreamDissector {
	for _, as := range q.decodeAs {
		for i, end := range c.Ends {
			if as.TCP && end.Port() == as.Port {
				k.server = i
				if c.OpenerKnown {
					k.server = 1
				}
				return q.reg.StreamOf(as.Proto)
			}
		}
	}
	return nil
}

// seek looks for the start of a message in b. It returns how many bytes before it to
// skip, and how many bytes it needs to go on, 0 if it found one.
func (q *claims) seek(c *tcpstream.Conn, b []byte) (skip, need int) {
	q.stream = dissect.Stream{Dir: dissect.Unsure}
	q.ctx = dissect.Context{Src: c.Ends[0], Dst: c.Ends[1], Stream: &q.stream}
	return q.reg.Seek(&q.ctx, b)
}

// pickProtocol asks the protocols about b, which end dir sent, and returns the best claim
// and whether dir speaks to the server. The end that opened the connection is the client.
// If that is unknown, b is read in both directions and the more certain claim counts; of
// two equal ones the one that the ports suggest.
func (q *claims) pickProtocol(c *tcpstream.Conn, dir int, b []byte) (v dissect.Claim, toServer bool) {
	ask := func(d dissect.Direction) dissect.Claim {
		q.stream = dissect.Stream{Dir: d, Opened: c.HasBothSYNs()}
		q.ctx = dissect.Context{Src: c.Ends[dir], Dst: c.Ends[1-dir], Stream: &q.stream}
		return q.reg.PickStream(&q.ctx, b)
	}
	if c.OpenerKnown {
		toServer = dir == 0
		if toServer {
			return ask(dissect.ToServer), true
		}
		return ask(dissect.ToClient), false
	}
	request, reply := ask(dissect.ToServer), ask(dissect.ToClient)
	switch {
	case request.Conf == reply.Conf:
		toServer = q.reg.ServerSide([2]uint16{c.Ends[0].Port(), c.Ends[1].Port()}) != dir
	default:
		toServer = request.Conf > reply.Conf
	}
	if toServer {
		return request, true
	}
	return reply, false
}

// startsWithMessage reports whether b, the first captured bytes of end dir, starts with a
// message: with a whole one, and nothing or another message follows it. Programs send
// each message at once, so this is usual even if the start of the connection was not
// captured.
func (q *claims) startsWithMessage(c *tcpstream.Conn, dir int, b []byte) bool {
	v, _ := q.pickProtocol(c, dir, b)
	if v.Conf == dissect.No || v.Need > 0 || v.Bad {
		return false
	}
	if v.Len == len(b) {
		return true
	}
	next, _ := q.pickProtocol(c, dir, b[v.Len:])
	return next.Conf != dissect.No && !next.Bad
}

// findReason returns why the whole message at the start of b is believed to be one, ""
// if it is not. A claim that is certain is believed; a weaker one needs the protocol's
// port, or a second message in either direction.
func (q *claims) findReason(c *tcpstream.Conn, k *connection, dir int, v *dissect.Claim, toServer bool, b []byte) string {
	server := c.Ends[serverEnd(dir, toServer)]
	switch {
	case v.Conf == dissect.Certain:
		return "structure"
	case q.reg.OnPort(v.Dissector, server.Port()):
		return "port"
	case k.dirs[1-dir].hasWeakMessage:
		return "messages of both ends"
	}
	if v.Len < len(b) {
		if next, _ := q.pickProtocol(c, dir, b[v.Len:]); next.Dissector == v.Dissector && next.Conf != dissect.No && next.Need == 0 {
			return "two messages in a row"
		}
	}
	return ""
}

// A request too weak to be believed by its bytes, such as a single byte, is parked until
// the reply to it comes, which shows that it was a request.
const (
	parkingSpaces = 256             // in each partition; the oldest request is evicted (chosen)
	parkedMax     = 64              // bytes of a request; longer ones are not parked: weak ones are short
	parkedFor     = 5 * time.Second // packet time; as long as a set of parts waits
)

// parkKey is the ends of a request, by direction.
type parkKey struct {
	src, dst         [16]byte
	srcPort, dstPort uint16
}

// Hash mixes the key with the seed.
func (k parkKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.src[:]), k.dst[:])
	return lru.Mix(h, uint64(k.srcPort)<<16|uint64(k.dstPort))
}

func parkKeyOf(src, dst netip.AddrPort) parkKey {
	return parkKey{src.Addr().As16(), dst.Addr().As16(), src.Port(), dst.Port()}
}

// parked is a request that waits.
type parked struct {
	data    [parkedMax]byte
	n       int
	wire    int
	asks    dissect.Asked
	verdict dissect.Verdict // on its bytes alone
	frame   uint64
	nanos   int64
}

// bytes returns the request, valid until the next change.
func (k *parked) bytes() []byte { return k.data[:k.n] }

// parking holds the requests that wait, one for each pair of ends.
type parking struct {
	table *lru.Table[parkKey, parked]
}

func newParking() *parking {
	return &parking{table: lru.New[parkKey, parked](parkingSpaces)}
}

func (k *parking) isEmpty() bool { return k.table.Len() == 0 }

// keepRequest stores the request s until its reply comes. asks is what it asks for, and v
// the verdict on its bytes alone. A newer request replaces an older one.
func (k *parking) keepRequest(s *payload, asks dissect.Asked, v *dissect.Verdict) {
	if len(s.data) > parkedMax {
		return
	}
	w, _ := k.table.Put(parkKeyOf(s.src, s.dst))
	w.n, w.wire, w.frame, w.nanos = copy(w.data[:], s.data), s.wire, s.frame, s.nanos
	w.asks, w.verdict = asks, *v
}

// findRequest returns the request that waits for a reply that goes from src to dst, nil if
// there is none. It is valid until the next change.
func (k *parking) findRequest(src, dst netip.AddrPort) *parked {
	if k.isEmpty() {
		return nil
	}
	return k.table.Peek(parkKeyOf(dst, src))
}

// isFresh reports whether a reply at nanos may still answer the request.
func (k *parked) isFresh(nanos int64) bool { return nanos-k.nanos <= int64(parkedFor) }

// asked returns what the request asked for that a reply from src to dst at nanos may
// answer, 0 if none waits.
func (k *parking) asked(src, dst netip.AddrPort, nanos int64) dissect.Asked {
	w := k.findRequest(src, dst)
	if w == nil || !w.isFresh(nanos) {
		return 0
	}
	return w.asks
}

// dropRequest removes the request that waits for a reply from src to dst.
func (k *parking) dropRequest(src, dst netip.AddrPort) { k.table.Delete(parkKeyOf(dst, src)) }
