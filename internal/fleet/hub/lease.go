package hub

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// keyLeader is the key of who leads.
const keyLeader = "leader"

// Holder is who leads: the value of the key.
type Holder struct {
	ID    string    `json:"id"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"` // by the leader's clock, for people
	Count uint64    `json:"count"` // of renewals
}

// lease is the right to lead. The revision of the state decides what a hub may write; the lease
// keeps hubs from working for nothing.
type lease struct {
	bucket   jetstream.KeyValue
	time     time.Duration // LeaseTime, but in tests
	mine     Holder
	revision uint64 // of what was seen or written last
	seen     time.Time
	other    Holder
}

// errLost is that another hub leads.
var errLost = errors.New("another hub leads")

// try takes the lease if it is free. It reports false while another hub has it.
func (l *lease) try(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	l.mine.Since = time.Now()
	e, err := l.bucket.Get(ctx, keyLeader)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		revision, err := l.bucket.Create(ctx, keyLeader, l.encode())
		if errors.Is(err, jetstream.ErrKeyExists) {
			return false, nil
		}
		l.revision = revision
		return err == nil, err
	}
	if err != nil {
		return false, err
	}
	if e.Revision() != l.revision {
		l.revision, l.seen, l.other = e.Revision(), time.Now(), Holder{}
		_ = json.Unmarshal(e.Value(), &l.other) // who it is, is for people
		return false, nil
	}
	if time.Since(l.seen) < l.time {
		return false, nil
	}
	return l.write(ctx)
}

// write replaces the key. It reports false if another hub was faster.
func (l *lease) write(ctx context.Context) (bool, error) {
	revision, err := l.bucket.Update(ctx, keyLeader, l.encode(), l.revision)
	if isConflict(err) {
		return false, nil
	}
	if err == nil {
		l.revision = revision
	}
	return err == nil, err
}

// isConflict reports whether another hub has written what was to be replaced.
func isConflict(err error) bool {
	return errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists)
}

func (l *lease) encode() []byte {
	l.mine.Count++
	b, err := json.Marshal(&l.mine)
	if err != nil {
		panic(err) // it has no member that could fail
	}
	return b
}

// keep renews the lease until ctx ends, or it is lost: it calls lost then.
func (l *lease) keep(ctx context.Context, lost func(error)) {
	tick := time.NewTicker(l.time / renewals)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is, err := l.renew(ctx)
		switch {
		case err == nil && is:
			last = time.Now()
		case err == nil:
			lost(errLost)
			return
		case time.Since(last) > l.time:
			lost(err)
			return
		}
	}
}

// renew writes the key once more. A write whose answer did not come may have been made.
func (l *lease) renew(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	is, err := l.write(ctx)
	if is || err != nil {
		return is, err
	}
	e, err := l.bucket.Get(ctx, keyLeader)
	if err != nil {
		return false, err
	}
	var now Holder
	if json.Unmarshal(e.Value(), &now) != nil || now.ID != l.mine.ID {
		return false, nil
	}
	l.revision = e.Revision()
	return true, nil
}

// release ends the lease, so that another hub need not wait until it expires.
func (l *lease) release() {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	_ = l.bucket.Delete(ctx, keyLeader, jetstream.LastRevision(l.revision)) // without it, others wait
}
