// Command mkpcap writes the captures that tests and benchmarks read:
//
//	mkpcap golden [DIR]          every .pcap of DIR (default pcapfiles) beside its .hex
//	mkpcap mix   -n N -o FILE    polling of 200 servers, all kinds of exchanges, RCON
//	                             among them, whose replies change with time; -game makes
//	                             half of the N packets of the games
//	mkpcap flood -n N -o FILE    A2S_INFO requests with forged sources, to one server
//	mkpcap fleet -o DIR          rings of captures of three hosts, as time goes on: polling, and each
//	                             five minutes a flood that is spread over all their servers
//
// The same arguments always give the same bytes, but for the times that fleet writes. It is not part of qsniff and
// sends nothing: what it writes never was on a network.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"qsniff/internal/test/testpcap"
)

const usage = "usage: mkpcap golden [DIR] | mix [flags] | flood [flags] | fleet [flags]"

func main() {
	err := run(os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "golden":
		dir := "pcapfiles"
		if len(args) > 1 {
			dir = args[1]
		}
		n, err := writeGolden(dir)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "%d captures written\n", n)
		return err
	case "mix":
		return stream(args, stdout, func(o options) generator { return newMix(o) })
	case "flood":
		return stream(args, stdout, func(o options) generator { return newFlood(o) })
	case "fleet":
		return runFleet(args)
	}
	return fmt.Errorf("%q is not a command; %s", args[0], usage)
}

// options are the flags of the streaming commands.
type options struct {
	packets int
	rate    int // mean packets per second of capture time
	seed    uint64
	game    bool // every second packet is of the games
}

// generator makes one packet after the other.
type generator interface {
	// next returns the time and the frame of the next packet; the frame is
	// valid until the following call.
	next() (nanos int64, frame []byte)
}

// stream writes o.packets packets of a generator, holding one of them at a time.
func stream(args []string, stdout io.Writer, open func(options) generator) error {
	var o options
	flags := flag.NewFlagSet("mkpcap "+args[0], flag.ContinueOnError)
	flags.IntVar(&o.packets, "n", 1_000_000, "number of packets")
	flags.IntVar(&o.rate, "rate", 50_000, "packets per second of capture time")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	if args[0] == "mix" {
		flags.BoolVar(&o.game, "game", false, "make half of them packets of the games, on the same ports")
	}
	name := flags.String("o", "-", "file to write, - for standard output")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.packets < 0 || o.rate < 1 {
		return fmt.Errorf("mkpcap %s: wrong arguments; -h lists them", args[0])
	}
	if *name == "-" {
		return writeStream(stdout, o, open(o))
	}
	f, err := os.Create(*name)
	if err != nil {
		return err
	}
	return errors.Join(writeStream(f, o, open(o)), f.Close())
}

func writeStream(w io.Writer, o options, s generator) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	format := testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 262_144}
	out, err := testpcap.NewWriter(buffered, format)
	if err != nil {
		return err
	}
	for range o.packets {
		nanos, frame := s.next()
		if err := out.WritePacket(nanos, frame); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
