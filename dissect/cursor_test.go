package dissect

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

var (
	defU8   = Def{Name: "t.u8", Kind: Uint}
	defU16  = Def{Name: "t.u16", Kind: Uint}
	defU64  = Def{Name: "t.u64", Kind: Uint}
	defI32  = Def{Name: "t.i32", Kind: Int}
	defF32  = Def{Name: "t.f32", Kind: Float}
	defText = Def{Name: "t.text", Kind: Text}
	defRaw  = Def{Name: "t.raw", Kind: Bytes}
	defList = Def{Name: "t.list", Kind: List}
	defItem = Def{Name: "t.list.item", Kind: Group}
	proto   = Proto{Name: "t", Defs: []*Def{&defU8, &defU16, &defU64, &defI32, &defF32, &defText, &defRaw, &defList, &defItem}}
)

func message(data []byte, wire int) (*Message, *Cursor) {
	m := new(Message)
	m.Reset(&proto, data)
	return m, m.Cursor(&Context{Wire: wire})
}

func TestCursorValues(t *testing.T) {
	m, c := message([]byte("\x07\x34\x12\xfe\xff\xff\xff\x00\x00\xc0\x3f\x01\x02\x03\x04\x05\x06\x07\x08de_dust2\x00rest"), 0)
	if got := c.U8(&defU8); got != 7 {
		t.Errorf("U8: got %d", got)
	}
	if got := c.U16(&defU16); got != 0x1234 {
		t.Errorf("U16: got %#x", got)
	}
	if got := c.I32(&defI32); got != -2 {
		t.Errorf("I32: got %d", got)
	}
	if got := c.F32(&defF32); got != 1.5 {
		t.Errorf("F32: got %v", got)
	}
	if got := c.U64(&defU64); got != 0x0807060504030201 {
		t.Errorf("U64: got %#x", got)
	}
	if got := c.CString(&defText); string(got) != "de_dust2" {
		t.Errorf("CString: got %q", got)
	}
	if got := c.Rest(&defRaw); string(got) != "rest" {
		t.Errorf("Rest: got %q", got)
	}
	c.Done()
	if m.Status != Complete || m.Stopped != nil {
		t.Errorf("got %v, stopped at %v", m.Status, m.Stopped)
	}
	if f := m.Find(&defI32); int64(f.Num) != -2 {
		t.Errorf("I32 is kept as %d", int64(f.Num))
	}
	if f := m.Find(&defF32); math.Float32frombits(uint32(f.Num)) != 1.5 {
		t.Errorf("F32 is kept as %#x", f.Num)
	}
	if f := m.Find(&defText); string(m.Bytes(f)) != "de_dust2" || string(m.Raw(f)) != "de_dust2\x00" {
		t.Errorf("text %q, raw %q", m.Bytes(f), m.Raw(f))
	}
	if m.Find(&defList) != nil {
		t.Error("a list was found")
	}
}

func TestCursorOddWidths(t *testing.T) {
	m, c := message([]byte("\x01\x02\x83\x04"), 0)
	if got := c.U24(&defU64); got != 0x830201 || m.Fields[0].Len != 3 || m.Fields[0].Num != 0x830201 {
		t.Errorf("U24: got %#x in %+v", got, m.Fields[0])
	}
	if got := c.U24(&defU64); got != 0 || c.OK() || m.Status != Malformed {
		t.Errorf("U24 of one byte: got %#x, %v", got, m.Status)
	}
}

