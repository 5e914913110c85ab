package filter

import (
	"bytes"
	"slices"

	"qsniff/dissect"
)

// roleFields are properties of the server that each protocol names differently, as in the
// columns of tables.
func roleFields(reg *dissect.Registry) []*field {
	newRole := func(name, doc string, typ valueType, r dissect.Role) *field {
		hasRole := func(d *dissect.Def) bool { return d.Role == r }
		protos := slices.DeleteFunc(slices.Clone(reg.Protos()), func(p *dissect.Proto) bool { return !slices.ContainsFunc(p.Defs, hasRole) })
		return guard(ofProtos(protos, hasRole), isMessage, []*field{{name: name, doc: doc + ", in any protocol", typ: typ, isInside: true, hasTexts: typ == text, each: one(loadRole(r))}})[0]
	}
	return []*field{
		newRole("server_name", "name of the server", text, dissect.ServerName),
		newRole("map", "map being played", text, dissect.MapName),
		newRole("players", "players on the server", unsigned, dissect.PlayerCount),
		newRole("max_players", "slots", unsigned, dissect.MaxPlayers),
	}
}

// loadRole stores the first value of the message that has a role. A number that a protocol
// sends as text is parsed.
func loadRole(r dissect.Role) test {
	isNumber := r == dissect.PlayerCount || r == dissect.MaxPlayers
	return func(m *Matcher) bool {
		for i := range m.msg.Fields {
			f := &m.msg.Fields[i]
			switch {
			case f.Def.Role != r:
				continue
			case f.Def.Kind != dissect.Text:
				m.v.num = f.Num
				return isNumber && f.Flags&dissect.Cut == 0
			case isNumber:
				n, ok := parseDecimal(m.msg.Bytes(f))
				m.v.num = n
				return ok && f.Flags&dissect.Cut == 0
			}
			return m.loadText(i)
		}
		return false
	}
}

// parseDecimal returns the number that b is in decimal digits; ok is false if it is none, or
// has more than 18 digits.
func parseDecimal(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// tens are the powers of ten that a float holds exactly, as far as 18 digits need them.
var tens = [19]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// parseNumber returns the number that a text is: digits, with a sign and a point or without.
// strconv.ParseFloat would need a string in memory of its own.
func parseNumber(b []byte) (float64, bool) {
	digits, isNegative := bytes.CutPrefix(b, []byte{'-'})
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	n, ok := parseDecimal(whole)
	v := float64(n)
	if len(fraction) > 0 {
		f, isNumber := parseDecimal(fraction)
		v, ok = v+float64(f)/tens[min(len(fraction), 18)], ok && isNumber
	}
	if isNegative {
		v = -v
	}
	return v, ok
}

// payloadField is the bytes of the message.
func payloadField(o Options) *field {
	load := (*Matcher).loadPayload
	if o.ShowSecrets {
		load = func(m *Matcher) bool {
			m.v.text = m.msg.Data
			return true
		}
	}
	return &field{name: "payload", doc: "bytes of the message, after joining and decompression; those of secrets are '*'", typ: octets, hasTexts: true, each: one(load)}
}

// loadPayload stores the bytes of the message, with stars for those of secrets.
func (m *Matcher) loadPayload() bool {
	m.v.text = m.msg.Data
	isCopy := false
	for i := range m.msg.Fields {
		f := &m.msg.Fields[i]
		if f.Def.Flags&dissect.Secret == 0 {
			continue
		}
		if !isCopy {
			m.joined, isCopy = append(m.joined[:0], m.msg.Data...), true
			m.v.text = m.joined
		}
		for j := f.Off; j < f.Off+f.Len; j++ {
			m.joined[j] = '*'
		}
	}
	return true
}
