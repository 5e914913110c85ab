package stats

import (
	"net/netip"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/track/fingerprint"
)

// Summary is the result of a Collector. It shares no memory with it.
type Summary struct {
	Messages []Message // by count, largest first
	Servers  []Server  // by requests, most first
	// ServersUnlisted is how many of the kept servers are not in Servers, and
	// ServersEvicted how many times one was evicted.
	ServersUnlisted, ServersEvicted uint64

	Clients []Client // by certain requests, most first
	// Programs are by what signs clients that have a counter are recognised, most clients first.
	Programs []Program
	Distinct Distinct
	// ClientError is by how much the count of any client can be too high.
	ClientError uint64

	Requests, Replies    uint64
	Answered, Unanswered uint64
	// Paired counts replies over UDP whose request is in the capture, Strays those whose is not.
	Paired, Strays uint64
	Late           uint64 // of Answered: after the end of the wait
	// Others counts messages of servers that are not in Options.Ours; the other numbers do not
	// include them.
	Others uint64

	// For what a client waits: the round trip of a challenge; then from a request
	// to the first packet of its answer, network included; then to the
	// last packet, if there are several; and all of these together.
	Challenge, Response, Train, Total Times

	Questions []Question
	Findings  []Finding // worst first

	Interval time.Duration
	// Widened is set if the interval is longer than the given one, because the
	// capture is too long for that.
	Widened     bool
	SeriesStart int64 // Unix nanoseconds
	Points      []Point
}

// OneWay returns which direction the capture has if the other one is missing: "requests" or
// "replies". It is empty if both are there, or neither.
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
	Protocol, Name string // Name is empty if unknown
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

	// HasInfo is set if the server reported something of itself. Then Name and Map
	// are the start of its latest texts, as they came from the network, and
	// Players and Max are -1 if it did not report them.
	HasInfo      bool
	Name, Map    []byte
	Players, Max int32

	// Challenged counts answers to information requests that brought a challenge, of this
	// exchange or an earlier one; Unchallenged those to plain requests.
	Challenged, Unchallenged uint64

	// ICMPErrors counts ICMP errors that quote queries to it: these did not arrive.
	ICMPErrors uint64

	Response Times // from a request to the first packet of its answer
	// Mean times of the challenge's round trip, and from the first packet of an
	// answer to its last. -1 if there are none.
	Challenge, Train time.Duration
}

// Times is a distribution of times. Error is the share of a percentile by which it can be
// off; Max is exact.
type Times struct {
	Count              uint64
	P50, P95, P99, Max time.Duration
	Error              float64
}

// Client is an address and the number of its requests: at least Requests -
// Error, at most Requests.
type Client struct {
	Addr            netip.Addr
	Requests, Error uint64
	Signs           fingerprint.Signs // of the visit that shows most of its program; 0: nobody answered it
}

// Program is how many clients show the same signs, of those that Summary could list.
type Program struct {
	Signs             fingerprint.Signs
	Clients, Requests uint64
}

// Distinct is the number of clients. Error is a share of Estimate: three
// standard errors, or 0 if the number is exact.
type Distinct struct {
	Estimate        uint64
	Error, Standard float64
}

// Question is how much larger the answers to one question are than its requests, before a
// challenge and after it.
type Question struct {
	Protocol, Request string
	Before, After     Gain
}

// Gain is the mean size of answers divided by that of requests: of payloads, and with the
// headers of IP and UDP.
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

// Challenges returns how often the server challenges requests for information, as
// far as its answers show: "always", "sometimes", "never", or "" if it
// answered none, or was asked in protocols without a challenge for that only.
func (s *Server) Challenges() string {
	switch {
	case s.Challenged+s.Unchallenged == 0:
		return ""
	case s.Unchallenged == 0:
		return "always"
	case s.Challenged == 0:
		return "never"
	}
	return "sometimes"
}

// ChallengedShare returns the share of answered information requests that it challenged.
func (s *Server) ChallengedShare() float64 {
	return float64(s.Challenged) / float64(max(s.Challenged+s.Unchallenged, 1))
}

// WhyOthers is the reason for Summary.Others in outputs. In JSON reasons are keys, which scripts
// rely on: the words stay.
const WhyOthers = "messages of servers that --servers leaves out"
