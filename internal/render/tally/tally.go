// Package tally holds the totals of a run over packets: what was read, how many messages
// there were of each type, and the counters of every stage that packets pass. It is plain
// data: pipeline fills it in, internal/render/counters names each counter for people and programs.
package tally

import (
	"fmt"
	"net/netip"
	"reflect"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// Run holds the totals of one run over packets.
type Run struct {
	Packets uint64
	Bytes   uint64 // captured
	First   int64  // Unix nanoseconds of the first and the last packet, 0 if none
	Last    int64
	// Interrupted reports whether the user ended the run. Of Size bytes of input (0:
	// unknown) Read were read, as they are in the files: compressed ones before expansion.
	Interrupted bool
	Read, Size  int64
	Messages    uint64 // that the filter chose, if there is one
	// Unmatched counts messages that the filter did not choose, Undecided those that it took
	// for unanswered before their exchange was over, and exchanges for which there was no room.
	Unmatched, Undecided uint64
	Types                []TypeCount // by count, largest first
	Skipped              []Reason    // packets that held no message, by reason, largest first
	// Dropped counts packets that the capturing program reports as lost.
	Dropped uint64
	// Copies counts packets that were captured before at another place, or more than once
	// at one: nothing else counts them. CopiesAt are the places with most, most first.
	Copies   uint64
	CopiesAt []CopiesAt
	// Translations are addresses that the capturing host translates, by the outer address: packets
	// with the inner one count as packets with the outer one.
	Translations []Translation
	// Samples counts packets that stand for SampledFor of the traffic: of the others the capture has
	// nothing.
	Samples, SampledFor uint64
	// Pairing is what shows that a capture has one of N packets though nobody says so.
	Pairing Pairing
	// NotSampled counts samples and records of sFlow without the start of a packet, which were skipped.
	NotSampled uint64
	// Merged counts frames that held several datagrams, merged by offload on the capturing host;
	// Segments counts these datagrams.
	Merged, Segments uint64
	// Proxied counts datagrams that a proxy forwarded with the client's address in a header before the
	// payload: the client is their end.
	Proxied      uint64
	ProxyEvicted uint64 // what was known of proxies and made room
	Clock        Clock
	// Skews are corrections of the clocks of inputs, and of their interfaces.
	Skews []Skew
	// Backwards counts packets whose time lies before an earlier packet's; they
	// were treated as if no time had passed.
	Backwards uint64
	// Gaps counts malformed places of the input that the reader skipped, GapBytes the bytes
	// in them, after expansion.
	Gaps, GapBytes uint64
	// FlowsEvicted counts flows that were evicted for newer ones.
	FlowsEvicted uint64
	// ExchangesEvicted counts exchanges that were evicted for newer ones before they
	// were answered or their wait was over.
	ExchangesEvicted uint64
	// VisitsEvicted counts visits of clients whose place another took before they were over.
	VisitsEvicted uint64
	// HostsEvicted counts servers and clients that were evicted for others, and with
	// them what their messages would have shown together.
	HostsEvicted uint64
	// SessionsEvicted counts connections whose session was evicted: no more of them was read.
	SessionsEvicted uint64

	IP     ipfrag.Counters
	Split  split.Counters
	Joined reassembly.JoinCounters // of replies that their protocol cuts into fragments of its own
	TCP    tcpstream.Counters
}

// TypeCount counts the messages of one type.
type TypeCount struct {
	Protocol, Message string
	Count             uint64
}

// CopiesAt counts copies of packets at one place of the capture.
type CopiesAt struct {
	Place string // in words: the interface, and whether the host sent the packet, or the file
	Count uint64
}

// Translation is an address on the inner side of the capturing host, and the one that clients know.
type Translation struct{ Inner, Outer netip.AddrPort }

// Cut returns how far a run came that the user ended, empty if it came to its end.
func (r *Run) Cut() string {
	if !r.Interrupted {
		return ""
	}
	return digits.Extent(r.Packets, r.Read, r.Size)
}

// InnerOf returns the inner addresses of an outer one.
func (r *Run) InnerOf(outer netip.AddrPort) (inner []netip.AddrPort) {
	for _, x := range r.Translations {
		if x.Outer == outer {
			inner = append(inner, x.Inner)
		}
	}
	return inner
}

// shownTranslations is how many translations a sentence names (chosen).
const shownTranslations = 4

// TranslationsSentence returns which addresses the host translates, in one sentence without a full
// stop. It is empty if it was not seen to.
func (r *Run) TranslationsSentence() string {
	if len(r.Translations) == 0 {
		return ""
	}
	b := []byte("This host translates addresses (NAT), and what has two counts as one server: ")
	for i, x := range r.Translations[:min(len(r.Translations), shownTranslations)] {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, "%s is %s inside", x.Outer, x.Inner)
	}
	if n := len(r.Translations) - shownTranslations; n > 0 {
		b = fmt.Appendf(b, ", and %d more", n)
	}
	return string(b)
}

