package dissect

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"

	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
	"qsniff/internal/base/digits"
)

// FieldFlags refine a Field.
type FieldFlags uint8

// The flags of a field.
const (
	Cut       FieldFlags = 1 << iota // the value is not whole: its bytes end early
	Aux                              // decoded from bytes of other fields; outside the rule that every byte has one field
	Generated                        // computed, not read
	HasExpert                        // a finding points here
)

// Field is one annotated value. It refers to Message.Data by offset and holds no
// pointer into the packet.
type Field struct {
	Def  *Def
	Num  uint64 // the value; of Text and Bytes: offset<<32|length of the value, within the extent (or in Aux)
	Note string // a constant: "terminator missing"
	Off  uint32 // extent in Data: what this value is made of on the wire
	Len  uint32

	Depth uint8
	Flags FieldFlags
}

// Status is how far dissection got.
type Status uint8

// The states of a message.
const (
	Complete  Status = iota
	Truncated        // the capture ended first (snap length)
	Malformed        // the sender's bytes contradict the protocol
	Fragment         // a set that never completed
)

var statusNames = [...]string{"complete", "truncated", "malformed", "fragment"}

func (s Status) String() string { return statusNames[s] }

// Message is reused for every packet of a partition: valid until the next Reset.
// A caller that keeps one clones it.
type Message struct {
	Proto  *Proto
	Type   *Type // nil if unknown
	Status Status
	Conf   Confidence // that Proto and Type are right
	Why    string     // what Conf rests on; a constant
	Data   []byte     // what the offsets refer to: a payload, or a reassembled one
	Aux    []byte     // values of fields flagged Aux
	Wire   int        // length of the message as sent, at least len(Data)
	Fields []Field
	Expert []finding.Expert
	Key    uint64    // what a request and its reply have in common; 0 if there is nothing: see PairBy
	Learn  FlowFacts // what this message teaches about its flow
	// Secret is a keyed hash of the password in the message, by which passwords are
	// compared; 0 if there is none or the capture cut it. It is never shown.
	Secret uint32
	// Refused is set where the message refuses a login, or the token of a command.
	Refused bool
	// Unasked is set where the server sends the message by itself, as its place in the conversation shows.
	Unasked bool
	Form    Form // of a request
	Page    Page
	// Stopped is the value that dissection wanted when the bytes ended, or nil;
	// StoppedAt is the offset of the first byte it did not get.
	Stopped   *Def
	StoppedAt uint32

	cur Cursor
}

// Page is the place of a message in a list of servers that comes page by page. Addresses are those
// of IPv4 with their port, 48 bits in the order of reading.
type Page struct {
	List uint32 // of a question: a hash of what it asks for, without the place where it begins
	// At is the address at which a question has the list go on, or the last one of a page that
	// leads to another; 0 where there is none, or where it is unknown.
	At uint64
}

// AddrPort returns At.
func (p Page) AddrPort() netip.AddrPort {
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], uint32(p.At>>16))
	return netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(p.At))
}

// Reset prepares m for a message of protocol p in data and keeps the memory of
// its lists, which MaxFields bounds.
func (m *Message) Reset(p *Proto, data []byte) {
	aux, fields, expert := m.Aux[:0], m.Fields[:0], m.Expert[:0]
	*m = Message{} // in place: a value that has members of m would be made elsewhere, and copied
	m.Proto, m.Data, m.Wire, m.Aux, m.Fields, m.Expert = p, data, len(data), aux, fields, expert
}

// Cursor returns the message's cursor, at the first byte.
func (m *Message) Cursor(c *Context) *Cursor {
	m.Wire = max(c.Wire, len(m.Data))
	m.cur = Cursor{m: m, unread: c.Unread}
	return &m.cur
}

// ResetBrief prepares m for a message of type t in data that has no fields, whose Key k found. It
// reports whether there is one: if not, m is for Dissect.
func (m *Message) ResetBrief(k Keyer, c *Context, t *Type, p *Proto, data []byte) bool {
	m.Reset(p, data)
	key, form, ok := k.Key(c, t, data)
	if !ok {
		return false
	}
	m.Type, m.Key, m.Form, m.Wire = t, key, form, max(c.Wire, len(data))
	if !t.FromServer() {
		m.Learn.Asked = t.Asks
	}
	return true
}

// Bytes returns the value of a Text or Bytes field, without terminator or length
// byte; of other kinds, the extent.
func (m *Message) Bytes(f *Field) []byte {
	if f.Def.Kind != Text && f.Def.Kind != Bytes {
		return m.Raw(f)
	}
	off, n := f.Num>>32, f.Num&0xffff_ffff
	if f.Flags&Aux != 0 {
		return m.Aux[off : off+n]
	}
	off += uint64(f.Off)
	return m.Data[off : off+n]
}

// Pieces is how many fields the value of the text at index i consists of: 1, or
// more if there are secrets in it.
func (m *Message) Pieces(i int) int {
	d, depth := m.Fields[i].Def, m.Fields[i].Depth
	if i+1 == len(m.Fields) || m.Fields[i+1].Def.PartOf != d {
		return 1
	}
	n := 1
	for j := i + 1; j < len(m.Fields) && m.Fields[j].Depth == depth; j++ {
		secret := m.Fields[j].Def.PartOf == d
		if !secret && (m.Fields[j].Def != d || m.Fields[j-1].Def.PartOf != d) {
			break
		}
		n++
	}
	return n
}

// Joined returns the value of the text that consists of the n fields from index i
// on, with the secrets in it.
func (m *Message) Joined(i, n int) []byte {
	first, last := &m.Fields[i], &m.Fields[i+n-1]
	start := first.Off + uint32(first.Num>>32)
	end := last.Off + uint32(last.Num>>32) + uint32(last.Num&0xffff_ffff)
	return m.Data[start:end]
}

