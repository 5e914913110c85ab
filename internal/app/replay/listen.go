package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"qsniff/internal/base/digits"
)

// ListenOptions say how a Listener answers.
type ListenOptions struct {
	Torment Torment
	Delay   time.Duration // before each reply
	Rand    *rand.Rand    // what Torment chooses by
	// Note, if it is set, gets a line for each request. No bytes of the request are in it: they may be a
	// password.
	Note func(line string)
}

// Listener is the sockets around a Server: UDP and TCP at one port.
type Listener struct {
	opt  ListenOptions
	udp  *net.UDPConn
	tcp  net.Listener
	busy sync.WaitGroup

	mu      sync.Mutex // guards what follows
	server  *Server
	counts  [Outcomes]uint64
	delayed int
	lost    uint64 // datagrams that Torment took
	crowded uint64 // replies that were not sent, because maxDelayed others waited for Delay
	refused uint64 // connections that were closed at once, because there were maxConns others
	conns   map[net.Conn]bool
	isOver  bool // connections are not accepted any more
}

// Listen opens the sockets. Where any port is wanted, TCP may not have the one that UDP got: then another is
// tried.
func Listen(ctx context.Context, at netip.AddrPort, server *Server, opt ListenOptions) (*Listener, error) {
	// With "udp", 0.0.0.0 would be all addresses of IPv6, too.
	version := "4"
	if at.Addr().Is6() {
		version = "6"
	}
	l := &Listener{opt: opt, server: server, conns: make(map[net.Conn]bool)}
	var err error
	for range portTries {
		if l.udp, err = net.ListenUDP("udp"+version, net.UDPAddrFromAddrPort(at)); err != nil {
			return nil, err
		}
		var c net.ListenConfig
		if l.tcp, err = c.Listen(ctx, "tcp"+version, l.udp.LocalAddr().String()); err == nil {
			return l, nil
		}
		l.udp.Close()
		if at.Port() != 0 {
			break
		}
	}
	return nil, err
}

// Addr returns the address at which both sockets listen.
func (l *Listener) Addr() net.Addr { return l.udp.LocalAddr() }

// Close closes both sockets.
func (l *Listener) Close() {
	l.udp.Close()
	l.tcp.Close()
}

// Serve answers until ctx ends, and closes the sockets. It returns an error if they end before that.
func (l *Listener) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.end)()
	l.busy.Go(func() { l.accept(ctx) })
	err := l.answerDatagrams()
	l.tcp.Close()
	l.busy.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// end closes the sockets and the connections.
func (l *Listener) end() {
	l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isOver = true
	for c := range l.conns {
		c.Close()
	}
}

// answerDatagrams answers datagrams until the socket is closed.
func (l *Listener) answerDatagrams() error {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := l.udp.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil { // an ICMP error about an earlier reply
			continue
		}
		client := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		l.mu.Lock()
		r := l.server.Answer(client, buf[:n])
		l.count(client, "UDP", &r)
		sent := l.opt.Torment.Apply(l.opt.Rand, r.Datagrams)
		l.lost += uint64(len(r.Datagrams) - len(sent))
		l.mu.Unlock()
		l.later(func() {
			for _, b := range sent {
				if _, err := l.udp.WriteToUDPAddrPort(b, from); err != nil {
					return // a client that has gone does not want the rest
				}
			}
		})
	}
}

// later calls send after the delay, or at once if there is none.
func (l *Listener) later(send func()) {
	if l.opt.Delay == 0 {
		send()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.delayed == maxDelayed {
		l.crowded++
		return
	}
	l.delayed++
	time.AfterFunc(l.opt.Delay, func() {
		send()
		l.mu.Lock()
		l.delayed--
		l.mu.Unlock()
	})
}

// accept serves connections until the listening socket is closed.
func (l *Listener) accept(ctx context.Context) {
	for {
		conn, err := l.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, or a client that has gone
			time.Sleep(acceptPause)
			continue
		}
		l.mu.Lock()
		isFull := len(l.conns) >= maxConns || l.isOver
		if !isFull {
			l.conns[conn] = true
		} else if !l.isOver {
			l.refused++
		}
		l.mu.Unlock()
		if isFull {
			conn.Close()
			continue
		}
		l.busy.Go(func() {
			l.answerConn(ctx, conn)
			conn.Close()
			l.mu.Lock()
			delete(l.conns, conn)
			l.mu.Unlock()
		})
	}
}

