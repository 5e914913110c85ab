package outbox

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

// proxy is the network between a sensor and its broker.
type proxy struct {
	listener net.Listener
	to       string
	isMute   atomic.Bool // what the broker says is lost
	isDead   atomic.Bool // and what the sensor says
	mu       sync.Mutex
	conns    []net.Conn
}

func startProxy(t *testing.T, url string) *proxy {
	t.Helper()
	p := &proxy{to: strings.TrimPrefix(url, "nats://")}
	var err error
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go p.serve()
	t.Cleanup(func() {
		p.listener.Close()
		p.cut()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		go carry(near, far, &p.isMute)
		go carry(far, near, &p.isDead)
	}
}

// carry copies what comes, unless it is lost.
func carry(to, from net.Conn, isLost *atomic.Bool) {
	defer to.Close()
	for b := make([]byte, 4096); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if isLost.Load() {
			continue
		}
		if _, err := io.Copy(to, strings.NewReader(string(b[:n]))); err != nil {
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// TestAcknowledgementsLost: the broker has messages whose acknowledgements the sensor lacks, and the connection
// ends, or the process: all that is published again is dropped as a repeat, and the order stays.
func TestAcknowledgementsLost(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, nil)
	js := b.Connect()
	makeStream(t, js)
	p := startProxy(t, b.URL())
	opt := Options{URLs: p.url(), Spool: t.TempDir(), Size: LeastSpool}
	stored := func(n int) {
		t.Helper()
		timing.Await(t, fmt.Sprintf("%d messages at the broker", n), func() bool { return len(numbers(t, js)) >= n })
	}
	o := run(t, opt)
	const batch = 100
	for round := range 5 {
		n := round * batch
		o.put("a", n+1, n+batch/2)
		o.awaitSent(uint64(n + batch/2))
		p.isMute.Store(true)
		o.put("a", n+batch/2+1, n+batch)
		stored(n + batch/2 + 1)
		p.cut()
		p.isMute.Store(false)
		o.awaitSent(uint64(n + batch))
	}
	p.isMute.Store(true)
	o.put("a", 501, 510)
	stored(501)
	o.kill()
	if c := o.Counts(); c.Waiting != 10 {
		t.Errorf("killed: %+v", c)
	}
	p.cut()
	p.isMute.Store(false)
	o = run(t, opt)
	o.put("b", 1, 10)
	o.awaitSent(20)
	o.finish()
	checkStream(t, numbers(t, js), "a 1 510", "b 1 10")
}

// TestNetworkCut: packets are lost without a word. The sensor finds out, and sends all of it once there is
// a network again.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, nil)
	js := b.Connect()
	makeStream(t, js)
	p := startProxy(t, b.URL())
	o := run(t, Options{URLs: p.url()})
	o.put("a", 1, 100)
	o.awaitSent(100)
	p.isMute.Store(true)
	o.put("a", 101, 200) // the broker gets some of them
	timing.Await(t, "messages", func() bool { return len(numbers(t, js)) > 100 })
	p.isDead.Store(true)
	o.put("a", 201, 300)
	o.awaitLog("no answer in time")
	p.cut()
	p.isMute.Store(false)
	p.isDead.Store(false)
	o.awaitSent(300)
	if c := o.finish(); c.Dropped+c.Refused != 0 || c.Retried == 0 {
		t.Errorf("%+v", c)
	}
	checkStream(t, numbers(t, js), "a 1 300")
}
