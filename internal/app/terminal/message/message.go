// Package message shows one message on a terminal: its annotated tree, and its bytes beside
// or below it. Where the tree is, the bytes of that field are lit, and the other way round.
//
// Package internal/render/text makes the lines and hides secrets; this one adds a place in them, and
// folds lists.
package message

import (
	"bytes"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/dissect"
	"qsniff/internal/app/terminal"
	"qsniff/internal/render"
	"qsniff/internal/render/text"
)

// Pane is a part of the view that takes keys.
type Pane uint8

// The panes.
const (
	NoPane Pane = iota
	Tree
	Bytes
)

// Panes shows a message. Its owner sets a size, a pane and a message.
type Panes struct {
	opt   text.Options
	event *render.Event // a copy that is the view's; nil: none
	pane  Pane

	width, height int // of the tree
	lines         []line
	at            int // index in lines of the place
	top           int // first line on the screen
	folded        map[int]bool

	bytesWidth, bytesHeight int
	byteAt                  int // offset of the place in the bytes
	byteTop                 int // first row on the screen
	dumped                  dumped
	rows                    []string
	starts                  []int
}

// line is a line of the tree.
type line struct {
	text  string
	field int  // index in Message.Fields, or -1
	first bool // the first one of its field
}

// New returns a view without a message. Of opt only ShowSecrets and how times are written are
// used.
func New(opt text.Options) *Panes {
	opt.Palette, opt.BytesElsewhere = text.NewPalette(true), true
	return &Panes{opt: opt}
}

// SetSize sets the sizes of the tree and of the bytes; 0 hides one.
func (v *Panes) SetSize(width, height, bytesWidth, bytesHeight int) {
	if v.width == width && v.height == height && v.bytesWidth == bytesWidth && v.bytesHeight == bytesHeight {
		return
	}
	field := v.field()
	v.width, v.height, v.bytesWidth, v.bytesHeight = width, height, bytesWidth, bytesHeight
	v.layOut()
	v.goTo(field)
}

// SetPane sets which pane has the keys.
func (v *Panes) SetPane(p Pane) { v.pane = p }

// Event returns the message that is shown, or nil.
func (v *Panes) Event() *render.Event { return v.event }

// SetEvent shows a message, which must not change any more (render.Event.Clone), or none. Of
// a message of the type that was shown the place stays.
func (v *Panes) SetEvent(e *render.Event) {
	old := v.event
	v.event = e
	if old == nil || e == nil || old.Msg.Type != e.Msg.Type {
		v.folded, v.at, v.top = map[int]bool{}, 0, 0
	}
	v.byteAt, v.byteTop = 0, 0
	v.layOut()
}

// layOut makes the lines of the tree.
func (v *Panes) layOut() {
	v.lines = v.lines[:0]
	if v.event == nil || v.width <= 0 {
		return
	}
	o := v.opt
	o.Width = v.width
	out, marks := text.NewTree(o).AppendMarked(nil, v.event)
	out = bytes.TrimRight(out, "\n")
	hidden := -1 // depth of the folded field above, -1: none
	for i, m := range marks {
		end := len(out)
		if i+1 < len(marks) {
			end = min(marks[i+1].At, len(out))
		}
		depth := -1
		if m.Field >= 0 {
			depth = int(v.event.Msg.Fields[m.Field].Depth)
		}
		if hidden >= 0 && depth > hidden || m.At >= end {
			continue
		}
		hidden = -1
		v.addLines(string(out[m.At:end]), m.Field)
		if v.folded[m.Field] && m.Field >= 0 {
			hidden = depth
		}
	}
	v.at = max(min(v.at, len(v.lines)-1), 0)
	v.show()
}

func (v *Panes) addLines(s string, field int) {
	for i, l := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if i == 0 && v.folded[field] && field >= 0 {
			l += " …"
		}
		v.lines = append(v.lines, line{l, field, i == 0})
	}
}

// show brings the place onto the screen.
func (v *Panes) show() {
	v.top = min(v.top, v.at)
	v.top = max(v.top, v.at-v.height+1, 0)
	v.top = max(min(v.top, len(v.lines)-v.height), 0)
}

// field returns the index of the field at the place, or -1.
func (v *Panes) field() int {
	if v.at >= len(v.lines) {
		return -1
	}
	return v.lines[v.at].field
}

// Field returns the field at the place, or nil.
func (v *Panes) Field() *dissect.Field {
	if i := v.field(); i >= 0 {
		return &v.event.Msg.Fields[i]
	}
	return nil
}

// goTo moves the place to a field, or to the folded one that it is in.
func (v *Panes) goTo(field int) {
	for i := range v.lines {
		if l := &v.lines[i]; l.first && l.field >= 0 && l.field <= field {
			v.at = i
		}
	}
	v.show()
}

