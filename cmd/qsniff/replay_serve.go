package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"qsniff/internal/app/replay"
	"qsniff/internal/base/digits"
)

// replayServer is the sockets around a replay.Server.
type replayServer struct {
	opts *replayOptions
	errs io.Writer
	busy sync.WaitGroup

	mu      sync.Mutex // guards what follows
	server  *replay.Server
	rng     *rand.Rand
	counts  [replay.Outcomes]uint64
	delayed int
	lost    uint64 // datagrams that --loss took
	crowded uint64 // replies that were not sent, because replayDelayed others waited for --delay
	refused uint64 // connections that were closed at once, because there were replayConns others
	conns   map[net.Conn]bool
	isOver  bool // connections are not taken any more
}

// serve listens until ctx ends, and prints the address on out and in the end what was
// answered.
func (s *replayServer) serve(ctx context.Context, at netip.AddrPort, out io.Writer) error {
	udp, tcp, err := listenBoth(ctx, at)
	if err != nil {
		return &hintedError{err, "--listen 127.0.0.1:0 takes any free port"}
	}
	s.conns = make(map[net.Conn]bool)
	stop := context.AfterFunc(ctx, func() {
		udp.Close()
		tcp.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.isOver = true
		for c := range s.conns {
			c.Close()
		}
	})
	defer stop()
	if _, err := fmt.Fprintln(out, udp.LocalAddr()); err != nil {
		udp.Close()
		tcp.Close()
		return err
	}
	s.busy.Go(func() { s.accept(ctx, tcp) })
	err = s.answerDatagrams(udp)
	tcp.Close()
	s.busy.Wait()
	if ctx.Err() == nil {
		return err
	}
	s.printSummary()
	return nil
}

// listenBoth listens over UDP and TCP at one port. Where any port is wanted, TCP may not have
// the one that UDP got: then it takes another.
func listenBoth(ctx context.Context, at netip.AddrPort) (udp *net.UDPConn, tcp net.Listener, err error) {
	// With "udp", 0.0.0.0 would be all addresses of IPv6, too.
	version := "4"
	if at.Addr().Is6() {
		version = "6"
	}
	for range portTries {
		if udp, err = net.ListenUDP("udp"+version, net.UDPAddrFromAddrPort(at)); err != nil {
			return nil, nil, err
		}
		var c net.ListenConfig
		if tcp, err = c.Listen(ctx, "tcp"+version, udp.LocalAddr().String()); err == nil {
			return udp, tcp, nil
		}
		udp.Close()
		if at.Port() != 0 {
			break
		}
	}
	return nil, nil, err
}

// answerDatagrams answers datagrams until the socket is closed.
func (s *replayServer) answerDatagrams(conn *net.UDPConn) error {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil { // an ICMP error about an earlier reply
			continue
		}
		client := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		s.mu.Lock()
		r := s.server.Answer(client, buf[:n])
		s.note(client, "UDP", &r)
		sent := s.opts.torment.Apply(s.rng, r.Datagrams)
		s.lost += uint64(len(r.Datagrams) - len(sent))
		s.mu.Unlock()
		s.later(func() {
			for _, b := range sent {
				if _, err := conn.WriteToUDPAddrPort(b, from); err != nil {
					return // a client that has gone does not want the rest
				}
			}
		})
	}
}

// later calls send after --delay, or at once if there is none.
func (s *replayServer) later(send func()) {
	if s.opts.delay == 0 {
		send()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delayed == replayDelayed {
		s.crowded++
		return
	}
	s.delayed++
	time.AfterFunc(s.opts.delay, func() {
		send()
		s.mu.Lock()
		s.delayed--
		s.mu.Unlock()
	})
}

// accept serves connections until the listener is closed.
func (s *replayServer) accept(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, or a client that has gone
			time.Sleep(pollEvery)
			continue
		}
		s.mu.Lock()
		isFull := len(s.conns) >= replayConns || s.isOver
		if !isFull {
			s.conns[conn] = true
		} else if !s.isOver {
			s.refused++
		}
		s.mu.Unlock()
		if isFull {
			conn.Close()
			continue
		}
		s.busy.Go(func() {
			s.answerConn(ctx, conn)
			conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// answerConn answers the requests of a connection until it ends.
func (s *replayServer) answerConn(ctx context.Context, conn net.Conn) {
	client := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	s.mu.Lock()
	c := s.server.NewConn(client)
	s.mu.Unlock()
	if c == nil {
		return // nobody connected in the capture
	}
	buf := make([]byte, 1<<14)
	for {
		conn.SetDeadline(time.Now().Add(replayIdle))
		n, err := conn.Read(buf)
		if n > 0 {
			var replies []replay.Reply
			s.mu.Lock()
			goesOn := c.Receive(buf[:n], func(r replay.Reply) {
				s.note(client, "TCP", &r)
				replies = append(replies, r)
			})
			s.mu.Unlock()
			if len(replies) > 0 && s.opts.delay > 0 {
				select {
				case <-time.After(s.opts.delay):
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

// note counts a reply, and prints a line for it with -v. No bytes of the request are in it:
// they may be a password.
func (s *replayServer) note(client netip.AddrPort, transport string, r *replay.Reply) {
	s.counts[r.Outcome]++
	if !s.opts.verbose {
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
	fmt.Fprintf(s.errs, "qsniff: %s %s %s: %s%s\n", client, transport, name, r.Outcome, size)
}

// printSummary prints what became of all requests.
func (s *replayServer) printSummary() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	all := uint64(0)
	for o, n := range s.counts {
		all += n
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", digits.Grouped(int64(n)), replay.Outcome(o)))
		}
	}
	if s.lost > 0 {
		parts = append(parts, digits.Counted(s.lost, "datagram")+" lost on purpose")
	}
	if s.crowded > 0 {
		parts = append(parts, fmt.Sprintf("%s not sent: %d others waited for --delay", count(s.crowded, "reply", "replies"), replayDelayed))
	}
	if s.refused > 0 {
		parts = append(parts, fmt.Sprintf("%s closed at once: %d others were open", digits.Counted(s.refused, "connection"), replayConns))
	}
	end := ""
	if len(parts) > 0 {
		end = ": " + strings.Join(parts, ", ")
	}
	fmt.Fprintf(s.errs, "qsniff: %s%s\n", digits.Counted(all, "request"), end)
}
