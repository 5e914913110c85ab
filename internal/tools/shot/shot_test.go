package shot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuns(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     [][]run
	}{
		{"plain", "ab\n\ncd\n", [][]run{{{col: 0, cells: 2, text: "ab"}}, nil, {{col: 0, cells: 2, text: "cd"}}}},
		{"blanks are room", "  a b   c ", [][]run{{{col: 2, cells: 3, text: "a b"}, {col: 8, cells: 1, text: "c"}}}},
		{"colour", "\x1b[36mx\x1b[0my", [][]run{{{style: style{color: 6}, cells: 1, text: "x"}, {col: 1, cells: 1, text: "y"}}}},
		{"two at once", "\x1b[31;1mx\x1b[0;22;0my", [][]run{{{style: style{bold: true, color: 1}, cells: 1, text: "x"}, {col: 1, cells: 1, text: "y"}}}},
		{"colour goes on over lines", "\x1b[2ma\nb", [][]run{{{style: style{faint: true}, cells: 1, text: "a"}}, {{style: style{faint: true}, cells: 1, text: "b"}}}},
		{"wide", "東x", [][]run{{{cells: 3, text: "東x"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseLines([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(run{}, style{})); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{"\x1b[2J", "\x1b[95mx", "\x1b]0;title\a", "\x1b[31", "a\tb", "a\rb", "\x9b31m", "\xff", "\x1b[38;5;1mx"} {
		if out, err := SVG("t", []byte(in)); err == nil {
			t.Errorf("%q: got %s, want an error", in, out)
		}
	}
}

// TestSVG: the picture is XML, says what was said, and refers to nothing outside.
func TestSVG(t *testing.T) {
	const said = `<script>alert("1")</script> & 'more' ]]>`
	out, err := SVG("a <title> & \"more\"", []byte("\x1b[33m"+said+"\x1b[0m\n"))
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	in := ""
	d := xml.NewDecoder(strings.NewReader(string(out)))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			in = x.Name.Local
			for _, a := range x.Attr {
				if a.Name.Local == "href" || a.Name.Local == "src" {
					t.Errorf("refers to %s", a.Value)
				}
			}
		case xml.CharData:
			if in == "text" && strings.TrimSpace(string(x)) != "" {
				text = append(text, string(x))
			}
		}
	}
	if got := strings.Join(text, ""); got != said {
		t.Errorf("got  %s\nwant %s", got, said)
	}
	if n := strings.Count(string(out), "//"); n != 1 { // the name space's
		t.Errorf("%d addresses in %s", n, out)
	}
}

// TestMovie: each frame is seen in its time, and the first one where nothing is to move.
func TestMovie(t *testing.T) {
	out, err := Movie("two", []Frame{{[]byte("one"), 1}, {[]byte("\x1b[7mtwo  \x1b[m"), 3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".m0 { visibility: visible }", "@keyframes m0 { 0% { visibility: visible } 25.00% { visibility: hidden } }",
		"@keyframes m1 { 0% { visibility: hidden } 25.00% { visibility: visible } }", `<rect class="v" x="14" y="14" width="42" height="20"/>`, `class="v">two  </text>`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}

// TestContrast: every colour can be read on its page, 4.5 to 1 or better (WCAG 2.1,
// success criterion 1.4.3).
func TestContrast(t *testing.T) {
	fill := regexp.MustCompile(`([.a-z0-9]+) \{[^}]*fill: (#[0-9a-f]{6})`)
	light, dark, ok := strings.Cut(styleSheet, "@media")
	if !ok {
		t.Fatal("no colours for dark pages")
	}
	for name, part := range map[string]string{"light": light, "dark": dark} {
		page, reverse := "", ""
		colours := fill.FindAllStringSubmatch(part, -1)
		if len(colours) != 11 {
			t.Errorf("%s: %d colours, want the page, the text, faint, six, and two in reverse", name, len(colours))
		}
		for _, c := range colours {
			if c[1] == ".page" {
				page = c[2]
				continue
			}
			if c[1] == "rect.v" {
				reverse = c[2]
			}
			a, b := luminance(t, page), luminance(t, c[2])
			if c[1] == "text.v" {
				a = luminance(t, reverse)
			}
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s has a contrast of %.2f", name, c[1], ratio)
			}
		}
	}
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, weight := range [...]float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