// What runs short is the capture's fault or the sender's, says where, and keeps
// the bytes that are there.
func TestCursorFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		data   string
		wire   int
		read   func(*Cursor)
		status Status
		cut    uint32 // bytes of the cut value
	}{
		{"number cut by the sender", "\x01\x02\x03", 3, func(c *Cursor) { c.U8(&defU8); c.I32(&defI32) }, Malformed, 2},
		{"number cut by the capture", "\x01\x02\x03", 9, func(c *Cursor) { c.U8(&defU8); c.I32(&defI32) }, Truncated, 2},
		{"number missing", "\x01", 1, func(c *Cursor) { c.U8(&defU8); c.U16(&defU16) }, Malformed, 0},
		{"text without its end", "abc", 3, func(c *Cursor) { c.CString(&defText) }, Malformed, 3},
		{"text cut by the capture", "abc", 4, func(c *Cursor) { c.CString(&defText) }, Truncated, 3},
		{"last text cut by the capture", "abc", 4, func(c *Cursor) { c.LastCString(&defText) }, Truncated, 3},
		{"last text missing", "", 0, func(c *Cursor) { c.LastCString(&defText) }, Malformed, 0},
		{"bytes", "abc", 3, func(c *Cursor) { c.Take(&defRaw, 4) }, Malformed, 3},
	} {
		m, c := message([]byte(tc.data), tc.wire)
		tc.read(c)
		if c.OK() || c.Left() != 0 || c.LeftOnWire() != 0 {
			t.Errorf("%s: OK %v, %d and %d bytes left", tc.name, c.OK(), c.Left(), c.LeftOnWire())
		}
		n := len(m.Fields)
		c.U8(&defU8)
		c.Push(&defList, 1)
		c.Rest(&defRaw)
		c.Done()
		if len(m.Fields) != n {
			t.Errorf("%s: reads after the failure made fields", tc.name)
		}
		if m.Status != tc.status || m.Stopped == nil || int(m.StoppedAt) != len(tc.data) {
			t.Errorf("%s\ngot  %v, stopped %v at %d\nwant %v at %d", tc.name, m.Status, m.Stopped, m.StoppedAt, tc.status, len(tc.data))
		}
		var cut uint32
		if n > 0 && m.Fields[n-1].Flags&Cut != 0 {
			cut = m.Fields[n-1].Len
		}
		if cut != tc.cut {
			t.Errorf("%s\ngot  %d bytes of the cut value\nwant %d", tc.name, cut, tc.cut)
		}
	}
}

func TestLastTextEndsWithTheDatagram(t *testing.T) {
	m, c := message([]byte("1.0"), 3)
	if got := c.LastCString(&defText); string(got) != "1.0" {
		t.Errorf("got %q", got)
	}
	c.Done()
	if f := m.Find(&defText); m.Status != Complete || f.Note == "" || f.Flags&Cut != 0 {
		t.Errorf("got %v, note %q, flags %v", m.Status, f.Note, f.Flags)
	}
}

