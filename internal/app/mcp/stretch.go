package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// question is what is asked of a capture, whatever the page: two that are equal have the same
// records.
type question struct {
	tool, capture, filter, form string
	frame                       uint64
	size, changed               int64 // of the file
}

// print returns a number that differs between questions, for cursors.
func (q *question) print() uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q", fmt.Sprint(*q))
	return h.Sum32()
}

// cursor returns the place before record i of the answer to q, as text.
func (q *question) cursor(i int) string { return fmt.Sprintf("%d-%08x", i, q.print()) }

// place returns the number of the record that a cursor precedes; 0 for none.
func (q *question) place(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	number, print, _ := strings.Cut(cursor, "-")
	i, err := strconv.ParseUint(number, 10, 31)
	if err != nil || cursor != q.cursor(int(i)) || print == "" {
		return 0, errors.New("this cursor belongs to another question, or the file has changed since: take next_cursor of the answer before with the same " +
			"arguments, or begin without cursor")
	}
	return int(i), nil
}

// stretch is a part of the records of an answer, in their order.
type stretch struct {
	first int // number of the first one
	text  []byte
	ends  []int // of each, in text
	// isLast reports whether no record follows. The rest is known then: the totals of the run
	// and what is to be said about it.
	isLast bool
	scope  string
	notes  []string
}

// record returns record i of the answer, which may be one of s.
func (s *stretch) record(i int) (b []byte, ok bool) {
	if i -= s.first; i < 0 || i >= len(s.ends) {
		return nil, false
	}
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.text[from:s.ends[i]], true
}

// end returns the number of the record after the last one of s.
func (s *stretch) end() int { return s.first + len(s.ends) }

// errEnough ends a run of which a stretch has all records that it may keep.
var errEnough = errors.New("enough records")

// collector makes records of what a run writes, one a line, and keeps a stretch of them.
type collector struct {
	stretch
	isText  bool   // lines are text, and become strings of JSON
	skip    int    // records to pass over
	pending []byte // the begin of a line
}

// Write implements io.Writer. It fails with errEnough at the first record for which there is no
// room.
func (c *collector) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		line, after, isWhole := bytes.Cut(rest, []byte{'\n'})
		if rest = after; !isWhole {
			if c.skip == 0 {
				c.pending = append(c.pending, line...)
			}
			break
		}
		if c.skip > 0 {
			c.skip--
			continue
		}
		if len(c.text) >= maxStretch {
			return 0, errEnough
		}
		if len(c.pending) > 0 {
			line = append(c.pending, line...)
			c.pending = line[:0]
		}
		c.add(line)
	}
	return len(b), nil
}

func (c *collector) add(line []byte) {
	if c.isText {
		line, _ = encode(string(line)) // no text has no form in JSON
		c.text = append(c.text, line...)
	} else {
		c.text = appendPlain(c.text, line)
	}
	c.ends = append(c.ends, len(c.text))
}

// cache keeps the stretches of the last questions. Its methods may be called by several
// goroutines.
type cache struct {
	mu  sync.Mutex
	all []cached // the latest used first, at most maxStretches
}

type cached struct {
	q question
	*stretch
}

// find returns a stretch with record i of the answer to q, or with its end if i follows the last
// record; nil for none.
func (c *cache) find(q question, i int) *stretch {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.all, func(x cached) bool {
		return x.q == q && i >= x.first && (i < x.end() || x.isLast && i == x.end())
	})
	if at < 0 {
		return nil
	}
	x := c.all[at]
	copy(c.all[1:], c.all[:at])
	c.all[0] = x
	return x.stretch
}

// keep adds a stretch of the answer to q.
func (c *cache) keep(q question, s *stretch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.Insert(c.all, 0, cached{q, s})
	if len(c.all) > maxStretches {
		clear(c.all[maxStretches:])
		c.all = c.all[:maxStretches]
	}
}

// appendPlain appends JSON with <, > and & as they are, which pages of HTML need escaped.
func appendPlain(dst, record []byte) []byte {
	for {
		i := bytes.IndexByte(record, '\\')
		if i < 0 || i+1 == len(record) {
			return append(dst, record...)
		}
		dst = append(dst, record[:i]...)
		escape, plain := 2, record[i:i+2]
		if len(record) >= i+6 {
			switch string(record[i : i+6]) {
			case `\u003c`, `\u003C`:
				escape, plain = 6, []byte{'<'}
			case `\u003e`, `\u003E`:
				escape, plain = 6, []byte{'>'}
			case `\u0026`:
				escape, plain = 6, []byte{'&'}
			}
		}
		dst, record = append(dst, plain...), record[i+escape:]
	}
}
