package recount

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

// what is what the test makes of a packet: its own, short reading of the protocols.
type what int

const (
	other      what = iota
	query           // a request without a challenge, or with one whose exchange was over
	echo            // a request that brings back the challenge that its address was given
	guess           // a request with a challenge that its address was never given
	challenged      // the server gives a challenge
	data            // a reply, or the first part of a split one
	part            // a further part
	junk            // begins like a query
	login           // to a remote console
	refusal         // of a login
)

func (w what) isRequest() bool { return w == query || w == echo || w == guess }
func (w what) isReply() bool   { return w == challenged || w == data }

// pair is a server and the address of a client.
type pair struct {
	server netip.AddrPort
	client netip.Addr
}

// capture is one capture, counted by the test.
type capture struct {
	rows        []row
	first, last int64
	proven      map[pair]int64 // when a client brought its challenge back first
}

// newCapture sorts the packets of a capture into what they are.
func newCapture(rows []row) *capture {
	c := &capture{rows: rows, first: rows[0].nanos, last: rows[len(rows)-1].nanos, proven: map[pair]int64{}}
	given, waits := map[pair][]string{}, map[pair]int{}
	for i := range rows {
		r := &rows[i]
		r.read()
		switch r.what {
		case challenged:
			p := pair{r.src, r.dst.Addr()}
			given[p] = append(given[p], r.key)
		case query:
			p := pair{r.dst, r.src.Addr()}
			if r.key == "" {
				waits[p]++
				continue
			}
			if !slices.Contains(given[p], r.key) {
				r.what = guess
				continue
			}
			if waits[p] > 0 {
				waits[p]--
				r.what = echo
			}
			if c.proven[p] == 0 {
				c.proven[p] = r.nanos
			}
		}
	}
	return c
}

// read finds out what a packet is from its bytes alone; a request with a challenge is a query
// with a key so far.
func (r *row) read() {
	p := r.payload
	switch {
	case r.isTCP:
		r.readConsole()
	case strings.HasPrefix(p, "\xfe\xff\xff\xff") && len(p) > 12:
		if r.what = part; p[9] == 0 {
			r.what = data
		}
	case !strings.HasPrefix(p, "\xff\xff\xff\xff") || len(p) < 5:
	case p[4] == 'T' || p[4] == 'U' || p[4] == 'V':
		r.what = query
		if r.key = strings.TrimPrefix(p, info); p[4] != 'T' {
			r.key = strings.TrimPrefix(p[5:], "\xff\xff\xff\xff")
		}
	case p[4] == 'A':
		r.what, r.key = challenged, p[5:]
	case p[4] == 'I' || p[4] == 'D' || p[4] == 'E':
		r.what = data
	case strings.HasPrefix(p[4:], "qconnect"): // of another game
	default:
		r.what = junk
	}
}

// readConsole reads a message of a remote console.
func (r *row) readConsole() {
	if len(r.payload) < 12 {
		return
	}
	id, kind := binary.LittleEndian.Uint32([]byte(r.payload[4:])), binary.LittleEndian.Uint32([]byte(r.payload[8:]))
	switch {
	case kind == 3:
		r.what, r.key = login, r.payload[12:]
	case kind == 2 && id == 1<<32-1:
		r.what = refusal
	}
}

// span is a stretch of time; to is not in it.
type span struct{ from, to int64 }

// pick returns the packets of a stretch of time for which is is true.
func (c *capture) pick(s span, is func(*row) bool) []*row {
	var list []*row
	for i := range c.rows {
		if r := &c.rows[i]; r.nanos >= s.from && r.nanos < s.to && is(r) {
			list = append(list, r)
		}
	}
	return list
}

// second returns the number of the second that a time lies in: they begin with the first packet,
// as those of the report do.
func (c *capture) second(nanos int64) int64 { return (nanos - c.first) / 1e9 }

// bySecond counts packets by second, and the bytes of each as bytes has them.
func (c *capture) bySecond(list []*row, bytes func(*row) int) map[int64]int {
	n := map[int64]int{}
	for _, r := range list {
		n[c.second(r.nanos)] += bytes(r)
	}
	return n
}

func most(counts map[int64]int) (n int) {
	for _, v := range counts {
		n = max(n, v)
	}
	return n
}

func one(*row) int         { return 1 }
func inPayload(r *row) int { return len(r.payload) }
func onWire(r *row) int    { return r.wire }
func sum(list []*row, of func(*row) int) (n int) {
	for _, r := range list {
		n += of(r)
	}
	return n
}

// distinct counts the different values that packets have of something.
func distinct[T comparable](list []*row, of func(*row) T) int { return len(countBy(list, of)) }

func countBy[T comparable](list []*row, of func(*row) T) map[T]int {
	n := map[T]int{}
	for _, r := range list {
		n[of(r)]++
	}
	return n
}

func source(r *row) netip.Addr   { return r.src.Addr() }
func receiver(r *row) netip.Addr { return r.dst.Addr() }
