// Package shot draws what a program wrote to a terminal as an SVG picture, for
// pages that show it. It understands text, line feeds and the colour sequences
// that qsniff writes; anything else is an error, so that no picture shows less
// than the terminal did. It is no terminal emulator: the cursor never moves back.
package shot

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"qsniff/internal/base/display"
)

// The metrics of monospaced fonts of 14 pixels, whose cells are 0.6 times as wide. Each
// run of text has its length as an attribute, so that columns line up in any font.
const (
	cellTenths = 84 // width of a cell in tenths of a pixel
	lineHeight = 20
	baseline   = 15 // of a line, from its top
	margin     = 14
)

// style is the state that the colour sequences so far have set.
type style struct {
	bold, faint bool
	reverse     bool
	underline   bool
	color       int // 1 to 6 as in sequence 31 to 36; 0 is the terminal's own
}

// run is text of one style at a place.
type run struct {
	style style
	col   int
	cells int
	text  string
}

// SVG draws terminal output. title is the text for screen readers.
func SVG(title string, output []byte) ([]byte, error) { return draw(title, []Frame{{Output: output}}) }

// Frame is what a terminal shows for a time.
type Frame struct {
	Output  []byte
	Seconds int
}

// Movie draws what a terminal shows one after the other, again and again. Who wants no motion
// sees the first frame.
func Movie(title string, frames []Frame) ([]byte, error) { return draw(title, frames) }

