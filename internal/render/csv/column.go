package csv

import "qsniff/dissect"

// Column is one column of the table.
type Column struct {
	Name string
	meta meta
	role dissect.Role
	def  *dissect.Def
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

// cutColumn lists the fields whose values end early. It is no default column: scripts rely on
// the header of those.
var cutColumn = Column{Name: "cut", meta: metaCut}

// DefaultColumns returns the columns of a table for which none were chosen.
func DefaultColumns() []Column { return append([]Column(nil), metas...) }

// ColumnNamed returns the column with a name: a default column, "cut", a field of one of
// protos, or a field that belongs to no protocol. ok is false where there is none.
func ColumnNamed(name string, protos []*dissect.Proto) (c Column, ok bool) {
	if name == cutColumn.Name {
		return cutColumn, true
	}
	for _, c := range metas {
		if c.Name == name {
			return c, true
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
