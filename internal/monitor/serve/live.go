package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Live gives out one document that changes, and announces newer versions of it to viewers by
// server-sent events. The document is made once for all readers, and only while there are any.
//
// A viewer costs a connection, a goroutine and room for one version that is yet to be announced to
// it: one that is slow skips versions. A viewer's stream ends after viewerLease with an event
// "again", upon which a page asks anew; one that does not leave then has stopped reading, and is
// dropped.
type Live struct {
	make    func(context.Context) ([]byte, error)
	version int64 // Unix milliseconds of the start, and one more with each version

	making sync.Mutex // held while the document is made; guards the fields below
	tried  time.Time
	err    error

	now atomic.Pointer[document]

	mu      sync.Mutex // guards viewers
	viewers map[chan struct{}]struct{}

	refused, stalled atomic.Uint64
	lease, leave     time.Duration // viewerLease and viewerLeave, but in tests
}

// document is one version of it.
type document struct {
	tag          string // the version
	plain, small []byte // small: with gzip
}

// NewLive returns a Live of the documents that make returns: JSON, which it no longer changes.
// Run has to be called.
func NewLive(make func(context.Context) ([]byte, error)) *Live {
	return &Live{make: make, version: time.Now().UnixMilli(), viewers: map[chan struct{}]struct{}{}, lease: viewerLease, leave: viewerLeave}
}

// LiveStats counts viewers.
type LiveStats struct {
	Viewers int64  // now
	Refused uint64 // beyond maxViewers
	Stalled uint64 // that did not read, and were dropped
}

// Stats returns how many viewers there are and were.
func (l *Live) Stats() LiveStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LiveStats{Viewers: int64(len(l.viewers)), Refused: l.refused.Load(), Stalled: l.stalled.Load()}
}

// Run makes newer versions as long as there are viewers, until ctx ends.
func (l *Live) Run(ctx context.Context) {
	tick := time.NewTicker(documentEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if l.Stats().Viewers > 0 {
				_, _ = l.refresh(ctx) // who asks for the document gets the error
			}
		}
	}
}

// refresh returns a document that is no older than documentEvery, or why there is none.
func (l *Live) refresh(ctx context.Context) (*document, error) {
	l.making.Lock()
	defer l.making.Unlock()
	if since := time.Since(l.tried); !l.tried.IsZero() && since < documentEvery*9/10 { // the ticker of Run is not exact
		return l.now.Load(), l.err
	}
	var text []byte
	text, l.err = l.make(context.WithoutCancel(ctx)) // others wait for it, too
	l.tried = time.Now()
	old := l.now.Load()
	if l.err != nil || old != nil && bytes.Equal(old.plain, text) {
		return old, l.err
	}
	var small bytes.Buffer
	z, err := gzip.NewWriterLevel(&small, gzip.BestSpeed) // a new one every documentEvery
	if err != nil {
		return old, err
	}
	if _, err := z.Write(text); err != nil {
		return old, err
	}
	if err := z.Close(); err != nil {
		return old, err
	}
	l.version++
	d := &document{tag: strconv.FormatInt(l.version, 10), plain: text, small: small.Bytes()}
	l.now.Store(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.viewers {
		announce(v)
	}
	return d, nil
}

// announce notes that the newest version is to be announced to a viewer.
func announce(viewer chan<- struct{}) {
	select {
	case viewer <- struct{}{}:
	default: // a version is to be announced to it already
	}
}

// ServeDocument answers with the newest version. Its ETag is the version.
func (l *Live) ServeDocument(w http.ResponseWriter, r *http.Request) {
	d, err := l.refresh(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	h, tag := w.Header(), `"`+d.tag+`"`
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding")
	if strings.TrimPrefix(r.Header.Get("If-None-Match"), "W/") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	writeSmall(w, r, d.plain, d.small)
}

// writeSmall writes text, as small, which is the same with gzip, if the reader takes that.
func writeSmall(w http.ResponseWriter, r *http.Request, text, small []byte) {
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		text = small
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // who does not read it does not want it
}

// ServeEvents announces versions, until the viewer leaves or its lease is over.
func (l *Live) ServeEvents(w http.ResponseWriter, r *http.Request) {
	news := make(chan struct{}, 1)
	if !l.enter(news) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer l.exit(news)
	s := stream{w, http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes events on at once
	if r.Method == http.MethodHead || s.control.SetReadDeadline(time.Time{}) != nil {
		return
	}
	if _, err := l.refresh(r.Context()); err == nil {
		announce(news)
	}
	if err := l.tell(r.Context(), &s, news); errors.Is(err, errStalled) || errors.Is(err, os.ErrDeadlineExceeded) {
		l.stalled.Add(1)
		panic(http.ErrAbortHandler) // which closes the connection
	}
}

// enter adds a viewer, unless there are maxViewers.
func (l *Live) enter(news chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.viewers) >= maxViewers {
		l.refused.Add(1)
		return false
	}
	l.viewers[news] = struct{}{}
	return true
}

func (l *Live) exit(news chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, news)
}

// tell writes events. It returns an error if the viewer does not read them.
func (l *Live) tell(ctx context.Context, s *stream, news <-chan struct{}) error {
	over := time.NewTimer(l.lease)
	defer over.Stop()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if err := s.write(": qsniff\n\n"); err != nil {
		return err
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-news:
			err = s.write(fmt.Sprintf("data: %s\n\n", l.now.Load().tag))
		case <-beat.C:
			err = s.write(": still here\n\n")
		case <-over.C:
			return l.dismiss(ctx, s)
		}
		if err != nil {
			return err
		}
	}
}

// dismiss has the viewer ask anew. It returns an error if it does not.
func (l *Live) dismiss(ctx context.Context, s *stream) error {
	if err := s.write("event: again\ndata:\n\n"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(l.leave):
		return errStalled
	}
}

var errStalled = errors.New("the viewer does not read")

// stream writes events, each of which a viewer has eventWait to take.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(eventWait)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

const (
	// limit: documentEvery is how often the document of a Live is made, whoever asks. Chosen: as new as a page
	// that somebody reads has to be.
	documentEvery = 2 * time.Second

	// limit: maxViewers is how many follow a Live at a time; more get 503. Chosen: those of a team, and a
	// quarter of the connections, so that others are left for scrapers.
	maxViewers = 32

	// limit: viewerLease is after how long a viewer has to ask anew, and viewerLeave how long it may take to leave
	// then. Chosen: a viewer that does not read takes up a place for a minute; events
	// are so short that the system takes them for it for days.
	viewerLease = time.Minute
	viewerLeave = 5 * time.Second

	// limit: heartbeat is how often a viewer is written to at least. Chosen: proxies close what is
	// silent for half a minute.
	heartbeat = 15 * time.Second

	// limit: eventWait is how long the system may take to accept an event. Chosen: a slow line, and no more.
	eventWait = 5 * time.Second
)