// answerConn answers the requests of a connection until it ends.
func (l *Listener) answerConn(ctx context.Context, conn net.Conn) {
	client := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	l.mu.Lock()
	c := l.server.NewConn(client)
	l.mu.Unlock()
	if c == nil {
		return // the capture has no connection
	}
	buf := make([]byte, 1<<14)
	for {
		conn.SetDeadline(time.Now().Add(maxIdle))
		n, err := conn.Read(buf)
		if n > 0 {
			var replies []Reply
			l.mu.Lock()
			goesOn := c.Receive(buf[:n], func(r Reply) {
				l.count(client, "TCP", &r)
				replies = append(replies, r)
			})
			l.mu.Unlock()
			if len(replies) > 0 && l.opt.Delay > 0 {
				select {
				case <-time.After(l.opt.Delay):
				case <-ctx.Done():
					return
				}
			}
			for i := range replies {
				all := net.Buffers(replies[i].Datagrams)
				if _, err := all.WriteTo(conn); err != nil {
					return
				}
			}
			if !goesOn {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// count counts a reply, and notes it.
func (l *Listener) count(client netip.AddrPort, transport string, r *Reply) {
	l.counts[r.Outcome]++
	if l.opt.Note == nil {
		return
	}
	name := "?"
	if r.Type != nil {
		name = r.Type.Name
	}
	size := ""
	if n := len(r.Datagrams); n > 0 {
		size = fmt.Sprintf(", %s in %d", digits.Counted(uint64(r.Size()), "byte"), n)
	}
	l.opt.Note(fmt.Sprintf("%s %s %s: %s%s", client, transport, name, r.Outcome, size))
}

// Summary returns in a line what became of all requests.
func (l *Listener) Summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var parts []string
	all := uint64(0)
	for o, n := range l.counts {
		all += n
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", digits.Grouped(int64(n)), Outcome(o)))
		}
	}
	if l.lost > 0 {
		parts = append(parts, digits.Counted(l.lost, "datagram")+" lost on purpose")
	}
	if l.crowded > 0 {
		parts = append(parts, fmt.Sprintf("%d %s not sent: %d others waited for --delay",
			l.crowded, digits.Noun(l.crowded, "reply", "replies"), maxDelayed))
	}
	if l.refused > 0 {
		parts = append(parts, fmt.Sprintf("%s closed at once: %d others were open",
			digits.Counted(l.refused, "connection"), maxConns))
	}
	line := digits.Counted(all, "request")
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line
}

// limit: bounds of qsniff replay.
const (
	// maxConns is how many connections are open at a time; more are closed at once. Chosen:
	// more than the tests of a library open.
	maxConns = 64
	// maxIdle is how long a connection may be silent. Chosen: longer than anybody thinks
	// about a command.
	maxIdle = 10 * time.Minute
	// maxDelayed is how many replies wait for --delay; more are lost. Chosen: a reply
	// each millisecond, with a delay of four seconds.
	maxDelayed = 4096
	// MaxDelay bounds --delay. Chosen: longer than any client waits.
	MaxDelay = time.Minute
	// portTries is how often a port is looked for that is free over UDP and TCP.
	// Chosen: one of two is free even where most are taken.
	portTries = 20
)

// acceptPause follows a connection that could not be accepted. Chosen: less than a client notices.
const acceptPause = 100 * time.Millisecond
