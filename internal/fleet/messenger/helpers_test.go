package messenger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
)

// fakeClock is a clock whose sleep takes no time.
type fakeClock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

func newFakeClock() *fakeClock { return &fakeClock{at: time.Unix(1_700_000_000, 0)} }

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *fakeClock) sleep(ctx context.Context, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if d > 0 {
		c.slept = append(c.slept, d)
	}
	c.at = c.at.Add(d)
	return true
}

// patientClock is one by which nobody waits long enough for the last words to be over.
type patientClock struct{ *fakeClock }

func (c patientClock) sleep(ctx context.Context, d time.Duration) bool {
	if d == lastWords {
		<-ctx.Done()
	}
	return c.fakeClock.sleep(ctx, d)
}

// note returns an event of the incident of that number.
func note(no int, e notify.Event) *notify.Note {
	thread := fmt.Sprintf("run-%d", no)
	return &notify.Note{Thread: thread, Event: e, Record: "incident", Kind: "flood_few", Level: "alert", Target: "udp/198.51.100.17:27015",
		Text: "flood_few at udp/198.51.100.17:27015, from frame 10 on", Advice: "Limit what every source may ask.",
		Facts: []notify.Fact{{Name: "peak", Value: "9,000/s"}, {Name: "sources", Value: "3"}}, Nanos: 1_700_000_000e9,
		Line: json.RawMessage(fmt.Sprintf(`{"schema":2,"record":"incident","event":"%s","thread":"%s","id":%d}`, e, thread, no))}
}

// notebook keeps lines of a log.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (b *notebook) add(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
}

func (b *notebook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

// tellAll has a post deliver notes, and waits until it has tried all.
func tellAll(t *testing.T, p *post, notes ...*notify.Note) {
	t.Helper()
	p.queue = notify.NewQueue()
	for _, n := range notes {
		p.queue.Put(n)
	}
	p.queue.Close()
	p.run(context.Background())
}
