package csv

import (
	"net/netip"
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// Column is one column of the table.
type Column struct {
	Name string
	meta meta
	role dissect.Role
	def  *dissect.Def
	ends endsShown
}

// endsShown says what a column of Wireshark's names shows of the ends of a message.
type endsShown struct {
	src, dst, port bool // of which end; ports in place of addresses
	of             byte // only with: 4 or 6, or of transports u or t
}

// tsharkNames are the columns by the names that Wireshark has for them.
var tsharkNames = []Column{
	{Name: "frame.number", meta: metaFrame},
	{Name: "frame.time", meta: metaTime},
	{Name: "frame.time_epoch", meta: metaEpoch},
	{Name: "ip.src", meta: metaAddrs, ends: endsShown{src: true, of: '4'}},
	{Name: "ip.dst", meta: metaAddrs, ends: endsShown{dst: true, of: '4'}},
	{Name: "ip.addr", meta: metaAddrs, ends: endsShown{src: true, dst: true, of: '4'}},
	{Name: "ipv6.src", meta: metaAddrs, ends: endsShown{src: true, of: '6'}},
	{Name: "ipv6.dst", meta: metaAddrs, ends: endsShown{dst: true, of: '6'}},
	{Name: "ipv6.addr", meta: metaAddrs, ends: endsShown{src: true, dst: true, of: '6'}},
	{Name: "udp.srcport", meta: metaAddrs, ends: endsShown{src: true, port: true, of: 'u'}},
	{Name: "udp.dstport", meta: metaAddrs, ends: endsShown{dst: true, port: true, of: 'u'}},
	{Name: "udp.port", meta: metaAddrs, ends: endsShown{src: true, dst: true, port: true, of: 'u'}},
	{Name: "tcp.srcport", meta: metaAddrs, ends: endsShown{src: true, port: true, of: 't'}},
	{Name: "tcp.dstport", meta: metaAddrs, ends: endsShown{dst: true, port: true, of: 't'}},
	{Name: "tcp.port", meta: metaAddrs, ends: endsShown{src: true, dst: true, port: true, of: 't'}},
}

// append appends what is shown of the ends of e: two values with a semicolon between them.
func (x endsShown) append(dst []byte, e *render.Event) []byte {
	lo := len(dst)
	add := func(end netip.AddrPort) {
		a := end.Addr().Unmap()
		if isOf := x.of == '4' && a.Is4() || x.of == '6' && a.Is6() || x.of == 'u' && !e.TCP || x.of == 't' && e.TCP; !isOf {
			return
		}
		if len(dst) > lo {
			dst = append(dst, ';')
		}
		if x.port {
			dst = strconv.AppendUint(dst, uint64(end.Port()), 10)
		} else {
			dst = a.AppendTo(dst)
		}
	}
	if x.src {
		add(e.Src)
	}
	if x.dst {
		add(e.Dst)
	}
	return dst
}

// meta selects what a column shows: a field of one protocol, the field with a role in any
// protocol, or a property that every message has.
type meta uint8

const (
	metaField meta = iota
	metaRole
	metaFrame
	metaTime
	metaSrc
	metaDst
	metaTransport
	metaProtocol
	metaMessage
	metaDirection
	metaStatus
	metaLength
	metaExchange
	metaTook
	metaFindings
	metaCut
	metaEpoch
	metaRecord
	metaVerb
	metaAddrs // of ends, their addresses or ports: see tsharkNames
)

// metas lists the columns that belong to no protocol, in the order of the default.
var metas = []Column{
	{Name: "frame", meta: metaFrame},
	{Name: "time", meta: metaTime},
	{Name: "src", meta: metaSrc},
	{Name: "dst", meta: metaDst},
	{Name: "transport", meta: metaTransport},
	{Name: "protocol", meta: metaProtocol},
	{Name: "message", meta: metaMessage},
	{Name: "direction", meta: metaDirection},
	{Name: "status", meta: metaStatus},
	{Name: "length", meta: metaLength},
	{Name: "exchange", meta: metaExchange},
	{Name: "rtt_ms", meta: metaTook},
	{Name: "server_name", meta: metaRole, role: dissect.ServerName},
	{Name: "map", meta: metaRole, role: dissect.MapName},
	{Name: "players", meta: metaRole, role: dissect.PlayerCount},
	{Name: "max_players", meta: metaRole, role: dissect.MaxPlayers},
	{Name: "findings", meta: metaFindings},
}

// extras are no default columns, as scripts rely on the header of those: cut lists the fields whose values end
// early, verb says what a message does to a request of its exchange, as render.Exchange.Verb, and record what a line
// is, a message or a finding. Without record there are no lines of findings.
var extras = []Column{{Name: "cut", meta: metaCut}, {Name: "verb", meta: metaVerb}, {Name: "record", meta: metaRecord}}

// DefaultColumns returns the columns of a table for which none were chosen.
func DefaultColumns() []Column { return append([]Column(nil), metas...) }

// ColumnNamed returns the column with a name: a default column, also by Wireshark's name for it, one of extras, a
// field of one of protos, or a field that belongs to no protocol. ok is false where there is none.
func ColumnNamed(name string, protos []*dissect.Proto) (c Column, ok bool) {
	for _, list := range [][]Column{metas, extras, tsharkNames} {
		for _, c := range list {
			if c.Name == name {
				return c, true
			}
		}
	}
	for _, p := range protos {
		for _, d := range p.Defs {
			if d.Name == name && d.Kind != dissect.Group && d.Kind != dissect.List {
				return Column{Name: name, def: d}, true
			}
		}
	}
	for _, d := range dissect.Shared {
		if d.Name == name {
			return Column{Name: name, def: d}, true
		}
	}
	return Column{}, false
}