// The keys of the tree, and those of the bytes.
var (
	KeyFold   = key.NewBinding(key.WithKeys("enter"), key.WithHelp("Enter", "fold or unfold a list"))
	KeyLeft   = key.NewBinding(key.WithKeys("left", "h"), key.WithHelp("← h", "fold; in the bytes, the byte before"))
	KeyRight  = key.NewBinding(key.WithKeys("right", "l"), key.WithHelp("→ l", "unfold; in the bytes, the next byte"))
	TreeKeys  = []key.Binding{KeyFold, KeyLeft, KeyRight}
	scrolling = 3 // lines of a step of the wheel; chosen: as in less
)

// Update handles a key for the pane that has the keys, and reports whether it was for it.
func (v *Panes) Update(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if v.event == nil {
			return false
		}
		if v.pane == Bytes {
			return v.pressInBytes(msg)
		}
		return v.pane == Tree && v.pressInTree(msg)
	case tea.MouseWheelMsg:
		n := scrolling
		if msg.Button == tea.MouseWheelUp {
			n = -n
		}
		v.move(n)
		return true
	}
	return false
}

// Click moves the place to a line of the tree, or of the bytes.
func (v *Panes) Click(p Pane, y int) {
	if p == Bytes {
		if _, starts := v.dump(); v.byteTop+y < len(starts) && y >= 0 {
			v.moveByte(starts[v.byteTop+y])
		}
		return
	}
	v.move(v.top + y - v.at)
}

// move moves the place by n lines.
func (v *Panes) move(n int) {
	v.at = max(min(v.at+n, len(v.lines)-1), 0)
	v.show()
	if f := v.Field(); f != nil && f.Len > 0 {
		v.byteAt = int(f.Off)
		v.showByte()
	}
}

func (v *Panes) pressInTree(k tea.KeyPressMsg) bool {
	n, moves := terminal.Rows(k, v.height)
	switch {
	case moves:
		v.move(n)
	case key.Matches(k, KeyFold):
		v.fold(!v.folded[v.field()])
	case key.Matches(k, KeyLeft):
		v.fold(true)
	case key.Matches(k, KeyRight):
		v.fold(false)
	default:
		return false
	}
	return true
}

// fold folds or unfolds the list or group at the place; or folds that around the place.
func (v *Panes) fold(folds bool) {
	i := v.field()
	if i < 0 {
		return
	}
	fields := v.event.Msg.Fields
	if depth := fields[i].Depth; folds && (v.folded[i] || !isTree(&fields[i])) {
		for i > 0 && (fields[i].Depth >= depth || !v.hasLine(i)) {
			i--
		}
		if fields[i].Depth >= depth {
			return
		}
	}
	if !isTree(&fields[i]) {
		return
	}
	v.folded[i] = folds
	v.layOut()
	v.goTo(i)
}

// hasLine reports whether a field has a line of its own.
func (v *Panes) hasLine(field int) bool {
	for i := range v.lines {
		if v.lines[i].field == field {
			return true
		}
	}
	return false
}

func isTree(f *dissect.Field) bool { return f.Def.Kind == dissect.List || f.Def.Kind == dissect.Group }

// Copied returns what is copied at the place: the value of the field, or in the bytes these in
// hexadecimal. why is set instead if that has a secret that is not shown, or there is nothing.
func (v *Panes) Copied() (copied, why string) {
	f := v.Field()
	if v.pane == Bytes {
		f = v.fieldOfByte()
	}
	if f == nil {
		return "", "no field here: go to one with the arrows"
	}
	value, hex, ok := text.FieldText(&v.opt, v.event.Msg, f)
	switch {
	case !ok:
		return "", "a secret is not copied; --show-secrets shows it"
	case v.pane == Bytes || value == "":
		return hex, ""
	}
	return strings.Trim(value, `"`), ""
}

// TreeView returns the lines of the tree in the size that was set.
func (v *Panes) TreeView() string {
	var b strings.Builder
	for y := range v.height {
		if y > 0 {
			b.WriteByte('\n')
		}
		i := v.top + y
		if i >= len(v.lines) {
			b.WriteString(strings.Repeat(" ", max(v.width, 0)))
			continue
		}
		s := terminal.Fit(v.lines[i].text, v.width)
		switch {
		case i == v.at && v.pane == Tree:
			s = terminal.Selected.Render(ansi.Strip(s))
		case i == v.at && v.pane == Bytes:
			s = terminal.Head.Underline(true).Render(ansi.Strip(s))
		}
		b.WriteString(s)
	}
	return b.String()
}

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
