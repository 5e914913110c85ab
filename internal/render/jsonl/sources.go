package jsonl

import (
	"net/netip"

	"qsniff/internal/flood/limiter"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/stats"
)

// extent is how far a run came that the user ended.
type extent struct {
	Packets    uint64 `json:"packets" jsonschema:"packets that were read"`
	BytesRead  uint64 `json:"bytes_read" jsonschema:"bytes of the input that were read"`
	BytesTotal uint64 `json:"bytes_total,omitempty" jsonschema:"size of the input, if it is known"`
}

// interruption is an extent in a record of something else.
type interruption extent

func extentOf(run *tally.Run) extent {
	return extent{run.Packets, uint64(run.Read), uint64(max(0, run.Size))}
}

// interruptionOf returns how far a run came, or nil if it came to its end.
func interruptionOf(run *tally.Run) *interruption {
	if !run.Interrupted {
		return nil
	}
	return new(interruption(extentOf(run)))
}

// runHead begins records that are written after a run.
type runHead struct {
	named
	Interrupted *interruption `json:"interrupted,omitempty" jsonschema:"how far the run came, if Ctrl-C ended it"`
}

func headOf(record string, run *tally.Run) runHead {
	return runHead{named{schema, record}, interruptionOf(run)}
}

// interrupted is the last line of a run that the user ended.
type interrupted struct {
	named
	extent
}

// AppendInterrupted appends a line with how far a run came that the user ended, for output whose
// lines were written before that. It appends nothing after a run that came to its end.
func AppendInterrupted(dst []byte, run *tally.Run) []byte {
	if !run.Interrupted {
		return dst
	}
	return appendLine(dst, interrupted{named{schema, "interrupted"}, extentOf(run)})
}

// polls is what became of the polls of a client at a server.
type polls struct {
	runHead
	Client     netip.Addr     `json:"client" jsonschema:"who polls"`
	Server     netip.AddrPort `json:"server" jsonschema:"who is polled"`
	Every      *uint64        `json:"every_ms,omitempty" jsonschema:"usual time from poll to poll"`
	Polls      uint64         `json:"polls" jsonschema:"how many there were"`
	Answered   uint64         `json:"answered" jsonschema:"in time"`
	Late       uint64         `json:"late" jsonschema:"after the wait"`
	Filtered   uint64         `json:"filtered" jsonschema:"lost while others were answered"`
	Lost       uint64         `json:"lost" jsonschema:"lost otherwise"`
	Unused     uint64         `json:"challenge_unused" jsonschema:"with a challenge that was not brought back"`
	Rejected   uint64         `json:"rejected" jsonschema:"by an ICMP error"`
	ServerDown uint64         `json:"server_down" jsonschema:"at a time when nobody was answered"`
	Undecided  uint64         `json:"undecided" jsonschema:"without a known outcome"`
}

// AppendPolls appends a line for each client at a server: what became of its polls.
func AppendPolls(dst []byte, x *render.Polls) []byte {
	for i := range x.Pollers {
		r := &x.Pollers[i]
		p := &polls{
			runHead:    headOf("polls", &x.Run),
			Client:     r.Client,
			Server:     r.Server,
			Polls:      r.Polls,
			Answered:   r.Answered,
			Late:       r.Late,
			Filtered:   r.Causes[stats.Filtered],
			Lost:       r.Causes[stats.Lost],
			Unused:     r.Causes[stats.Unused],
			Rejected:   r.Causes[stats.Rejected],
			ServerDown: r.Causes[stats.Down],
			Undecided:  r.Undecided(),
		}
		if r.Every > 0 {
			p.Every = new(uint64(r.Every.Milliseconds()))
		}
		dst = appendLine(dst, p)
	}
	return dst
}

// proven is an address that proved to be its own: how, how often, from when to when, and to
// which servers. A proof is of its moment; anybody can forge the address at any other.
type proven struct {
	runHead
	Address     netip.Addr `json:"address" jsonschema:"the source"`
	First       moment     `json:"first" jsonschema:"of its first proof"`
	Last        moment     `json:"last" jsonschema:"of its last proof"`
	How         []string   `json:"how" jsonschema:"ways in which it was proven"`
	Proofs      uint64     `json:"proofs" jsonschema:"how many there were"`
	Servers     []target   `json:"servers" jsonschema:"those it was proven to, the first few"`
	MoreServers bool       `json:"more_servers" jsonschema:"whether there were more"`
}

