package fleettest

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/outbox"
)

// Post brings the messages of a fleet to a broker: an outbox for each sensor, as the process has that
// a monitor starts for what it tells.
type Post struct {
	t      testing.TB
	broker *Broker
	dir    string
	size   int64
	boxes  []*Box
	done   sync.WaitGroup
}

// Box is the outbox of a sensor.
type Box struct {
	*outbox.Outbox
	Link *Link
	Made uint64 // messages that were put into it
}

// NewPost returns a post whose outboxes have a spool of so many bytes each, in a folder.
func NewPost(t testing.TB, b *Broker, dir string, size int64) *Post {
	return &Post{t: t, broker: b, dir: dir, size: size}
}

// Box returns the outbox of a host, which is opened when it is needed first.
func (p *Post) Box(h *Host) *Box {
	p.t.Helper()
	for len(p.boxes) <= h.Index {
		p.boxes = append(p.boxes, nil)
	}
	if b := p.boxes[h.Index]; b != nil {
		return b
	}
	b := &Box{Link: p.broker.Link()}
	var err error
	b.Outbox, err = outbox.Open(outbox.Options{URLs: "nats://broker.invalid", Sensor: h.Name, Prefix: fleet.DefaultPrefix,
		Spool: filepath.Join(p.dir, h.Name), Size: p.size, Dialer: b.Link, Log: func(string) {}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.boxes[h.Index] = b
	p.done.Go(func() { b.Run(context.Background()) })
	return b
}

// Put takes a message of a sensor.
func (p *Post) Put(x *Sensor, m fleet.Message) {
	line, err := fleet.Encode(m)
	if err != nil {
		p.t.Error(err)
		return
	}
	b, h := p.Box(x.Host), fleet.HeadOf(m)
	b.Made++
	b.Outbox.Put(&outbox.Message{Kind: h.Kind, ID: h.MessageID(), Line: line})
}

// Waiting returns how many messages have not been acknowledged.
func (p *Post) Waiting() (n int) {
	for _, b := range p.boxes {
		n += b.Counts().Waiting
	}
	return n
}

// Close delivers what waits, and ends.
func (p *Post) Close() {
	for _, b := range p.boxes {
		b.Outbox.Close()
	}
	p.done.Wait()
}
