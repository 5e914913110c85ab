package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
)

// received is a message of a stream.
type received struct {
	subject string
	id      string // by which the broker drops a second one
	data    []byte
	seq     uint64 // in the stream
	time    int64  // Unix nanoseconds, by the broker
	sent    int64  // by the sensor; 0: unknown
}

// reader reads a stream in order.
type reader struct {
	stream jetstream.Stream
	next   uint64 // number of the message that is read next
	target uint64 // of the last one that was there when look was called
	lost   uint64 // messages that were dropped before they were read
	it     jetstream.MessagesContext
	head   *received // read and not taken; nil: none
	first  uint64    // number of the oldest message there is
	bytes  int64     // of all of them
}

// look asks the broker what there is, and returns its time. A stream that begins later than where the
// reader is has dropped messages, one that ends before is another one than it was.
func (r *reader) look(ctx context.Context) (now int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	info, err := r.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	r.target, r.first, r.bytes = info.State.LastSeq, info.State.FirstSeq, int64(info.State.Bytes)
	switch first := info.State.FirstSeq; {
	case r.target+1 < r.next:
		r.seek(max(first, 1))
	case first > r.next:
		r.lost += first - r.next
		r.seek(first)
	}
	return info.TimeStamp.UnixNano(), nil
}

// unread returns how many messages are to be read.
func (r *reader) unread() uint64 {
	if r.target < r.next {
		return 0
	}
	return r.target - r.next + 1
}

// seek has the reader go on at a number.
func (r *reader) seek(next uint64) {
	r.next, r.head = next, nil
	r.close()
}

// peek returns the next message, nil if none is left of those that were there at look.
func (r *reader) peek(ctx context.Context) (*received, error) {
	if r.head != nil || r.unread() == 0 {
		return r.head, nil
	}
	if r.it == nil {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	m, err := r.it.Next(jetstream.NextContext(ctx))
	if err != nil {
		r.close()
		return nil, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	r.head = &received{subject: m.Subject(), id: m.Headers().Get(jetstream.MsgIDHeader), data: m.Data(), seq: meta.Sequence.Stream, time: meta.Timestamp.UnixNano()}
	if text := m.Headers().Get(fleet.HeaderSent); text != "" {
		r.head.sent, _ = strconv.ParseInt(text, 10, 64) // 0: unknown
	}
	return r.head, nil
}

// isFull reports whether the stream was nearly as large as it may be, size, when it was looked at.
func (r *reader) isFull(size int64) bool {
	return r.bytes > size*trimFrom/trimOf && r.target >= r.first
}

// trim removes the oldest messages, none after the number last, if the stream is full.
func (r *reader) trim(ctx context.Context, size int64, last uint64) error {
	if !r.isFull(size) {
		return nil
	}
	part := float64(r.bytes-size*trimTo/trimOf) / float64(r.bytes)
	end := min(r.first+uint64(part*float64(r.target-r.first+1)), last+1)
	if end <= r.first {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return r.stream.Purge(ctx, jetstream.WithPurgeSequence(end)) // those before end
}

// take takes what peek returned.
func (r *reader) take() {
	r.lost += r.head.seq - r.next
	r.next = r.head.seq + 1
	r.head = nil
}

func (r *reader) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	c, err := r.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next})
	if err != nil {
		return err
	}
	r.it, err = c.Messages()
	return err
}

func (r *reader) close() {
	if r.it != nil {
		r.it.Stop()
		r.it = nil
	}
}

// errOlder is that the broker gave a message twice or out of order, which it does not.
var errOlder = errors.New("a message came out of order")

// merge passes on the messages of several streams by the broker's time, at most so many. It returns how
// many there were.
func merge(ctx context.Context, most int, readers []*reader, pass func(*received)) (n int, err error) {
	for ; n < most; n++ {
		var first *reader
		for _, r := range readers {
			m, err := r.peek(ctx)
			if err != nil {
				return n, fmt.Errorf("reading %s: %w", r.stream.CachedInfo().Config.Name, err)
			}
			if m != nil && m.seq < r.next {
				r.close()
				r.head = nil
				return n, errOlder
			}
			if m != nil && (first == nil || m.time < first.head.time) {
				first = r
			}
		}
		if first == nil {
			break
		}
		pass(first.head)
		first.take()
	}
	return n, nil
}

// refusals count the messages that cannot be of a sensor, by sensor and reason.
type refusals struct {
	mu     sync.Mutex
	counts map[refusal]uint64
}

type refusal struct {
	sensor string
	why    fleet.Reason
}

// Refused is how many messages of a sensor were refused for a reason, since the hub began.
type Refused struct {
	Sensor string       `json:"sensor"` // empty: further ones, and subjects of none
	Why    fleet.Reason `json:"why"`
	Count  uint64       `json:"count"`
}

func (r *refusals) add(sensor string, why fleet.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[refusal]uint64{}
	}
	k := refusal{sensor, why}
	if _, isKnown := r.counts[k]; !isKnown && len(r.counts) >= mostRefusers {
		k.sensor = ""
	}
	r.counts[k]++
}

// list returns the counts, the most first.
func (r *refusals) list() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Refused, 0, len(r.counts))
	for _, k := range slices.SortedFunc(maps.Keys(r.counts), func(a, b refusal) int { return cmp.Or(cmp.Compare(a.sensor, b.sensor), cmp.Compare(a.why, b.why)) }) {
		all = append(all, Refused{k.sensor, k.why, r.counts[k]})
	}
	slices.SortStableFunc(all, func(a, b Refused) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
