package pipeline

import (
	"bytes"
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// tracker pairs the messages of one partition: it finds the exchange that each belongs
// to and the findings that follow from it, and passes them to the emitter.
type tracker struct {
	now       *current
	exchanges *track.Exchanges
	emitter   *emitter
	request   track.Message // of a usual form, is used again
	brief     brief         // of a request that the fold does not get
	isOn      bool          // see Config.wantsPairs; if not, messages pass unpaired
}

func newTracker(now *current, size int, flows *track.Flows, e *emitter, cfg *Config) *tracker {
	t := &tracker{now: now, exchanges: track.NewExchanges(size, flows), emitter: e, isOn: cfg.wantsPairs()}
	if t.isOn { // also where nobody wants silences: pairing depends on which were reported
		t.exchanges.ReportSilence = e.emitSilence
	}
	return t
}

// trackMessage pairs m, which was made of s, and passes it on.
func (t *tracker) trackMessage(s *payload, m *dissect.Message) {
	var part track.Part
	if t.isOn {
		part = t.findPart(s, m)
	}
	t.emitter.emitMessage(s, m, &part)
}

// findPart returns the part that m has in its exchange, and adds the findings that follow
// from it to m. The time of a reply in several packets is that of the first: the server
// answered then, and the time up to the last one is the network's.
func (t *tracker) findPart(s *payload, m *dissect.Message) track.Part {
	var x track.Message
	x.Src, x.Dst, x.Proto, x.Type, x.Key, x.Form, x.Bytes = s.src, s.dst, m.Proto, m.Type, m.Key, m.Form, uint32(m.Wire)
	x.Frame, x.Nanos, x.Conn, x.Reply, x.Expert = s.frame, s.nanos, s.conn, s.isReply, m.Expert
	if s.isReply && s.train() > 0 {
		x.Frame, x.Nanos = s.frames[0], s.began
	}
	if s.from != nil {
		x.TTL, x.IPID = t.now.item.TTL, t.now.item.IPID
	}
	x.Age = x.Nanos - t.now.shift
	if s.record != "" {
		return t.exchanges.PlaceJoined(&x)
	}
	part := t.exchanges.Place(&x)
	m.Expert = x.Expert
	if part.Step == track.Refusal {
		raiseRefusal(m)
	}
	return part
}

// raiseRefusal raises that m, a text in place of an answer, refuses a request.
func raiseRefusal(m *dissect.Message) {
	code := &track.RefusedInWords
	if text := refusalText(m); slices.ContainsFunc(paceWords, func(w []byte) bool { return containsFold(text, w) }) {
		code = &track.RefusedForPace
	}
	m.Expert = append(m.Expert, finding.Expert{Code: code, Severity: code.Severity, Field: -1})
}

// paceWords are in texts that refuse a client because it asks too often.
var paceWords = [][]byte{[]byte("too many"), []byte("too often"), []byte("too fast"), []byte("too frequent"), []byte("flood"), []byte("rate limit"), []byte("ratelimit"), []byte("slow down"), []byte("spam")}

// containsFold reports whether text has word, whose letters are small ones of ASCII, in any case.
func containsFold(text, word []byte) bool {
	for i := 0; i+len(word) <= len(text); i++ {
		if bytes.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// refusalText returns the first line of what m, a text for a console, says, up to the first secret.
func refusalText(m *dissect.Message) []byte {
	f := m.Find(m.Type.Prints)
	if f == nil {
		return nil
	}
	text := bytes.Trim(m.Bytes(f), " \t\r\n\x00")
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return text[:min(len(text), maxRefusal)]
}

// notePart records that a part of a reply came, so that its exchange waits on: the other
// parts may take long.
func (t *tracker) notePart(it *item) {
	if !t.isOn {
		return
	}
	if asks := t.exchanges.RecordPart(&track.Message{Src: it.Src, Dst: it.Dst, Frame: it.frame, Age: it.age, Reply: true}); asks != 0 {
		t.emitter.emitBegun(it, asks)
	}
}

// noteGap records that a stretch of the capture is missing: answers may have been in it.
func (t *tracker) noteGap(age int64) { t.exchanges.RecordGap(age) }

// expire ends the exchanges that have waited for an answer too long.
func (t *tracker) expire(age int64) { t.exchanges.Tick(age) }

// requests remembers the exchanges of which a request was chosen, so that silences are
// reported of these only. A nil one has all.
type requests struct {
	exchanges *lru.Table[exchangeID, struct{}]
}

func newRequests() *requests {
	return &requests{lru.New[exchangeID, struct{}](maxFollowed)}
}

// allows remembers the exchange of a request. Of a silence it reports whether a request of
// its exchange was chosen.
func (r *requests) allows(f *track.Fact) bool {
	if r == nil || f.ID == 0 {
		return true
	}
	switch f.Step {
	case track.Ask, track.Again, track.Echo:
		r.exchanges.Put(exchangeID(f.ID))
	case track.Silence:
		return r.exchanges.Peek(exchangeID(f.ID)) != nil
	}
	return true
}

// sessions is the supply of sessions, which protocols keep for connections. Those that
// are given back are used again. Where there is none, as many as are in use are made.
type sessions struct {
	budget dissect.Budget
	free   []dissect.Session // all of one protocol: only one has sessions
	used   int
}

// areUsedUp reports whether a connection has to be evicted before the next take.
func (p *sessions) areUsedUp() bool { return p.used == maxSessions }

// take returns a session for one more connection of d.
func (p *sessions) take(d dissect.StreamDissector) dissect.Session {
	if len(p.free) == 0 {
		p.free = d.AppendSessions(p.free, min(max(sessionsAtFirst, p.used), maxSessions-p.used), &p.budget)
	}
	n := len(p.free) - 1
	x := p.free[n]
	p.free = p.free[:n]
	p.used++
	return x
}

// giveBack frees the session of a connection that is over.
func (p *sessions) giveBack(x dissect.Session) {
	x.Reset()
	p.free = append(p.free, x)
	p.used--
}

// addSaid adds to the span of a reply in a datagram what it says of its server, by the roles of
// its fields, and the form in which it came.
func (e *emitter) addSaid(s *payload, m *dissect.Message, x *span) {
	f := &x.fact
	if s.from != nil {
		f.TTL = e.now.item.TTL
	}
	f.IsSplit = s.set != nil
	if f.IsSplit && !s.set.Compressed && !s.set.IsInferred {
		f.Engine, f.PartSize = s.set.Engine, s.set.Size
	}
	if m.Type == nil || m.Status != dissect.Complete || !m.Type.Asks.Has(dissect.AskInfo|dissect.AskPlayers) || m.Type.Asks.Has(dissect.AskChallenge) {
		return
	}
	seg := e.now.seg
	seg.said = append(seg.said, track.Said{Form: -1, Players: -1, Max: -1, Bots: -1, TagPlayers: -1, List: track.PlayerList{Counted: -1}})
	x.said = int32(len(seg.said))
	readSaid(m, &seg.said[x.said-1], e.now.seed)
}

// readSaid fills in what a reply says, with hashes of a seed.
func readSaid(m *dissect.Message, said *track.Said, seed uint64) {
	if m.Type.Asks.Has(dissect.AskInfo) {
		said.Print = lru.MixBytes(seed, m.Data) | 1
	}
	name := seed // hash of the name of the player at hand
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Def.Role {
		case dissect.NoRole:
		case dissect.MapName:
			said.Map = lru.MixBytes(seed, m.Bytes(f)) | 1
		case dissect.PlayerCount:
			said.Players = countOf(m, f)
		case dissect.MaxPlayers:
			said.Max = countOf(m, f)
		case dissect.BotCount:
			said.Bots = countOf(m, f)
		case dissect.TagPlayerCount:
			said.TagPlayers = countOf(m, f)
		case dissect.ReplyForm:
			said.Form = countOf(m, f)
		case dissect.ServerID:
			if f.Def.IsNobody == nil || !f.Def.IsNobody(f.Num) {
				said.ID = f.Num
			}
		case dissect.ListCount:
			said.List.Counted = countOf(m, f)
		case dissect.PlayerEntry:
			said.List.Listed++
			name = seed
		case dissect.PlayerName:
			if b := m.Bytes(f); len(b) > 0 {
				name = lru.MixBytes(seed, b)
				said.List.Named++
				said.List.Names += name
			}
		case dissect.PlayerTime:
			addTime(&said.List, f, name, name == seed)
		}
	}
}

// longestTime is the longest time of a player that is believed, in seconds: three years.
const longestTime = 1e8

// addTime adds the time of the player whose name has a hash, or who has none.
func addTime(l *track.PlayerList, f *dissect.Field, name uint64, isNameless bool) {
	v, _ := f.Float()
	l.Times += lru.Mix(name, f.Num)
	if !(v > 0 && v < longestTime) { // also what is no number
		return
	}
	nanos := int64(v * 1e9)
	if l.Timed == 0 {
		l.Shortest, l.Longest = nanos, nanos
	}
	switch {
	case !isNameless:
		l.Oldest = max(l.Oldest, nanos)
	case l.Nameless == 0 || nanos < l.Youngest:
		l.Youngest = nanos
	}
	if isNameless {
		l.Nameless++
	}
	l.Timed++
	l.Shortest, l.Longest = min(l.Shortest, nanos), max(l.Longest, nanos)
}

const (
	// limit: maxSessions is how many connections have a session at a time: 1,024 in all partitions, of 1.5
	// KiB each, or 5 KiB if all of their lists are full.
	maxSessions = 64
	// limit: sessionsAtFirst is how many are made for the first connection, 8 KiB. A server has a handful
	// of consoles.
	sessionsAtFirst = 4
	// limit: maxRefusal is how much of a text in place of an answer stands in the finding about it: a
	// line's worth.
	maxRefusal = 80
)