func TestWord(t *testing.T) {
	for _, tc := range []struct {
		name, data string
		wire       int
		want       string
		left       int
		status     Status
	}{
		{"up to the next separator", `\key\value`, 0, "key", 6, Complete},
		{"empty", `\\value`, 0, "", 6, Complete},
		{"to the end", `\key`, 0, "key", 0, Complete},
		{"to a line feed", "\\key\n", 0, "key", 1, Complete},
		{"not UTF-8", "\\k\xff\xfey\\", 0, "k\xff\xfey", 1, Complete},
		{"no separator in front", "key", 0, "", 0, Malformed},
		{"nothing", "", 0, "", 0, Malformed},
		{"cut by the capture", `\key`, 9, "", 0, Truncated},
		{"end seen before the cut", `\key\`, 9, "key", 1, Complete},
	} {
		m, c := message([]byte(tc.data), tc.wire)
		got := string(c.Word(&defText, '\\', "\\\n"))
		if got != tc.want || c.Left() != tc.left || m.Status != tc.status {
			t.Errorf("%s\ngot  %q, %d left, %v\nwant %q, %d left, %v", tc.name, got, c.Left(), m.Status, tc.want, tc.left, tc.status)
		}
		if f := m.Find(&defText); tc.status == Truncated && string(m.Bytes(f)) != "key" {
			t.Errorf("%s\ngot  cut value %q\nwant %q", tc.name, m.Bytes(f), "key")
		}
		if f := m.Find(&defText); c.OK() && (string(m.Bytes(f)) != tc.want || int(f.Len) != 1+len(tc.want)) {
			t.Errorf("%s\ngot  value %q of %d bytes\nwant %q of %d", tc.name, m.Bytes(f), f.Len, tc.want, 1+len(tc.want))
		}
	}
}

// What was decoded from other bytes has a value, and no extent.
func TestDerived(t *testing.T) {
	m, c := message([]byte(`\k\v`), 0)
	all := c.Take(&defRaw, 4)
	c.Push(&defList, 1)
	c.Derived(&defText, all[1:2])
	c.Derived(&defText, all[3:4])
	c.Pop()
	c.Done()
	if m.Status != Complete || len(m.Fields) != 4 {
		t.Fatalf("got %v, %d fields", m.Status, len(m.Fields))
	}
	for i, want := range []string{"k", "v"} {
		f := &m.Fields[2+i]
		if string(m.Bytes(f)) != want || f.Flags&Aux == 0 || f.Off != 4 || f.Len != 0 || f.Depth != 1 {
			t.Errorf("got  %q in %+v\nwant %q", m.Bytes(f), f, want)
		}
	}
	c.fail(&defU8)
	c.Derived(&defText, all)
	if len(m.Fields) != 4 {
		t.Error("a failed cursor added a field")
	}
}

// A capture that cuts between two values is no less cut.
func TestTruncatedOnABorder(t *testing.T) {
	m, c := message([]byte{1}, 2)
	c.U8(&defU8)
	c.Done()
	if m.Status != Truncated || m.Wire != 2 {
		t.Errorf("got %v, %d bytes on the wire", m.Status, m.Wire)
	}
}

func TestGroups(t *testing.T) {
	m, c := message([]byte{1, 2, 3}, 3)
	c.Push(&defList, 2)
	for i := range 2 {
		c.Push(&defItem, i)
		c.U8(&defU8)
		c.Pop()
	}
	c.Pop()
	c.Done()
	want := []Field{
		{Def: &defList, Num: 2, Off: 0, Len: 2, Depth: 0},
		{Def: &defItem, Num: 0, Off: 0, Len: 1, Depth: 1},
		{Def: &defU8, Num: 1, Off: 0, Len: 1, Depth: 2},
		{Def: &defItem, Num: 1, Off: 1, Len: 1, Depth: 1},
		{Def: &defU8, Num: 2, Off: 1, Len: 1, Depth: 2},
		{Def: &Trailing, Num: 1, Off: 2, Len: 1, Depth: 0},
	}
	if len(m.Fields) != len(want) {
		t.Fatalf("got %d fields, want %d", len(m.Fields), len(want))
	}
	for i := range want {
		if m.Fields[i] != want[i] {
			t.Errorf("field %d\ngot  %+v\nwant %+v", i, m.Fields[i], want[i])
		}
	}
}

// A failure inside groups closes all of them around the bytes that are there.
func TestFailureClosesGroups(t *testing.T) {
	m, c := message([]byte{1, 2, 3}, 3)
	c.Push(&defList, 1)
	c.Push(&defItem, 0)
	c.U64(&defU64)
	c.Pop()
	c.Pop()
	c.Done()
	for _, f := range m.Fields {
		if f.Off != 0 || f.Len != 3 {
			t.Errorf("%s covers [%d,+%d)", f.Def.Name, f.Off, f.Len)
		}
	}
}

func TestFieldLimit(t *testing.T) {
	data := bytes.Repeat([]byte{1}, 2*MaxFields)
	m, c := message(data, len(data))
	for c.OK() && c.Left() > 0 {
		c.U8(&defU8)
	}
	c.Done()
	if len(m.Fields) > MaxFields {
		t.Errorf("%d fields, limit %d", len(m.Fields), MaxFields)
	}
	last := m.Fields[len(m.Fields)-1]
	if last.Def != &Unread || int(last.Off+last.Len) != len(data) {
		t.Errorf("the rest is %s, ends at %d", last.Def.Name, last.Off+last.Len)
	}
	if len(m.Expert) != 1 || m.Expert[0].Code != &TooManyFields || m.Status != Complete {
		t.Errorf("findings %v, status %v", m.Expert, m.Status)
	}
	if s := string(m.Expert[0].AppendText(nil)); !strings.Contains(s, "bytes left undecoded") {
		t.Errorf("text %q", s)
	}
}

func TestCloneDependsOnNothing(t *testing.T) {
	data := []byte("abc\x00")
	m, c := message(data, len(data))
	c.CString(&defText)
	c.Expert(&TooManyFields, 1, 2)
	c.Done()
	var kept Message
	m.Clone(&kept)
	copy(data, "xyz")
	m.Reset(&proto, nil)
	if f := kept.Find(&defText); f == nil || string(kept.Bytes(f)) != "abc" || len(kept.Expert) != 1 {
		t.Errorf("the clone changed: %+v", kept)
	}
}

// A string that is cut, or whose length byte is 0, shows what stands after the
// length byte.
func TestPString(t *testing.T) {
	for _, tc := range []struct {
		name, in, want string
		ok             bool
	}{
		{"whole", "\x04Ann", "Ann", true},
		{"empty", "\x01", "", true},
		{"longer than what is left", "\x05Ann", "Ann", false},
		{"length 0", "\x00Ann", "Ann", false},
		{"length byte alone", "\x05", "", false},
	} {
		m, c := message([]byte(tc.in), 0)
		c.PString(&defText)
		if got := m.Bytes(&m.Fields[0]); string(got) != tc.want || c.OK() != tc.ok || int(m.Fields[0].Len) != len(tc.in) {
			t.Errorf("%s\ngot  %q of %d bytes, %v\nwant %q of %d bytes, %v", tc.name, got, m.Fields[0].Len, c.OK(), tc.want, len(tc.in), tc.ok)
		}
	}
	m, c := message(nil, 0)
	if c.PString(&defText); len(m.Fields) != 0 || m.Status != Malformed {
		t.Errorf("nothing there: %d fields, %v", len(m.Fields), m.Status)
	}
}
