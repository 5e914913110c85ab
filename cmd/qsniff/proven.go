package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

func newProven() *analysis {
	o := readDefaults()
	return &analysis{
		use:   "proven [flags] FILE... | -i IFACE",
		short: "list sources that proved their address",
		long: `proven lists the addresses in captures that are no forgeries: they brought back
within a minute a challenge that a server had given to them, or completed a TCP
handshake. Floods from invented addresses cannot do either. The list says when each
address proved itself first and last, how, how often, and to which server.

A proof is of its moment. Anybody can send with the same address later, and some
floods do: give proven addresses a higher limit than others, not a free pass.

The capture needs both directions: the server's packets, and what comes back. A
server that gives the same challenge to everybody proves nothing and is left out.

With -o json the output is an object a line: address, the times of its first and last
proof, how (challenge, handshake), proofs (a challenge that several requests bring
back is one), servers (the first few) and more_servers. With -o nft it is a table for
nft -f with the sets proven4 and proven6, for rules to use; qsniff itself changes
nothing.

With -Y only requests that match bring a challenge back, and handshakes, which are no
messages, prove nothing. ` + filterHelp + `

Ctrl-C prints who is known so far; the first line then says how far the run came
("interrupted" in JSON).

` + captureHelp + `

FILE is as in qsniff read.`,
		example: `  qsniff proven evening.pcap
  qsniff proven --servers 198.18.0.0/15 evening.pcap   to one's own servers only
  qsniff proven -o nft evening.pcap > proven.nft       sets for a firewall
  qsniff proven -o json evening.pcap | jq -r .address
  qsniff proven -i eth0                                as it happens, until Ctrl-C`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: an object a line; csv: a table; nft: sets of nftables", "text", "json", "csv", formNFT)
			o.registerFilter(cmd)
			o.registerPage(cmd)
			o.registerServers(cmd, "count proofs to these servers only")
			o.registerCapture(cmd, captureInstead)
			o.registerInput(cmd)
		},
		start: func(j *job) error {
			c := proof.New(proof.Options{Ours: o.ours, Scale: o.scale()})
			j.cfg.Watchers, j.cfg.WatchesMatches = []track.Watcher{c}, true
			if j.choosesLate() {
				return cli.Usage(errors.New("-Y: what becomes of an exchange is not known yet when its challenge is brought back"), "write the stream to a file first: files are read twice")
			}
			j.print = func(run tally.Run) error {
				p := &render.Proven{Run: run, Summary: *c.Summary()}
				printProvenRemarks(j.io.err, p, o.ours != nil, o.display.program != nil)
				if o.output == formNFT {
					return write(j.io.out, nft.AppendProven(nil, p.Sources, run.Cut()))
				}
				return printForm(o, j.io, p, "proven", jsonl.AppendProven, text.AppendProven)
			}
			return nil
		},
	}
}

// printProvenRemarks prints on standard error why the list is empty, or what may be missing
// from it.
func printProvenRemarks(w io.Writer, p *render.Proven, filtered, matched bool) {
	why := p.Why()
	switch {
	case p.Run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case matched && why != proof.NoReason && len(p.Shared) == 0:
		fmt.Fprintln(w, "qsniff: no source is proven by a request that matches the filter")
	case why == proof.NoTraffic && filtered:
		fmt.Fprintln(w, "qsniff: no source is proven: no query and no TCP connection is of the servers that --servers names")
	case len(p.Shared) == 0 && why != proof.NoReason:
		fmt.Fprintln(w, "qsniff:", p.WhyNone())
	}
	remark.PrintSentences(w, &p.Run)
	printUnproving(w, &p.Summary)
	if p.Counts.Lost > 0 || p.Run.Dropped > 0 {
		fmt.Fprintln(w, "qsniff: packets are missing from the capture: some proofs may be among them")
	}
}

// printUnproving prints which servers give the same challenge to everybody, and which
// proofs were evicted.
func printUnproving(w io.Writer, p *proof.Summary) {
	if n := len(p.Shared); n > 0 {
		givers := " gives"
		if n > 1 {
			givers = fmt.Sprintf(" and %s give", count(uint64(n-1), "other server"))
		}
		fmt.Fprintf(w, "qsniff: %v%s the same challenge to everybody: a source that brings that back proves nothing and is left out\n", p.Shared[0], givers)
	}
	remark.PrintHints(w, &counters.Result{Proofs: *p}, counters.Proofs)
}