// AppendProven appends a line for each proven address.
func AppendProven(dst []byte, p *render.Proven) []byte {
	for i := range p.Sources {
		s := &p.Sources[i]
		dst = appendLine(dst, &proven{
			runHead:     headOf("proven", &p.Run),
			Address:     s.Addr,
			First:       moment(s.First),
			Last:        moment(s.Last),
			How:         s.Methods.Names(),
			Proofs:      s.Proofs,
			Servers:     transform(s.Servers, provenTo),
			MoreServers: s.HasMore,
		})
	}
	return dst
}

func provenTo(s *proof.Server) target {
	if s.TCP {
		return target("tcp/" + s.End.String())
	}
	return target("udp/" + s.End.String())
}

// limits is what the limiter of an engine would have refused at a server. Requests are all packets
// that the limiter counts, junk and replies to the server among them. Clients are the sources that
// proved their address at any time in the capture.
type limits struct {
	runHead
	Server        string           `json:"server" jsonschema:"the server"`
	Limits        limiterLimits    `json:"limits" jsonschema:"what was replayed"`
	Requests      uint64           `json:"requests" jsonschema:"packets that the limiter counts"`
	Refused       uint64           `json:"refused" jsonschema:"those it would refuse"`
	RefusedPer    uint64           `json:"refused_per" jsonschema:"by the limit of a source"`
	RefusedGlobal uint64           `json:"refused_global" jsonschema:"by the limit of all sources"`
	AtGlobalLimit *globalLimit     `json:"at_global_limit,omitempty" jsonschema:"when all sources were limited"`
	Overruns      *uint64          `json:"overruns,omitempty" jsonschema:"sources that the engine's table has no room for"`
	Clients       limiter.OfProven `json:"clients" jsonschema:"what it would have cost proven sources"`
	TopClients    []refusedSource  `json:"top_clients" jsonschema:"proven sources that were refused most"`
	TopSources    []refusedSource  `json:"top_sources" jsonschema:"sources that were refused most"`
}

type limiterLimits struct {
	Name   string   `json:"name,omitempty" jsonschema:"of the engine"`
	Per    quantity `json:"per" jsonschema:"requests a second of a source"`
	Global quantity `json:"global" jsonschema:"requests a second of all sources"`
	Window uint64   `json:"window" jsonschema:"seconds over which they are counted"`
}

type globalLimit struct {
	First   moment `json:"first" jsonschema:"first refusal by it"`
	Last    moment `json:"last" jsonschema:"last refusal by it"`
	Seconds uint64 `json:"seconds" jsonschema:"seconds with such refusals"`
}

type refusedSource struct {
	Address       netip.Addr `json:"address" jsonschema:"the source"`
	Requests      uint64     `json:"requests" jsonschema:"its requests"`
	RefusedPer    uint64     `json:"refused_per" jsonschema:"refused by the limit of a source"`
	RefusedGlobal uint64     `json:"refused_global" jsonschema:"refused by the limit of all sources"`
	First         moment     `json:"first" jsonschema:"of the first refusal"`
	Last          moment     `json:"last" jsonschema:"of the last refusal"`
}

func refusedSourceOf(s *limiter.Source) refusedSource {
	return refusedSource{
		Address:       s.Addr,
		Requests:      s.Requests,
		RefusedPer:    s.ByRate,
		RefusedGlobal: s.ByAll,
		First:         moment(s.First),
		Last:          moment(s.Last),
	}
}

// AppendLimits appends a line for each server whose limiter was replayed.
func AppendLimits(dst []byte, l *render.Limits) []byte {
	m := &l.Model
	for i := range l.Servers {
		s := &l.Servers[i]
		x := &limits{
			runHead:       headOf("limits", &l.Run),
			Server:        s.Addr.String(),
			Limits:        limiterLimits{m.Name, quantity(m.Per), quantity(m.Global), uint64(m.Window)},
			Requests:      s.Requests,
			Refused:       s.Refused(),
			RefusedPer:    s.ByRate,
			RefusedGlobal: s.ByAll,
			Clients:       s.OfProven,
			TopClients:    transform(s.TopClients, refusedSourceOf),
			TopSources:    transform(s.TopSources, refusedSourceOf),
		}
		if s.ByAll > 0 {
			x.AtGlobalLimit = &globalLimit{moment(s.First), moment(s.Last), s.Seconds}
		}
		if m.MaxTracked > 0 {
			x.Overruns = &s.Overruns
		}
		dst = appendLine(dst, x)
	}
	return dst
}