func draw(title string, frames []Frame) ([]byte, error) {
	cells, lines, all := 0, 0, make([][][]run, len(frames))
	for i, f := range frames {
		var err error
		if all[i], err = parseLines(f.Output); err != nil {
			return nil, err
		}
		lines = max(lines, len(all[i]))
		for _, line := range all[i] {
			for _, r := range line {
				cells = max(cells, r.col+r.cells)
			}
		}
	}
	width, height := (cells*cellTenths+9)/10+2*margin, lines*lineHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", escape(title), styleSheet)
	if len(frames) > 1 {
		writeMotion(&b, frames)
	}
	fmt.Fprintf(&b, `<rect class="page" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	for i, lines := range all {
		if len(frames) > 1 {
			fmt.Fprintf(&b, "<g class=\"frame m%d\">\n", i)
		}
		writeLines(&b, lines)
		if len(frames) > 1 {
			b.WriteString("</g>\n")
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// writeLines writes lines of runs.
func writeLines(b *bytes.Buffer, lines [][]run) {
	for i, line := range lines {
		for _, r := range line {
			if r.style.reverse {
				fmt.Fprintf(b, `<rect class="v" x="%s" y="%d" width="%s" height="%d"/>`+"\n", tenths(10*margin+r.col*cellTenths), margin+i*lineHeight, tenths(r.cells*cellTenths), lineHeight)
			}
			fmt.Fprintf(b, `<text x="%s" y="%d" textLength="%s"%s>%s</text>`+"\n",
				tenths(10*margin+r.col*cellTenths), margin+i*lineHeight+baseline, tenths(r.cells*cellTenths), r.style.class(), escape(r.text))
		}
	}
}

// writeMotion writes the styles by which each frame is seen in its time.
func writeMotion(b *bytes.Buffer, frames []Frame) {
	all, from := 0, 0
	for _, f := range frames {
		all += f.Seconds
	}
	b.WriteString("<style>\n.frame { visibility: hidden }\n.m0 { visibility: visible }\n@media (prefers-reduced-motion: no-preference) {\n")
	for i, f := range frames {
		percent := func(seconds int) string { return fmt.Sprintf("%.2f%%", 100*float64(seconds)/float64(all)) }
		fmt.Fprintf(b, ".m%d { animation: m%[1]d %ds step-end infinite }\n@keyframes m%[1]d { 0%% { visibility: %[3]s }", i, all, map[bool]string{true: "visible", false: "hidden"}[i == 0])
		if i > 0 {
			fmt.Fprintf(b, " %s { visibility: visible }", percent(from))
		}
		from += f.Seconds
		if from < all {
			fmt.Fprintf(b, " %s { visibility: hidden }", percent(from))
		}
		b.WriteString(" }\n")
	}
	b.WriteString("}\n</style>\n")
}

// styleSheet has the colours for light pages and for dark ones. All have a contrast of
// at least 4.5 to 1 to the page; a test computes it.
const styleSheet = `<style>
.page { fill: #f6f8fa; stroke: #d1d9e0 }
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre }
.b { font-weight: 700 }
.u { text-decoration: underline }
.f { fill: #59636e }
rect.v { fill: #1f2328 } text.v { fill: #f6f8fa }
.c1 { fill: #b91c2b } .c2 { fill: #1a7f37 } .c3 { fill: #8a5a00 } .c4 { fill: #0969da } .c5 { fill: #8250df } .c6 { fill: #1b6f78 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; stroke: #3d444d }
text { fill: #e6edf3 }
.f { fill: #9198a1 }
rect.v { fill: #e6edf3 } text.v { fill: #0d1117 }
.c1 { fill: #ff7b72 } .c2 { fill: #3fb950 } .c3 { fill: #d29922 } .c4 { fill: #58a6ff } .c5 { fill: #bc8cff } .c6 { fill: #39c5cf }
}
</style>
`

// class returns the attribute that styles a run; "" for plain text.
func (s style) class() string {
	var names []string
	if s.bold {
		names = append(names, "b")
	}
	if s.faint {
		names = append(names, "f")
	}
	if s.color > 0 && !s.reverse {
		names = append(names, "c"+strconv.Itoa(s.color))
	}
	if s.reverse {
		names = append(names, "v")
	}
	if s.underline {
		names = append(names, "u")
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func tenths(n int) string {
	if n%10 == 0 {
		return strconv.Itoa(n / 10)
	}
	return fmt.Sprintf("%d.%d", n/10, n%10)
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

// parseLines cuts output into lines of runs.
func parseLines(output []byte) ([][]run, error) {
	var lines [][]run
	var s style
	for i, line := range strings.Split(strings.TrimSuffix(string(output), "\n"), "\n") {
		var runs []run
		col := 0
		for line != "" {
			if line[0] == '\x1b' {
				codes, rest, ok := strings.Cut(strings.TrimPrefix(line, "\x1b["), "m")
				if !ok || !s.apply(codes) {
					return nil, fmt.Errorf("line %d: a sequence that is no colour: %q", i+1, line)
				}
				line = rest
				continue
			}
			n := strings.IndexByte(line, '\x1b')
			if n < 0 {
				n = len(line)
			}
			if bad := strings.IndexFunc(line[:n], isControl); bad >= 0 || !utf8.ValidString(line[:n]) {
				return nil, fmt.Errorf("line %d: not text: %q", i+1, line[:n])
			}
			runs, col = appendRuns(runs, s, col, line[:n])
			line = line[n:]
		}
		lines = append(lines, runs)
	}
	return lines, nil
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

// appendRuns appends the runs of text, which it cuts at two blanks or more: blanks are
// not drawn, but in reverse or underlined. It returns the column after text.
func appendRuns(runs []run, s style, col int, text string) ([]run, int) {
	if s.reverse || s.underline {
		cells := display.Cells([]byte(text))
		if n := len(runs); n > 0 && runs[n-1].style == s && runs[n-1].col+runs[n-1].cells == col {
			runs[n-1].text += text
			runs[n-1].cells += cells
			return runs, col + cells
		}
		return append(runs, run{s, col, cells, text}), col + cells
	}
	for text != "" {
		blank := len(text) - len(strings.TrimLeft(text, " "))
		col, text = col+blank, text[blank:]
		n := strings.Index(text, "  ")
		if n < 0 {
			n = len(strings.TrimRight(text, " "))
		}
		if n > 0 {
			cells := display.Cells([]byte(text[:n]))
			runs = append(runs, run{s, col, cells, text[:n]})
			col, text = col+cells, text[n:]
		}
	}
	return runs, col
}

// apply applies the numbers of one colour sequence, and reports whether it knows all of
// them.
func (s *style) apply(codes string) bool {
	for code := range strings.SplitSeq(codes, ";") {
		n, err := strconv.Atoi(code)
		switch {
		case codes == "" || n == 0 && err == nil:
			*s = style{}
		case err != nil:
			return false
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 4:
			s.underline = true
		case n == 7:
			s.reverse = true
		case n == 27:
			s.reverse = false
		case n == 22:
			s.bold, s.faint = false, false
		case n == 39:
			s.color = 0
		case n >= 31 && n <= 36:
			s.color = n - 30
		default:
			return false
		}
	}
	return true
}