// Raw returns the bytes that the field is made of on the wire.
func (m *Message) Raw(f *Field) []byte { return m.Data[f.Off : f.Off+f.Len] }

// Sent is the length of a field on the wire: more than Len if the capture cut it.
func (m *Message) Sent(f *Field) int {
	if f.Flags&Cut != 0 && int(f.Off+f.Len) == len(m.Data) {
		return m.Wire - int(f.Off)
	}
	return int(f.Len)
}

// Tells returns the index of the field that tells most of what field i does: of a count that the message has
// once more among its tags, the higher one. A count of one byte wraps, and games write the true one there.
func (m *Message) Tells(i int) int {
	f := &m.Fields[i]
	again := f.Def.Role.inTags()
	if again == NoRole || f.Def.Kind == Text {
		return i
	}
	for j := range m.Fields {
		if x := &m.Fields[j]; x.Def.Role == again && x.Flags&Cut == 0 && x.Num > f.Num {
			return j
		}
	}
	return i
}

// AppendAddr appends the value of an Addr field as people write it.
func (m *Message) AppendAddr(dst []byte, f *Field) []byte {
	a, port, ok := m.Addr(f)
	switch {
	case !ok:
		return append(dst, "?"...)
	case !port:
		return a.Addr().AppendTo(dst)
	}
	return digits.AppendEnd(dst, a)
}

// Addr is the value of an Addr field; port reports whether it has a port, ok whether
// it is an address at all.
func (m *Message) Addr(f *Field) (a netip.AddrPort, port, ok bool) {
	b := m.Raw(f)
	n := len(b) &^ 3 // a port is what does not fill four bytes
	ip, ok := netip.AddrFromSlice(b[:n])
	switch {
	case !ok || len(b)-n != 0 && len(b)-n != 2:
		return a, false, false
	case len(b) == n:
		return netip.AddrPortFrom(ip, 0), false, true
	}
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[n:])), true, true
}

// Find returns the first field of definition d, or nil.
func (m *Message) Find(d *Def) *Field {
	if i := m.Index(d); i >= 0 {
		return &m.Fields[i]
	}
	return nil
}

// Index returns the index of the first field of definition d, or -1.
func (m *Message) Index(d *Def) int {
	for i := range m.Fields {
		if m.Fields[i].Def == d {
			return i
		}
	}
	return -1
}

// Append adds a field of raw bytes that no cursor read: [off, off+n) of Data,
// with the number num shown beside it.
func (m *Message) Append(d *Def, off, n uint32, note string) {
	m.Fields = append(m.Fields, Field{Def: d, Num: uint64(n), Note: note, Off: off, Len: n})
}

// PairBy makes the challenge in the first field of definition d the Key, if it is
// there and whole.
func (m *Message) PairBy(d *Def) {
	if f := m.Find(d); f != nil && f.Flags&Cut == 0 {
		m.Key = 1<<32 | f.Num&0xffff_ffff
	}
}

// Clone copies m into dst, which then depends on nothing of m.
func (m *Message) Clone(dst *Message) {
	fields, expert := append(dst.Fields[:0], m.Fields...), append(dst.Expert[:0], m.Expert...)
	data, aux := append(dst.Data[:0], m.Data...), append(dst.Aux[:0], m.Aux...)
	*dst = *m
	dst.Fields, dst.Expert, dst.Data, dst.Aux = fields, expert, data, aux
	dst.cur = Cursor{}
}

// Float returns the value of a Float and its size in bits.
func (f *Field) Float() (v float64, bits int) {
	if f.Len == 4 && f.Flags&Aux == 0 {
		return float64(math.Float32frombits(uint32(f.Num))), 32
	}
	return math.Float64frombits(f.Num), 64
}

// Meaning is what a value means in words: the note of this field, or the name
// that its definition gives the value; empty if there is neither.
func (f *Field) Meaning() string {
	if f.Note != "" || f.Def.Values == nil || f.Flags&Cut != 0 {
		return f.Note
	}
	return f.Def.Values(f.Num)
}

// setPassword is the least length of a password that a command sets, in bytes. Chosen:
// "sv_password 0" sets none, and later texts are searched for the value, where a
// shorter one occurs by chance.
const setPassword = 4

// CollectPasswords adds to known, the passwords of m's connection, those that m holds or may
// hold: that of a login, and those that a command sets.
func (m *Message) CollectPasswords(known *console.Passwords) {
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Flags&Secret == 0 || f.Def.Kind == Bytes {
			continue
		}
		b := m.Bytes(f)
		if f.Def.Kind != Text || f.Def.PartOf != nil {
			b = bytes.Trim(b, " \t\"'")
		}
		if f.Def.PartOf == nil || len(b) >= setPassword {
			known.Add(b, f.Flags&Cut != 0)
		}
		// a request that no client writes: all of it is hidden, and this is the password
		if _, rest, ok := bytes.Cut(b, quote); ok && len(rest) > 0 {
			inner, _, closed := bytes.Cut(rest, quote)
			known.Add(inner, !closed)
		}
	}
}

// KeepTail adds the text of definition d, with the secrets in it, to a tail. isPart is set where it
// continues the text before. A message without such a text adds nothing.
func (m *Message) KeepTail(t *console.Tail, d *Def, isPart bool) {
	for i := range m.Fields {
		if x := m.Fields[i].Def; x == d || x.PartOf == d {
			n := i
			for n+1 < len(m.Fields) && (m.Fields[n+1].Def == d || m.Fields[n+1].Def.PartOf == d) {
				n++
			}
			t.Add(m.Joined(i, n-i+1), isPart, m.Fields[n].Def.PartOf == d)
			return
		}
	}
}

var quote = []byte{'"'}