// Skew is what was added to the stamps of an input, or of an interface of one, since its clock did not
// agree with another one; 0 if that cannot be found. Clocks are in words.
type Skew struct {
	Clock, Other string
	Nanos        int64
	IsOnlyTold   bool // nothing was added: the input was read as it came
}

// SkewSentence returns how clocks differed, in one sentence without a full stop. It is empty if they
// agree, or cannot be compared.
func (r *Run) SkewSentence() string {
	if len(r.Skews) == 0 {
		return ""
	}
	x := r.Skews[0]
	if x.Nanos == 0 {
		return fmt.Sprintf("The clocks of %s and %s differ, and not always by as much: which answers belong to which requests, and times between these, are unsure",
			x.Clock, x.Other)
	}
	way := "slow"
	if x.Nanos < 0 {
		way = "fast"
	}
	more := ""
	if n := len(r.Skews) - 1; n > 0 {
		more = fmt.Sprintf("; %s with others as well", digits.Counted(uint64(n), "clock differs", "clocks differ"))
	}
	done := "its times are corrected"
	if x.IsOnlyTold {
		done = "nothing is corrected in what is read as it comes, so that which answers belong to which requests, and floods, are unsure; in a file it is corrected"
	}
	return fmt.Sprintf("The clock of %s is %s %s, compared with %s by challenges that clients brought back: %s%s",
		x.Clock, digits.Span(time.Duration(max(x.Nanos, -x.Nanos))), way, x.Other, done, more)
}

// Clock is how often the clock of the capturing host was set back, at which packet and corrected
// time first, and by how many nanoseconds first and in all. Later times are corrected by that.
type Clock struct {
	Steps      int
	Frame      uint64
	Nanos      int64
	First, All int64
	Early      int64 // by how much stamps begin before 1970, and all are taken to be later
}

// ClockSentence returns how the clock was set back, in one sentence without a full stop. It is empty
// if it was not.
func (r *Run) ClockSentence() string {
	c := &r.Clock
	switch {
	case c.Steps == 0 && c.Early > 0:
		return fmt.Sprintf("Time stamps begin %s before 1970: all are shown as if they began in 1970", digits.Span(time.Duration(c.Early)))
	case c.Steps == 0:
		return ""
	case c.Steps == 1:
		return fmt.Sprintf("The clock of the capture was set back by %s at packet %s: later times are shown as if it had not been",
			digits.Span(time.Duration(c.First)), digits.Grouped(int64(c.Frame)))
	}
	return fmt.Sprintf("The clock of the capture was set back %d times, by %s in all, first by %s at packet %s: later times are shown as if it had not been",
		c.Steps, digits.Span(time.Duration(c.All)), digits.Span(time.Duration(c.First)), digits.Grouped(int64(c.Frame)))
}

// MergedSentence returns what people must know of datagrams that offload merged, in one sentence without
// a full stop; empty if there are none.
func (r *Run) MergedSentence() string {
	if r.Merged == 0 {
		return ""
	}
	return fmt.Sprintf("%s held %s, merged by offload on the capturing host: each is counted, with the time of its frame; "+
		"ethtool -K IFACE gro off tx-udp-segmentation off has them captured one by one",
		digits.Counted(r.Merged, "frame"), digits.Counted(r.Segments, "datagram"))
}

// ProxiedSentence returns what people must know of datagrams that a proxy forwarded, in one sentence without a
// full stop; empty if there are none.
func (r *Run) ProxiedSentence() string {
	if r.Proxied == 0 {
		return ""
	}
	return fmt.Sprintf("A proxy forwarded %s and names the client in a header before the payload: clients are counted by that address, "+
		"and a firewall on the server's host sees the proxy's", digits.Counted(r.Proxied, "datagram"))
}

// Pairing counts requests and replies over UDP, and of a part of the flows what became of them: requests
// that were answered, those that were not by servers that answered others, replies whose request is in the
// capture, and replies whose request is not, of servers that were asked something.
type Pairing struct {
	Requests, Replies    uint64
	Answered, Unanswered uint64
	Paired, Strays       uint64
}

const (
	// leastSampled is how many requests and replies it takes to see that a capture is sampled, and
	// leastPairs how many of the replies must be of the flows that are followed. Chosen: the estimate is off by a
	// tenth for one of two packets, and by a third for one of a hundred.
	leastSampled = 1000
	leastPairs   = 300
)

// LooksSampled returns of at least how many packets the capture seems to have one, 0 if it does not seem
// so, or if it is known to be sampled. Where one of N packets is kept by chance, one of N replies has its
// request, and one of N requests its answer; requests and replies are about as many as each other, unlike
// in captures of one direction. The estimate is low: a reply passes for the answer to any request of its
// flow, of which there are two where a challenge is brought back, so it is shown and nothing is multiplied
// by it. Where the capturing program lost a tenth of the packets, that is the reason.
func (r *Run) LooksSampled() uint64 {
	p := &r.Pairing
	all := p.Paired + p.Strays
	switch {
	case r.Samples > 0 || r.Dropped > r.Packets/10:
		return 0
	case p.Requests < leastSampled || p.Replies < leastSampled || p.Requests > 4*p.Replies || p.Replies > 4*p.Requests:
		return 0
	case p.Paired == 0 || all < leastPairs || p.Strays < p.Paired || p.Answered > p.Unanswered:
		return 0
	}
	return (all + p.Paired/2) / p.Paired
}

