package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/replay"
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
		return listen, server, cli.Usage(fmt.Errorf("--listen %q is no address with a port", o.listen), "write 127.0.0.1:0 or [::1]:27015")
	}
	if !listen.Addr().IsLoopback() && !o.force {
		return listen, server, cli.Usage(fmt.Errorf("--listen %s can be reached by others, who could make it send replies to victims", listen),
			"--listen 127.0.0.1:0 is for this machine alone; --force listens there, and sends what is longer than its request to proven clients only")

	}
	if o.server != "" {
		if server, err = netip.ParseAddrPort(o.server); err != nil {
			return listen, server, cli.Usage(fmt.Errorf("--server %q is no address with a port", o.server), "write 198.51.100.7:27015")
		}
	}
	switch {
	case !(o.torment.Loss >= 0 && o.torment.Loss <= 1):
		err = cli.Usage(fmt.Errorf("--loss %v is no share", o.torment.Loss), "0 loses nothing, 0.2 a fifth, 1 all")
	case o.torment.Truncate < 0:
		err = cli.Usage(fmt.Errorf("--truncate %d is no length", o.torment.Truncate), "bytes that are left of a datagram")
	case o.delay < 0 || o.delay > replay.MaxDelay:
		err = cli.Usage(fmt.Errorf("--delay %v is not between 0 and %v", o.delay, replay.MaxDelay), "a time like 200ms")
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
		return cli.Hinted(errors.New("a browser cannot listen"), "answer requests with qsniff replay on a terminal")
	}
	names, isStream, err := opts.listInputs(args)
	if err != nil {
		return err
	}
	if isStream {
		return cli.Usage(errors.New("replay reads its captures twice, and a pipe can be read once"), "write it to a file: tcpdump -w capture.pcap")
	}
	book, err := opts.readBook(ctx, names, server, io)
	if err != nil {
		return err
	}
	seed := opts.seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	opt := replay.ListenOptions{Torment: opts.torment, Delay: opts.delay, Rand: rand.New(rand.NewPCG(seed, 0))}
	if opts.verbose {
		opt.Note = func(line string) { fmt.Fprintln(io.err, "qsniff:", line) }
	}
	l, err := replay.Listen(ctx, listen, replay.NewServer(opts.registry(), book), opt)
	if err != nil {
		return cli.Hinted(err, "--listen 127.0.0.1:0 takes any free port")
	}
	if _, err := fmt.Fprintln(io.out, l.Addr()); err != nil {
		l.Close()
		return err
	}
	if err := l.Serve(ctx); err != nil {
		return err
	}
	fmt.Fprintln(io.err, "qsniff:", l.Summary())
	return nil
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
		return nil, cli.Hinted(errors.New("nothing to replay: no request in the capture has a whole reply"), "capture both directions and whole packets; qsniff follow shows exchanges")
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
	return nil, cli.Hinted(fmt.Errorf("the capture has no replies of %s", server), fmt.Sprintf("%s was asked most; qsniff stats lists servers", all[0].Server))
}
