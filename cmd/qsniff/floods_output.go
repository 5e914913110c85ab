package main

import (
	"cmp"
	"fmt"
	"io"
	"qsniff/internal/flood"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules/edge"
	"qsniff/internal/flood/rules/iptables"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
	"strings"
)

// floodOutput observes incidents. In JSON it writes each when it is over, else it collects
// them for a page.
type floodOutput struct {
	opts   *floodsOptions
	w      io.Writer
	seen   flood.Seen
	kept   flood.Collector
	proofs *proof.Collector // nil unless proven clients are asked for
	least  flood.Level
	buf    []byte
	err    error
}

func newFloodOutput(opts *floodsOptions, w io.Writer) *floodOutput {
	o := &floodOutput{opts: opts, w: w, least: levelNamed(opts.level)}
	o.kept.MinLevel = o.least
	o.kept.IsOurs = o.isOurs
	if opts.output == "json" {
		o.kept.MinLevel = flood.Alert + 1 // none is kept, all are counted
	}
	return o
}

// watchProofs returns the watcher that collects proven clients, if these are asked for.
func (o *floodOutput) watchProofs() []track.Watcher {
	if !o.opts.proven {
		return nil
	}
	o.proofs = proof.New(proof.Options{Ours: o.opts.ownServers, Scale: o.opts.scale()})
	return []track.Watcher{o.proofs}
}

func (o *floodOutput) isOurs(in *flood.Incident) bool { return in.IsAt(o.opts.ownServers) }

func (o *floodOutput) observe(in *flood.Incident, e flood.Event) {
	o.kept.Observe(in, e)
	if o.opts.output != "json" || e != flood.Ends || o.err != nil || in.Level < o.least || !o.isOurs(in) {
		return
	}
	o.buf = jsonl.AppendIncident(o.buf[:0], in, o.opts.explain)
	_, o.err = o.w.Write(o.buf)
}

func (o *floodOutput) makeReport(run tally.Run, d *flood.Detector) *render.Floods {
	f := &render.Floods{Run: run, Seen: &o.seen, Incidents: o.kept.Incidents(), Counts: o.kept.Counts(), Others: o.kept.Others(),
		Unnamed: o.kept.Omitted(d), FullTables: d.FullTables(), Limits: o.opts.limits, Asked: o.opts.asked,
		IsLimited: o.opts.ownServers != nil, Expiry: o.opts.expiry}
	f.Other, f.OtherPeak, f.Sessions = d.Others()
	if o.proofs != nil {
		f.Proven = o.proofs.Summary()
	}
	return f
}

// print writes the page. In JSON, where incidents were written before, it writes what else
// came than queries and the last line of an interrupted run, and returns the first error of
// all writes.
func (o *floodOutput) print(f *render.Floods) error {
	if o.opts.output == "json" {
		return cmp.Or(o.err, write(o.w, jsonl.AppendInterrupted(jsonl.AppendOther(nil, f), &f.Run)))
	}
	switch o.opts.output {
	case formNFT:
		return write(o.w, nft.AppendFloods(nil, f))
	case "iptables":
		return write(o.w, iptables.AppendFloods(nil, f))
	case "xdp-filter":
		return write(o.w, edge.AppendXDPFilter(nil, f))
	case "ovh":
		return write(o.w, edge.AppendOVH(nil, f))
	case "path":
		return write(o.w, edge.AppendPath(nil, f))
	}
	how := text.FloodOptions{Verbose: o.opts.verbose, Explain: o.opts.explain}
	return write(o.w, text.AppendFloods(nil, f, o.opts.textOptions(o.w), how))
}

// printFloodRemarks prints on standard error what is missing from the results, unless it is
// on the page.
func printFloodRemarks(w io.Writer, f *render.Floods, output string) {
	if output == "json" {
		switch seen := f.Seen; {
		case f.Run.Packets == 0:
			fmt.Fprintln(w, "qsniff: the capture has no packets")
		case seen.Queries+seen.Replies+seen.Junk+seen.Logins == 0:
			fmt.Fprintf(w, "qsniff: no query traffic in %s\n", count(f.Run.Packets, "packet"))
		case seen.OneWay() != "":
			fmt.Fprintf(w, "qsniff: only %s were captured: who proves an address is not to be seen\n", seen.OneWay())
		}
		printCopies(w, &f.Run)
		if f.Run.Dropped > 0 {
			fmt.Fprintf(w, "qsniff: the capturing program lost %s: rates were higher\n", count(f.Run.Dropped, "packet"))
		}
	}
	printHints(w, &counters.Result{Floods: f.Unnamed}, counters.Incidents)
	if len(f.FullTables) > 0 {
		fmt.Fprintf(w, "qsniff: no room for more %s: incidents there may be missing (--memory)\n", strings.Join(f.FullTables, ", "))
	}
}
