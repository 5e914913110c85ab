package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/replay"
	"qsniff/internal/base/digits"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	readOptions
	listen  string
	server  string
	force   bool
	verbose bool
	delay   time.Duration
	seed    uint64
	torment replay.Torment
}

func newReplay(io streams) *cobra.Command {
	opts := &replayOptions{readOptions: *readDefaults(), listen: "127.0.0.1:0"}
	cmd := &cobra.Command{
		Use:     "replay [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "serve the recorded replies of a capture",
		Long: `replay answers as a server in a capture did, so that clients and libraries can be tested
against real servers: with the datagrams that the server sent, split and compressed
replies too, over UDP, and over TCP at the same port. It prints the address where it
listens as its first line, and ends with Ctrl-C.

A request gets the reply that was recorded for it; if there are several, the first. Bytes
that do not change what is asked, as padding, may differ; pages of server lists and
commands must be the same. Where the server demanded a challenge there is a fresh one for
each address, and where it demanded none there is none. The console accepts the password
that the server accepted, runs no command before that, and repeats the ids of requests.
What nobody asked in the capture is not answered.

The server is the one that was asked most; --server names another. A file is read twice.

Replies are longer than requests, and who forges the address of a victim makes servers
send them there. So replay listens on addresses of this machine only. With --force it
listens elsewhere, and replies longer than their request go to clients that brought a
challenge back, or are of this machine.

--loss, --reorder and --truncate do to datagrams what bad networks do; --delay is for TCP
too.

Exit status: 0 fine, also after Ctrl-C, 1 the capture cannot be read or has no replies, or
the address is in use, 2 wrong usage, 130 interrupted while the capture is read.`,
		Example: `  qsniff replay capture.pcap                      at a free port, which it prints
  qsniff replay --listen 127.0.0.1:27015 -v capture.pcap
  qsniff replay --server 198.51.100.7:27015 capture.pcap
  qsniff replay --loss 0.2 --reorder --seed 1 capture.pcap   a bad network, the same each time`,
		Args: requireCapture,
		RunE: func(cmd *cobra.Command, args []string) error {
			return replayCaptures(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

func (o *replayOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.listen, "listen", o.listen, "listen on `ADDR:PORT`, over UDP and TCP; port 0 is any free one")
	f.StringVar(&o.server, "server", "", "answer as the server `ADDR:PORT` of the capture (default: the one that was asked most)")
	f.Float64Var(&o.torment.Loss, "loss", 0, "lose this share `P` of datagrams, 0 to 1")
	f.DurationVar(&o.delay, "delay", 0, "wait this `TIME` before each reply, as in 200ms")
	f.BoolVar(&o.torment.Reorder, "reorder", false, "send the datagrams of a reply in another order")
	f.IntVar(&o.torment.Truncate, "truncate", 0, "cut datagrams to `N` bytes (0: not)")
	f.Uint64Var(&o.seed, "seed", 0, "lose and reorder the same each time with this `NUMBER` (0: a random one)")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print a line a request on standard error")
	f.BoolVar(&o.force, "force", false, "listen on an address that others can reach")
	for _, name := range []string{"listen", "server", "loss", "delay", "truncate", "seed"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
	o.registerInput(cmd)
}

// parse returns where to listen and the server that --server names, if any.
func (o *replayOptions) parse() (listen, server netip.AddrPort, err error) {
	if listen, err = netip.ParseAddrPort(o.listen); err != nil {
		return listen, server, &usageError{fmt.Errorf("--listen %q is no address with a port", o.listen), "write 127.0.0.1:0 or [::1]:27015"}
	}
	if !listen.Addr().IsLoopback() && !o.force {
		return listen, server, &usageError{fmt.Errorf("--listen %s can be reached by others, who could make it send replies to victims", listen),
			"--listen 127.0.0.1:0 is for this machine alone; --force listens there, and sends what is longer than its request to proven clients only"}
	}
	if o.server != "" {
		if server, err = netip.ParseAddrPort(o.server); err != nil {
			return listen, server, &usageError{fmt.Errorf("--server %q is no address with a port", o.server), "write 198.51.100.7:27015"}
		}
	}
	switch {
	case !(o.torment.Loss >= 0 && o.torment.Loss <= 1):
		err = &usageError{fmt.Errorf("--loss %v is no share", o.torment.Loss), "0 loses nothing, 0.2 a fifth, 1 all"}
	case o.torment.Truncate < 0:
		err = &usageError{fmt.Errorf("--truncate %d is no length", o.torment.Truncate), "bytes that are left of a datagram"}
	case o.delay < 0 || o.delay > maxDelay:
		err = &usageError{fmt.Errorf("--delay %v is not between 0 and %v", o.delay, maxDelay), "a time like 200ms"}
	}
	return listen, server, err
}

// replayCaptures reads captures and answers as a server in them did, until ctx ends.
func replayCaptures(ctx context.Context, opts *replayOptions, args []string, io streams) error {
	listen, server, err := opts.parse()
	if err != nil {
		return err
	}
	if runtime.GOOS == "js" {
		return &hintedError{errors.New("a browser cannot listen"), "answer requests with qsniff replay on a terminal"}
	}
	names, isStream, err := opts.listInputs(args)
	if err != nil {
		return err
	}
	if isStream {
		return &usageError{errors.New("replay reads its captures twice, and a pipe can be read once"), "write it to a file: tcpdump -w capture.pcap"}
	}
	book, err := opts.readBook(ctx, names, server, io)
	if err != nil {
		return err
	}
	seed := opts.seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	s := &replayServer{server: replay.NewServer(opts.registry(), book), opts: opts, errs: io.err, rng: rand.New(rand.NewPCG(seed, 0))}
	return s.serve(ctx, listen, io.out)
}

// readBook reads captures twice and returns what is answered.
func (o *replayOptions) readBook(ctx context.Context, names []string, server netip.AddrPort, io streams) (*replay.Book, error) {
	j, err := o.openJob(ctx, names, io)
	if err != nil {
		return nil, err
	}
	defer j.release()
	collector := replay.NewCollector(o.registry())
	j.cfg.Packets = collector
	if _, err = j.run(); err == nil {
		err = j.src.Close()
	}
	if err = j.exitError(err); err != nil {
		return nil, err
	}
	if collector.Skipped > 0 {
		fmt.Fprintf(io.err, "qsniff: %s not kept: too many different ones, or too many servers\n", count(collector.Skipped, "request was", "requests were"))
	}
	if collector.Cut > 0 {
		fmt.Fprintf(io.err, "qsniff: %s of long replies not kept: they take too much memory\n", count(collector.Cut, "message was", "messages were"))
	}
	book, err := chooseBook(collector.Servers(), server, io.err)
	if err != nil {
		return nil, err
	}
	src, err := o.open(j.ctx, names)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return book, book.Fetch(src)
}

// chooseBook returns the book of a server, or the first one if server is not valid.
func chooseBook(all []*replay.Book, server netip.AddrPort, errs io.Writer) (*replay.Book, error) {
	if len(all) == 0 {
		return nil, &hintedError{errors.New("nothing to replay: no request in the capture has a whole reply"), "capture both directions and whole packets; qsniff follow shows exchanges"}
	}
	for _, b := range all {
		if server == b.Server || !server.IsValid() {
			answered, cut := b.Kinds()
			why := ""
			if len(all) > 1 && !server.IsValid() {
				why = fmt.Sprintf(", the one of %d servers that was asked most (--server names another)", len(all))
			}
			fmt.Fprintf(errs, "qsniff: answering %s as %s%s\n", count(uint64(answered), "different request"), b.Server, why)
			if cut > 0 {
				fmt.Fprintf(errs, "qsniff: %s not answered: the capture has no whole reply\n", count(uint64(cut), "request is", "requests are"))
			}
			return b, nil
		}
	}
	return nil, &hintedError{fmt.Errorf("the capture has no replies of %s", server), fmt.Sprintf("%s was asked most; qsniff stats lists servers", all[0].Server)}
}

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

// limit: bounds of qsniff replay.
const (
	// replayConns is how many connections are open at a time; more are closed at once. Chosen:
	// more than the tests of a library open.
	replayConns = 64
	// replayIdle is how long a connection may be silent. Chosen: longer than anybody thinks
	// about a command.
	replayIdle = 10 * time.Minute
	// replayDelayed is how many replies wait for --delay; more are lost. Chosen: a reply
	// each millisecond, with a delay of four seconds.
	replayDelayed = 4096
	// maxDelay bounds --delay. Chosen: longer than any client waits.
	maxDelay = time.Minute
	// portTries is how often a port is looked for that is free over UDP and TCP.
	// Chosen: one of two is free even where most are taken.
	portTries = 20
)