// Sentences returns what people must know before they read figures of the run, each in one sentence
// without a full stop.
func (r *Run) Sentences() (list []string) {
	for _, s := range []string{r.SampleSentence(), r.MergedSentence(), r.ProxiedSentence(), r.CopiesSentence(), r.TranslationsSentence(), r.ClockSentence(), r.SkewSentence()} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// InBrief returns Sentences in a few words each, for a screen, and how many of them say that figures are
// not those of the traffic: the first ones.
func (r *Run) InBrief() (list []string, wrong int) {
	add := func(isSo bool, format string, args ...any) {
		if isSo {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	sampled := r.LooksSampled()
	add(sampled > 1, "looks sampled, 1 of %d packets or fewer: --sampled N", sampled)
	wrong = len(list)
	add(r.Samples > 0, "samples: counts and rates are multiplied")
	add(r.Merged > 0, "%s merged by offload are counted each", digits.Counted(r.Segments, "datagram"))
	add(r.Proxied > 0, "%s came through a proxy that names the client", digits.Counted(r.Proxied, "datagram"))
	add(r.CopiesSentence() != "", "%s not counted", digits.Counted(r.Copies, "copy", "copies"))
	if n := len(r.Translations); n > 0 {
		x := &r.Translations[0]
		add(true, "NAT: %s is %s inside%s", x.Outer, x.Inner, andMore(n-1))
	}
	add(r.Clock.Steps > 0, "the clock was set back by %s", digits.Span(time.Duration(r.Clock.All)))
	add(r.Clock.Steps == 0 && r.Clock.Early > 0, "stamps begin before 1970")
	add(len(r.Skews) > 0, "clocks of interfaces or files differ")
	return list, wrong
}

// andMore returns how many more there are, empty for none.
func andMore(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// SampleSentence returns what people must know of packets that are samples, in one sentence without a
// full stop; empty if none are.
func (r *Run) SampleSentence() string {
	if n := r.LooksSampled(); n > 1 {
		return fmt.Sprintf("The capture looks sampled, 1 of %s packets or fewer: %.0f %% of %s have no request in it; "+
			"--sampled N, with the factor of the switch or router, multiplies counts and rates",
			digits.Grouped(int64(n)), 100*float64(r.Pairing.Strays)/float64(r.Pairing.Strays+r.Pairing.Paired), digits.Counted(r.Pairing.Replies, "reply", "replies"))
	}
	if r.Samples == 0 {
		return ""
	}
	return fmt.Sprintf("%s that stand for about %s: counts and rates are multiplied, sources and servers are at least those listed, and "+
		"the samples cannot show what was answered and who proved its address",
		digits.Counted(r.Samples, "packet is a sample", "packets are samples"), digits.Grouped(int64(r.SampledFor)))
}

// CopiesSentence returns what people must know of copies, in one sentence without a full stop: how many
// there are, and where. It is empty if they are less than one in a hundred.
func (r *Run) CopiesSentence() string {
	if r.Copies == 0 || r.Copies*100 < r.Packets {
		return ""
	}
	b := fmt.Appendf(nil, "%s of %s (%d %%) are copies of packets captured before, and not counted", digits.Grouped(int64(r.Copies)),
		digits.Counted(r.Packets, "packet"), (r.Copies*100+r.Packets/2)/r.Packets)
	for i, at := range r.CopiesAt {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		b = fmt.Appendf(b, "%s%s at %s", separator, digits.Grouped(int64(at.Count)), at.Place)
	}
	return string(b)
}

// Reason counts the packets that hold no message for one reason.
type Reason struct {
	Why   string
	Count uint64
	Hint  string // how the packets can be read all the same, "" if nothing helps
}

// Add adds the counters of from to those of to. The fields of T are unsigned integers, or
// structs of such, so that no counter that is declared later can be missed here. Add is
// for the end of a run: reflection is too slow for every batch.
func Add[T any](to, from *T) {
	addFields(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func addFields(to, from reflect.Value) {
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Struct {
			addFields(f, from.Field(i))
		} else {
			f.SetUint(f.Uint() + from.Field(i).Uint())
		}
	}
}

// Subset counts what became of chosen messages and their packets.
type Subset struct {
	Messages    uint64 // chosen
	Packets     uint64 // written
	Late        uint64 // packets of a stream that had gone before their message was decided
	Uncommented uint64 // packets without the comment that names their message, for lack of room
	Unmarked    uint64 // packets that were not written, for lack of room to mark them
	Overwritten uint64 // packets overwritten whole, because what was to be overwritten of them could not be found
	Unpacked    uint64 // compressed messages that were overwritten, because they could not be unpacked, or packed again
	Refused     uint64 // packets that the format of the file cannot hold
}
