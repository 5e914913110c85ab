package message

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"qsniff/dissect"
	"qsniff/internal/app/terminal"
	"qsniff/internal/render"
	"qsniff/internal/render/text"
)

// dump returns the rows of bytes, and at which byte each begins.
func (v *Panes) dump() (rows []string, starts []int) {
	if v.event == nil || v.bytesWidth <= 0 {
		return nil, nil
	}
	from, to := v.lit()
	if made := (dumped{v.event, v.bytesWidth, from, to}); v.dumped != made {
		o := v.opt
		o.Width = v.bytesWidth
		var out []byte
		out, v.starts = text.NewBytes(o).Append(nil, v.event, from, to)
		v.rows, v.dumped = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), made
	}
	return v.rows, v.starts
}

// dumped is what rows of bytes were made of.
type dumped struct {
	event           *render.Event
	width, from, to int
}

// lit returns the bytes that are lit: those of the field at the place.
func (v *Panes) lit() (from, to int) {
	f := v.Field()
	if v.pane == Bytes {
		f = v.fieldOfByte()
	}
	if f == nil {
		return 0, 0
	}
	return int(f.Off), int(f.Off + f.Len)
}

// fieldOfByte returns the field that the byte at the place belongs to, or nil.
func (v *Panes) fieldOfByte() *dissect.Field {
	if v.event == nil {
		return nil
	}
	if i := text.LeafAt(v.event.Msg, v.byteAt); i >= 0 {
		return &v.event.Msg.Fields[i]
	}
	return nil
}

// showByte brings the place in the bytes onto the screen.
func (v *Panes) showByte() {
	_, starts := v.dump()
	row := 0
	for i, at := range starts {
		if at <= v.byteAt {
			row = i
		}
	}
	v.byteTop = min(v.byteTop, row)
	v.byteTop = max(v.byteTop, row-v.bytesHeight+1, 0)
}

// moveByte moves the place in the bytes to an offset, and that in the tree to its field.
func (v *Panes) moveByte(at int) {
	v.byteAt = max(min(at, len(v.event.Msg.Data)-1), 0)
	if i := text.LeafAt(v.event.Msg, v.byteAt); i >= 0 {
		v.goTo(i)
	}
	v.showByte()
}

// moveRows moves the place in the bytes by n rows.
func (v *Panes) moveRows(n int) {
	_, starts := v.dump()
	row := 0
	for i, at := range starts {
		if at <= v.byteAt {
			row = i
		}
	}
	if to := row + n; to >= 0 && to < len(starts) {
		v.moveByte(starts[to] + v.byteAt - starts[row])
	} else if n < 0 {
		v.moveByte(0)
	} else {
		v.moveByte(len(v.event.Msg.Data))
	}
}

func (v *Panes) pressInBytes(k tea.KeyPressMsg) bool {
	n, moves := terminal.Rows(k, v.bytesHeight)
	switch {
	case moves:
		v.moveRows(n)
	case key.Matches(k, KeyLeft):
		v.moveByte(v.byteAt - 1)
	case key.Matches(k, KeyRight):
		v.moveByte(v.byteAt + 1)
	default:
		return false
	}
	return true
}

// BytesView returns the rows of bytes in the size that was set.
func (v *Panes) BytesView() string {
	rows, _ := v.dump()
	var b strings.Builder
	for y := range v.bytesHeight {
		if y > 0 {
			b.WriteByte('\n')
		}
		row := ""
		if i := v.byteTop + y; i < len(rows) {
			row = rows[i]
		}
		b.WriteString(terminal.Fit(row, v.bytesWidth))
	}
	return b.String()
}
