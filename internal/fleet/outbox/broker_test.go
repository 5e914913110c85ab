package outbox

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

const stream = "QSNIFF"

// makeStream makes the stream of all sensors.
func makeStream(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	natstest.MakeStream(t, js, stream, "qsniff.*.*")
}

// numbers returns the numbers of the messages in the stream, in its order.
func numbers(t *testing.T, js jetstream.JetStream) (all []string) {
	t.Helper()
	for _, m := range natstest.Messages(t, js, stream) {
		id := m.Header.Get(jetstream.MsgIDHeader)
		if sensor, _, _ := strings.Cut(id, "/"); m.Subject != "qsniff."+sensor+".server" || m.Header.Get(fleet.HeaderSent) == "" {
			t.Errorf("%s at %s, header %v", id, m.Subject, m.Header)
		}
		all = append(all, id)
	}
	return all
}

// checkStream checks that the stream has the messages of runs, in order, each once.
func checkStream(t *testing.T, got []string, runs ...string) {
	t.Helper()
	var want []string
	for _, run := range runs {
		var name string
		var first, last int
		if _, err := fmt.Sscanf(run, "%s %d %d", &name, &first, &last); err != nil {
			t.Fatal(err)
		}
		for no := first; no <= last; no++ {
			want = append(want, message(name, no).ID)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got  %d: %v\nwant %d: %v", len(got), got, len(want), want)
	}
}

// running is an Outbox at work.
type running struct {
	*Outbox
	t      *testing.T
	cancel func()
	ended  chan struct{}
	mu     sync.Mutex
	log    []string
}

// run starts an Outbox.
func run(t *testing.T, opt Options) *running {
	t.Helper()
	r := &running{t: t, ended: make(chan struct{})}
	opt.Sensor, opt.Prefix = "web-1", "qsniff"
	opt.Log = func(line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.log = append(r.log, line)
	}
	var err error
	if r.Outbox, err = Open(opt); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		r.Run(ctx)
		close(r.ended)
	}()
	t.Cleanup(r.kill)
	return r
}

func (r *running) put(run string, first, last int) {
	for no := first; no <= last; no++ {
		r.Put(message(run, no))
	}
}

// kill ends it without waiting for the broker.
func (r *running) kill() {
	r.cancel()
	<-r.ended
}

// finish ends it as a run that is over does.
func (r *running) finish() Counts {
	r.Close()
	<-r.ended
	return r.Counts()
}

func (r *running) awaitSent(n uint64) {
	r.t.Helper()
	timing.Await(r.t, fmt.Sprintf("%d acknowledgements", n), func() bool { return r.Counts().Sent >= n })
}

func (r *running) awaitLog(text string) {
	r.t.Helper()
	timing.Await(r.t, text, func() bool { return strings.Contains(r.said(), text) })
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "\n")
}

// TestDelivers: messages arrive in order, and what is put last before the end arrives, too.
func TestDelivers(t *testing.T) {
	b := natstest.Start(t, nil)
	js := b.Connect()
	makeStream(t, js)
	o := run(t, Options{URLs: b.URL()})
	o.put("a", 1, 500)
	o.Put(&Message{"server", "web-2/a/1", []byte("{}")})
	c := o.finish()
	checkStream(t, numbers(t, js), "a 1 500")
	if c != (Counts{Sent: 500, Refused: 1}) || o.said() != "" {
		t.Errorf("%+v %s", c, o.said())
	}
	o.put("a", 501, 501)
	if c := o.Counts(); c.Dropped != 1 {
		t.Errorf("%+v", c)
	}
}

// TestBrokerAway: what comes while there is no broker, no stream, and then while the broker restarts
// arrives in order and once, with a disk and without.
func TestBrokerAway(t *testing.T) {
	for _, hasDisk := range []bool{false, true} {
		t.Run(fmt.Sprint(hasDisk), func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, nil)
			url := b.URL()
			b.Stop()
			opt := Options{URLs: url}
			if hasDisk {
				opt.Spool, opt.Size = filepath.Join(t.TempDir(), "spool"), LeastSpool
			}
			o := run(t, opt)
			o.put("a", 1, 100)
			o.awaitLog("no broker listens there")
			b.Restart()
			o.awaitLog("no stream for the messages: qsniff-hub makes it")
			o.put("a", 101, 200)
			makeStream(t, b.Connect())
			o.awaitSent(200)
			for restart := range 3 {
				first := 201 + 200*restart
				o.put("a", first, first+99)
				b.Stop()
				o.put("a", first+100, first+199)
				b.Restart()
				o.awaitSent(uint64(first + 199))
			}
			o.awaitLog("works again")
			c := o.finish()
			checkStream(t, numbers(t, b.Connect()), "a 1 800")
			if c.Sent != 800 || c.Waiting+int(c.Dropped+c.Refused) != 0 || c.Retried < 4 {
				t.Errorf("%+v", c)
			}
			if hasDisk {
				checkFolder(t, opt.Spool, 0)
			}
		})
	}
}

// checkFolder checks how many segments a spool has.
func checkFolder(t *testing.T, dir string, want int) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.qsniff"))
	if err != nil || len(all) != want {
		t.Errorf("%v, %v; want %d", all, err, want)
	}
}

// TestRestart: a process that ends, and one that is killed, leave what the broker does not have to
// the next one, and nothing is in the stream twice.
func TestRestart(t *testing.T) {
	b := natstest.Start(t, nil)
	makeStream(t, b.Connect())
	opt := Options{URLs: b.URL(), Spool: filepath.Join(t.TempDir(), "spool"), Size: LeastSpool}
	o := run(t, opt)
	o.put("a", 1, 100)
	o.awaitSent(100)
	b.Stop()
	o.put("a", 101, 300)
	timing.Await(t, "the spool", func() bool { return o.Counts().Waiting == 200 })
	if c := o.finish(); c.Waiting != 200 || c.Dropped != 0 {
		t.Errorf("%+v", c)
	}
	checkFolder(t, opt.Spool, 1)
	o = run(t, opt)
	o.put("b", 1, 100)
	timing.Await(t, "the spool", func() bool { return o.Counts().Waiting == 300 })
	o.kill()
	b.Restart()
	o = run(t, opt)
	o.awaitSent(300)
	c := o.finish()
	checkStream(t, numbers(t, b.Connect()), "a 1 300", "b 1 100")
	if c != (Counts{Sent: 300}) {
		t.Errorf("%+v %s", c, o.said())
	}
	checkFolder(t, opt.Spool, 0)
}

// TestInbox: where acknowledgements of a sensor come ends with twelve random letters, and begins anew with each
// connection: another sensor, which may name any subject for its own, does not guess it.
func TestInbox(t *testing.T) {
	b := natstest.Start(t, nil)
	admin := b.Connect()
	makeStream(t, admin)
	seen, err := admin.Conn().SubscribeSync("qsniff.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^_INBOX\.web-1\.([0-9A-Za-z]{6})\.([0-9A-Za-z]{6})$`)
	words := map[string]bool{}
	const connections, each = 3, 4
	for i := range connections {
		o := run(t, Options{URLs: b.URL()})
		o.put("a", i*each+1, (i+1)*each)
		o.awaitSent(each)
		o.finish()
		for range each {
			m, err := seen.NextMsg(10 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			found := form.FindStringSubmatch(m.Reply)
			if found == nil {
				t.Fatalf("the inbox %s", m.Reply)
			}
			words[found[1]], words[found[2]] = true, true
		}
	}
	if len(words) != connections+connections*each {
		t.Errorf("%d different words in the inboxes of %d connections: %v", len(words), connections, words)
	}
}
