package track

import (
	"math/bits"
	"net/netip"
	"strings"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// EngineLimit is the limiter that an engine has by default: Per is the average for one address and
// Global that for all, in packets a second, both over Window seconds. MaxTracked is the addresses with a
// window above which it refuses all packets; 0: there is no such bound.
type EngineLimit struct {
	Name        string
	Per, Global int
	Window      int
	MaxTracked  int
}

// EngineLimits are those of the engines of Valve's games, in the words of --limits. Package limiter's
// comment names their sources.
var EngineLimits = [...]EngineLimit{
	{Name: "rehlds", Per: 3, Global: 30, Window: 60},
	{Name: "source", Per: 3, Global: 60, Window: 30},
	{Name: "source-late", Per: 3, Global: 3000, Window: 30},
	{Name: "csgo", Per: 10, Global: 500, Window: 30, MaxTracked: 50_000},
}

// engineWord is a verb of a finding's format: the name of the engine whose index is the lowest byte of B.
var engineWord = func() string {
	var names []string
	for i := range EngineLimits {
		names = append(names, EngineLimits[i].Name)
	}
	return "{b.byte?" + strings.Join(names, "|") + "}"
}()

// LimitReached is raised when a server answered A.high requests of a window of A.low seconds and no further
// one, until that was over. B has how many it did not answer, above, and which engine's limit that is.
var LimitReached = finding.Code{ID: "DOS-L01", Severity: finding.Error, Fault: finding.Server,
	Seen:   "a server answered as many requests as an engine's limit for all sources admits in a window, none of the next 20 or more, and others as soon as the window was over",
	Means:  "the engine's own limiter refused what came after: players who looked for the server in these seconds did not see it, whoever used the limit up",
	Owner:  "raise the limit (sv_max_queries_sec_global), or answer from a cache before the server; qsniff floods says whether a flood used it up, qsniff floods --limits which clients were refused",
	Client: "wait longer before each repetition: requests that are refused count as well",
	Format: "{a.high} requests within {a.low} s were answered and none of the next {b.above}, until these seconds were over: the limit of all sources that --limits " + engineWord + " has"}

// SharedLimit is raised when that happens to the requests of one address, Addr, which come from B.above ports
// or more.
var SharedLimit = finding.Code{ID: "DOS-L02", Severity: finding.Warn, Fault: finding.Middlebox,
	Seen:   "a server answered as many requests of one address as an engine's limit admits in a window, none of its next 10 or more, and others as soon as the window was over; challenges came back from at least 8 ports of it",
	Means:  "several clients share the address (NAT of a carrier, a provider's filter before the server, a proxy), and the engine counts them as one: together they ask more than one may",
	Owner:  "raise the limit of one address (sv_max_queries_sec), or have the filter keep the clients' addresses; limits of a firewall should count address and port",
	Client: "ask once for all users behind an address, and keep the answer for some seconds",
	Format: "{a.high} requests of {host} within {a.low} s were answered and none of its next ones, until these seconds were over: the limit of one address that --limits " + engineWord + " has, for at least {b.above} ports together"}

// engineLimits finds servers and clients that met the limiter of an engine. That counts from the first
// packet after a window was over, and what exceeds the limit gets no answer until the window is over: an
// outage neither begins at a round number nor ends by a clock.
type engineLimits struct {
	*Hosts
	servers   *states[limitedSource]
	addresses *lru.Table[pairKey, limitedAddress] // that brought challenges back
	// followed has a bit for each of addresses, and for some that were evicted, by a hash: most packets of a flood
	// are of others, and look up nothing.
	followed [followedBits / 64]uint64
	entered  int // since followed was made
}

// followedBit returns the word and the bit in followed of an address, of which it gets the lower half.
func followedBit(low uint64) (word, bit uint64) {
	n := low * 0x9e3779b97f4a7c15 >> (64 - followedShift)
	return n / 64, 1 << (n % 64)
}

// mayFollow reports whether the client of f may be among addresses.
func (c *engineLimits) mayFollow(f *Fact) bool {
	_, low := wordsOf(f.Client.Addr())
	word, bit := followedBit(low)
	return c.followed[word]&bit != 0
}

// follow records that client is among addresses. After many it makes followed anew.
func (c *engineLimits) follow(client Host) {
	if c.entered++; c.entered > 2*maxLimited {
		c.entered, c.followed = 0, [len(c.followed)]uint64{}
		for k := range c.addresses.All() {
			c.mark(k.client)
		}
	}
	c.mark(client)
}

func (c *engineLimits) mark(client Host) {
	_, low := client.words()
	word, bit := followedBit(low)
	c.followed[word] |= bit
}

func newEngineLimits(h *Hosts) check {
	c := &engineLimits{Hosts: h, servers: newServerStates[limitedSource](h),
		addresses: newTable[pairKey, limitedAddress](h, maxLimited)}
	return check{finds: []*finding.Code{&LimitReached, &SharedLimit},
		wants: []want{{queries, c.addRequest}, {challenge | answer, c.addReply}}}
}

// windowLengths are those of EngineLimits, in seconds.
var windowLengths = [...]int{30, 60}

// limitedSource is the requests to a server, or those of one address to it, and which were answered.
type limitedSource struct {
	windows     [len(windowLengths)]limitWindow
	lastRequest int64  // age
	lastReply   int64  // age; 0: there was none
	first       uint64 // frame of the first request after that
	unanswered  uint32 // requests after that
	isReported  bool
}

// limitWindow counts the requests since its start, as a limiter with windows of that length does.
type limitWindow struct {
	start              int64
	requests, answered uint32 // answered are those up to the last one with a reply
	isKnown            bool   // it began when the limiter's did
}

// limitedAddress is an address at a server.
type limitedAddress struct {
	limitedSource
	ports uint64 // a bit for each by a hash, of those that brought a challenge back
}

// add adds a request.
func (x *limitedSource) add(f *view, least uint32) {
	for i := range x.windows {
		w, length := &x.windows[i], int64(windowLengths[i])*int64(time.Second)
		if !x.isSilent(f.Age, least) && f.Age-w.start >= length+int64(time.Second) {
			isKnown := w.isKnown || x.lastRequest != 0 && f.Age-x.lastRequest > length+int64(time.Second)
			*w = limitWindow{start: f.Age, isKnown: isKnown}
		}
		w.requests++
	}
	if x.unanswered == 0 {
		x.first = f.Frame
	}
	x.unanswered++
	x.lastRequest = f.Age
}

// isSilent reports whether replies ended: at least so many requests were unanswered, for a second.
func (x *limitedSource) isSilent(age int64, least uint32) bool {
	return x.unanswered >= least && age-x.lastReply >= int64(time.Second)
}

// reply adds a reply. It returns the number of an engine's limit and the requests that it admits, if this
// is the first reply after a silence that was its work; number is -1 if it was not.
func (x *limitedSource) reply(f *view, least uint32, limitOf func(*EngineLimit) int) (number, limit int) {
	number = -1
	if x.isSilent(f.Age, least) {
		for i := range EngineLimits {
			e := &EngineLimits[i]
			if n := limitOf(e) * e.Window; number < 0 && x.wasAt(f.Age, e.Window, n) {
				number, limit = i, n
			}
		}
		for i := range x.windows { // the packet that was answered began it
			x.windows[i] = limitWindow{start: x.lastRequest, requests: 1, isKnown: true}
		}
	}
	for i := range x.windows {
		x.windows[i].answered = x.windows[i].requests
	}
	if x.lastRequest == 0 { // it was not followed yet
		x.lastRequest = f.Age
	}
	x.lastReply, x.unanswered = f.Age, 0
	return number, limit
}

// wasAt reports whether a window of that many seconds has just ended, of which n requests, as far as losses
// and the seconds of a clock can show, were admitted.
func (x *limitedSource) wasAt(age int64, seconds, n int) bool {
	for i := range x.windows {
		w, length := &x.windows[i], time.Duration(seconds)*time.Second
		took := time.Duration(age - w.start)
		slack := n/limitSlack + 2
		if windowLengths[i] == seconds && w.isKnown && took >= length-time.Second/2 && took <= length+3*time.Second/2 {
			return int(w.answered) >= n-slack && int(w.answered) <= n+slack
		}
	}
	return false
}

// addRequest adds a request to what its server and its address sent.
func (c *engineLimits) addRequest(f *view) {
	if !f.Proto.Limited || c.Hosts.servers.Len() == 0 { // no server answered
		return
	}
	if server := c.peekServer(f.Fact); server != nil {
		c.servers.at(server.slot).add(f, leastRefused)
	}
	if !c.mayFollow(f.Fact) {
		return
	}
	if x := c.addresses.Get(pairOf(f.Fact)); x != nil {
		x.add(f, leastOfOne)
	}
}

// addReply adds a reply, and raises that a limiter had stopped the replies before it.
func (c *engineLimits) addReply(f *view) {
	if !f.Proto.Limited || f.Step != Answer && f.Step != Challenge {
		return
	}
	x := c.servers.at(f.server.slot)
	first, refused := x.first, x.unanswered-min(x.unanswered, 1) // the last one is what is answered
	if i, n := x.reply(f, leastRefused, func(e *EngineLimit) int { return e.Global }); i >= 0 && !x.isReported {
		x.isReported = true
		c.Report(serverOnly(f.Fact), first, finding.Expert{Code: &LimitReached, A: uint64(n)<<32 | uint64(EngineLimits[i].Window),
			B: uint64(refused)<<8 | uint64(i)}, c.isUnsure(f.Age-int64(time.Minute)))
	}
	c.addReplyToOne(f)
}

// addReplyToOne adds a reply to what an address got that has brought a challenge back.
func (c *engineLimits) addReplyToOne(f *view) {
	k := pairOf(f.Fact)
	x := c.addresses.Get(k)
	if x == nil {
		if f.proven() == nil {
			return
		}
		x = enter(c.Hosts, c.addresses, k)
		c.follow(k.client)
	}
	if f.BroughtChallenge {
		x.ports |= 1 << (lru.Mix(uint64(f.Client.Port()), 1) >> 58)
	}
	first := x.first
	i, n := x.reply(f, leastOfOne, func(e *EngineLimit) int { return e.Per })
	ports := bits.OnesCount64(x.ports)
	if i < 0 || x.isReported || ports < sharedPorts {
		return
	}
	x.isReported = true
	at := *f.Fact
	at.Client = netip.AddrPortFrom(at.Client.Addr(), 0)
	c.Report(&at, first, finding.Expert{Code: &SharedLimit, Addr: at.Client, A: uint64(n)<<32 | uint64(EngineLimits[i].Window),
		B: uint64(ports)<<8 | uint64(i)}, c.isUnsure(f.Age-int64(time.Minute)))
}

const (
	// limit: maxLimited is how many addresses that proved themselves are followed at their servers: few ask
	// more than an engine admits.
	maxLimited = 512
	// limit: followedBits is how many bits tell which addresses may be followed: eight for each, 512 bytes.
	followedBits  = 1 << followedShift
	followedShift = 12
	// limit: leastRefused is how many requests in a row, of all sources, a server must leave unanswered, and leastOfOne
	// the same of one address. Chosen: a few in a row are lost by chance.
	leastRefused = 20
	leastOfOne   = 10
	// limit: sharedPorts is from how many ports on an address is that of several clients: a browser asks each
	// server from one or two.
	sharedPorts = 8
	// limitSlack: the requests that were answered may differ from a limit by one part in this many.
	limitSlack = 50
)
