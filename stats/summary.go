package stats

import (
	"net/netip"
	"time"

	"qsniff/finding"
)

// Summary is what a Collector came to. It depends on nothing of the collector.
type Summary struct {
	Messages []Message // by count, largest first
	Servers  []Server  // by requests, most first
	// ServersLeft is how many of the servers kept are not in Servers, and
	// ServersForgotten how many times one made room for another.
	ServersLeft, ServersForgotten uint64

	Clients  []Client // by requests for sure, most first
	Distinct Distinct
	// ClientError is how much too high the count of any client can be.
	ClientError uint64

	Requests, Replies    uint64
	Answered, Unanswered uint64
	Late                 uint64 // of Answered: after the end of the wait
	// Others counts messages of servers that are not ours, which are in none of
	// the other numbers.
	Others uint64

	// What a client waits for: the round trip of a challenge, then from a request
	// to the first packet of its answer, with the network in between, then to the
	// last packet, where there are several; and all of it.
	Challenge, Response, Train, Total Times

	Kinds    []Kind
	Findings []Finding // worst first

	Interval time.Duration
	// Widened tells that the interval is longer than the one asked for: the
	// capture is too long for it.
	Widened     bool
	SeriesStart int64 // Unix nanoseconds
	Points      []Point
}

// OneWay tells that one direction is missing, and which is there: "requests" or
// "replies". It is empty where both are, or neither.
func (s *Summary) OneWay() string {
	switch {
	case s.Requests > 0 && s.Replies == 0:
		return "requests"
	case s.Replies > 0 && s.Requests == 0:
		return "replies"
	}
	return ""
}

// Message counts the messages of one type in one direction.
type Message struct {
	Protocol, Name string // the name is empty if unknown
	Reply          bool
	Count, Bytes   uint64
}

// Server is what one server did. Bytes are of payloads, WireIn and WireOut with
// the headers of IP and UDP or TCP.
type Server struct {
	Addr                 netip.AddrPort
	Requests, Replies    uint64
	Answered, Unanswered uint64
	Late                 uint64
	BytesIn, BytesOut    uint64
	WireIn, WireOut      uint64

	// Posted tells that the server said something of itself; then Name and Map
	// are the start of what it said last, as it came from the network, and
	// Players and Max are -1 where it did not say.
	Posted       bool
	Name, Map    []byte
	Players, Max int32

	// Challenged counts answers to information requests after a challenge, or with
	// one from before; Open those to plain requests.
	Challenged, Open uint64

	// ICMPErrors counts ICMP errors that quote queries to it: they did not arrive.
	ICMPErrors uint64

	Response Times // from a request to the first packet of its answer
	// Mean times of the challenge's round trip, and from the first packet of an
	// answer to its last. -1 where there is none.
	Challenge, Train time.Duration
}

// Times is a distribution of times. Percentiles can be off by Error, a share of
// them; Max cannot.
type Times struct {
	Count              uint64
	P50, P95, P99, Max time.Duration
	Error              float64
}

// Client is an address and how many requests came from it: at least Requests -
// Error.
type Client struct {
	Addr            netip.Addr
	Requests, Error uint64
}

// Distinct is how many clients there are. Error is a share of Estimate: three
// standard errors, or 0 where the number is exact.
type Distinct struct {
	Estimate        uint64
	Error, Standard float64
}

// Kind is what one kind of question costs and brings, in bytes for each message:
// before a challenge and after it. Ratios are of what an answer has to what
// a request has.
type Kind struct {
	Protocol, Request string
	Before, After     Gain
}

// Gain is how much larger answers are than requests.
type Gain struct {
	Answers       uint64
	Payload, Wire float64
}

// Finding counts one kind of finding.
type Finding struct {
	Code     *finding.Code
	Severity finding.Severity // the worst that was raised
	Count    uint64
	First    uint64 // frame
}

// Point is what came in one interval. Bytes are of payloads.
type Point struct {
	Requests, Replies uint64
	BytesIn, BytesOut uint64
}

// Challenges says how often the server challenges who asks for information, as
// far as its answers show: "always", "sometimes", "never", or nothing where it
// answered none, or was asked in protocols without a challenge for that only.
func (s *Server) Challenges() string {
	switch {
	case s.Challenged+s.Open == 0:
		return ""
	case s.Open == 0:
		return "always"
	case s.Challenged == 0:
		return "never"
	}
	return "sometimes"
}

// ChallengedShare is the share of information requests that it challenged.
func (s *Server) ChallengedShare() float64 {
	return float64(s.Challenged) / float64(max(s.Challenged+s.Open, 1))
}

// WhyOthers is why messages are in the count of none of our servers.
const WhyOthers = "messages of servers that --servers leaves out"
