package track

import (
	"math"
	"math/bits"
	"net/netip"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// Hosts finds what only the messages of several address pairs show together, or many of one
// pair. It takes facts in packet order, so its findings do not depend on how partitions
// share the work. It routes each fact to the checks that want its kind, see newChecks, and has what
// several of them ask of the ends.
//
// No finding rests on a packet that is not there, except where an exchange reports a
// Silence. Hosts does not distinguish floods from users, but what it holds of clients that
// never prove their address is evicted first. The tables take 8.4 MiB in all. In a full one the entry that was
// not used for longest is evicted; Evicted counts the evictions that can hide a finding.
//
// It is not safe for concurrent use.
type Hosts struct {
	Reporter

	size   float64 // of tables, 1 is usual
	tables []table
	wanted [numKinds][]func(*view) // by kind of fact
	finish []func()
	codes  []*finding.Code // of all checks
	view   view            // of the fact at hand

	servers  *lru.Table[End, serverState]
	latest   latestServer
	slots    slots                            // of servers
	offered  *lru.Table[pairKey, clientState] // clients that were given a challenge
	proven   *lru.Table[pairKey, clientState] // those that brought it back
	clients  slots
	repliers *lru.Table[Host, int64] // ages of the last replies to requests

	hasBegun  bool
	firstAge  int64  // Age of the first fact
	lastFrame uint64 // of the last fact, and its time
	lastNanos int64
	lastGap   int64 // age of the last gap in the capture
	isLossy   bool  // packets are missing at an unknown place
	replyAge  int64 // age of the last reply in a datagram; never if none was captured
	evicted   uint64
}

// Reporter passes on findings that rest on several facts.
type Reporter struct {
	// Raise is called with each finding, at the fact that decides it. Set it before
	// the first call.
	Raise  func(*Raised)
	out    Raised
	frames [2]uint64
}

// Raised is a finding of a Reporter. It is valid during the call of Raise.
type Raised struct {
	Expert finding.Expert
	Frames []uint64 // on which it rests, oldest first; the last one decided it
	Nanos  int64    // Unix time of the last of Frames
	// Server and Client are invalid if the finding is about neither.
	Server, Client netip.AddrPort
}

// never is an age before all others.
const never = math.MinInt64

// NewHosts returns empty tables of size times the usual size.
func NewHosts(size float64) *Hosts {
	h := &Hosts{size: size, lastGap: never, replyAge: never}
	h.servers = newTable[End, serverState](h, maxHosts)
	h.offered = newTable[pairKey, clientState](h, maxOffered)
	h.proven = newTable[pairKey, clientState](h, maxProven)
	h.repliers = newTable[Host, int64](h, maxRepliers)
	for _, newCheck := range newChecks {
		c := newCheck(h)
		for _, w := range c.wants {
			for k := w.kinds; k != 0; k &= k - 1 {
				i := bits.TrailingZeros32(uint32(k))
				h.wanted[i] = append(h.wanted[i], w.add)
			}
		}
		h.codes = append(h.codes, c.finds...)
		if c.finish != nil {
			h.finish = append(h.finish, c.finish)
		}
	}
	return h
}

// Evicted returns how many servers and clients were evicted.
func (h *Hosts) Evicted() uint64 { return h.evicted }

// RecordGap records that packets are missing from the capture at age.
func (h *Hosts) RecordGap(age int64) { h.lastGap = max(h.lastGap, age) }

// SetLossy records that packets are missing from the capture at an unknown place.
func (h *Hosts) SetLossy() { h.isLossy = true }

// AddFact adds a message, or an answer that did not come. A reply that nobody requested is no
// evidence about its server, as anybody can forge it.
func (h *Hosts) AddFact(f *Fact) {
	if !h.hasBegun {
		h.hasBegun, h.firstAge = true, f.Age
	}
	if f.Frame > h.lastFrame {
		h.lastFrame, h.lastNanos = f.Frame, f.Nanos
	}
	k := kindOf(f)
	if k&(plainReply|strayReply|replies) != 0 {
		h.replyAge = max(h.replyAge, f.Age)
	}
	v := &h.view
	v.Fact, v.server, v.client = f, nil, nil
	v.query = -1
	if k&replies != 0 {
		h.recordReplier(f)
	}
	switch k {
	case query:
		if f.Key != 0 {
			v.query = queryKind(f.Type.Asks)
			h.findClient(v)
		}
		switch {
		case f.Gap > 0:
			k = repeatedQuery
		case v.client != nil:
			k = clientQuery
		}
	case challenge, answer:
		h.findReplier(v, k)
	case noAnswer:
		v.query = queryKind(f.Type.Asks)
		v.server = h.peekServer(f)
		switch {
		case v.query < 0:
			return
		case v.server == nil:
			k = noServer
		default:
			v.client = h.proven.Peek(pairOf(f))
		}
	}
	h.route(k)
}

// isUnsure reports whether packets may be missing from the capture since age.
func (h *Hosts) isUnsure(age int64) bool { return h.isLossy || h.lastGap >= age }

// isOneSided reports whether the capture shows no reply of the host of server, at any of its ports and to
// anybody, since shortly before age: perhaps it has requests to it only, or does so by now. What others reply
// shows nothing of it, as their packets may take another way.
func (h *Hosts) isOneSided(server netip.AddrPort, age int64) bool {
	v := h.repliers.Peek(HostOf(server))
	return v == nil || *v < age-int64(bothSidesFor)
}

// recordReplier records that a host replied to a request.
func (h *Hosts) recordReplier(f *Fact) {
	v := enter(h, h.repliers, HostOf(f.Server))
	if *v == 0 || *v < f.Age {
		*v = f.Age
	}
}

// Report raises a finding at f, one severity lower if it is unsure, and nothing if
// the protocol has no such finding. first is the frame where the evidence begins, and may
// be that of f.
func (h *Reporter) Report(f *Fact, first uint64, x finding.Expert, isUnsure bool) {
	if x.Code == nil {
		return
	}
	x.Severity, x.Field = x.Code.Severity, -1
	if isUnsure && x.Severity > finding.Chat {
		x.Severity--
	}
	frames := h.frames[:0]
	if first < f.Frame { // of two exchanges at once, the one that began first may end last
		frames = append(frames, first)
	}
	frames = append(frames, f.Frame)
	h.out = Raised{Expert: x, Frames: frames, Nanos: f.Nanos, Server: f.Server, Client: f.Client}
	h.Raise(&h.out)
}

// serverOnly returns f as it is about its server and no client.
func serverOnly(f *Fact) *Fact {
	at := *f
	at.Client = netip.AddrPort{}
	return &at
}

// pairKey is a server and the address of a client, without its port: servers issue challenges
// and count requests by address.
type pairKey struct {
	server End
	client Host
}

// Hash mixes the key: no sketch has it, so each address takes one product.
func (k pairKey) Hash(seed uint64) uint64 {
	h := lru.Mix16(seed, (*[16]byte)(&k.server.Host))
	return lru.Mix(lru.Mix16(h, (*[16]byte)(&k.client)), uint64(k.server.Port))
}

// pairOf returns the pair of f.
func pairOf(f *Fact) pairKey { return pairKey{EndOf(f.Server), f.Client.Addr().As16()} }

const (
	// limit: maxHosts is how many answering servers are kept: hosts have some hundred on one address.
	// Servers that only send replies nobody requested do not enter the table.
	maxHosts = 2048
	// limit: maxOffered and maxProven are how many clients are kept that were given a challenge, and that
	// brought it back: only the first can be invented.
	maxOffered = 2048
	maxProven  = 4096
	// limit: maxRepliers is how many hosts that reply are kept; the findings of a host that was evicted
	// are milder. Chosen: a network of 24 bits.
	maxRepliers = 256
	// limit: bothSidesFor is how long before a request that nobody answers a reply of the same host to
	// anybody shows that the capture has its replies: one that lost their direction since, or never had
	// this host's, is no evidence of silence. Chosen: tools that ask at all ask once a minute.
	bothSidesFor = time.Minute
)
