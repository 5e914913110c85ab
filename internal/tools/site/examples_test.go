package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"qsniff/internal/test/binary"
)

func TestExemption(t *testing.T) {
	r := runner{files: map[string]string{"capture.pcap": "", "evening.pcap.zst": "", "part1.bin": "", "qsniff.toml": ""}}
	for line, want := range map[string]string{
		"qsniff capture.pcap":                                    "",
		"qsniff -o json capture.pcap | jq -r '.a | .b'":          "",
		"qsniff -Y 'server.port == 27015' capture.pcap":          "",
		"qsniff decode '{0xff; 0x69}' > out.txt":                 "",
		"qsniff decode /////0FLodUi":                             "",
		"cat part1.bin | qsniff decode":                          "",
		"qsniff anonymize capture.pcap shared.pcapng":            "",
		"qsniff read -w queries.pcapng capture.pcap":             "",
		"qsniff findings capture.pcap > f.txt; test $? -ne 3":    "",
		"qsniff monitor --config qsniff.toml --check":            "",
		"qsniff explain A2S-S07":                                 "",
		"qsniff FILE":                                            "takes FILE",
		"qsniff anonymize IN.pcap OUT.pcap":                      "takes IN.pcap",
		"qsniff stats other.pcap":                                "takes other.pcap",
		"qsniff stats pcapfiles/a2s/other.pcap.gz":               "takes pcapfiles/a2s/other.pcap.gz",
		"qsniff /var/log/ring":                                   "takes /var/log/ring",
		"COLUMNS=100 qsniff -o tree capture.pcap | less -R":      "runs less",
		"ssh host tcpdump -w - | qsniff read -":                  "runs ssh",
		"sudo qsniff capture.pcap":                               endsNot,
		"qsniff floods -i eth0":                                  endsNot,
		"qsniff floods --tzsp 192.0.2.9:37008":                   endsNot,
		"qsniff read --follow capture.pcap":                      endsNot,
		"qsniff top capture.pcap":                                endsNot,
		"qsniff monitor --config qsniff.toml":                    endsNot,
		"cat capture.pcap | qsniff live -":                       endsNot,
		"qsniff replay --listen 127.0.0.1:27015 -v capture.pcap": endsNot,
	} {
		if got := r.exemption(line); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

const endsNot = "needs root or a network, or a terminal, or does not end"

func TestSplitCommands(t *testing.T) {
	got := splitCommands(`A=1 qsniff -Y 'a | b' "c d">x.txt; test $? -ne 3 && echo '' | jq .`)
	want := [][]string{{"A=1", "qsniff", "-Y", "a | b", "c d", ">", "x.txt"}, {"test", "$?", "-ne", "3"}, {"echo", ""}, {"jq", "."}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// convert returns the markup of a page of Markdown, and the lines that are examples.
func convert(t *testing.T, markdown string) (string, []string, error) {
	t.Helper()
	s := &site{input: input{root: binary.Root}, files: map[string][]byte{}, names: map[string]string{"docs/floods.md": "floods.html"}, linked: map[string]bool{}}
	body, err := parseMarkdown([]byte(markdown))
	if err != nil {
		return "", nil, err
	}
	if err := s.prepare(&page{Source: "docs/x.md", body: body}); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := html.Render(&b, body); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, ex := range s.examples {
		lines = append(lines, ex.line)
	}
	return b.String(), lines, nil
}

func TestBlocks(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		examples   []string
		has        string
	}{
		{"help texts: remarks follow blanks", "    qsniff a.pcap    what it is\n    qsniff b.pcap\n", []string{"qsniff a.pcap", "qsniff b.pcap"}, `<p class="remark">what it is</p>`},
		{"README: remarks follow #", "    sudo nft -f a   # load\n    qsniff -Y 'a # b' c  # that\n", []string{"qsniff -Y 'a # b' c"}, `<p class="remark">load</p>`},
		{"after a pipe, with a variable", "    X=1 qsniff a | less\n    cat a | qsniff -\n    cat a\n", []string{"X=1 qsniff a | less", "cat a | qsniff -"}, `<span class="cmd">cat a</span>`},
		{"a synopsis", "    qsniff [flags] FILE...\n", nil, `<pre><code>qsniff [flags] FILE...`},
		{"a synopsis of words", "    qsniff completion bash|zsh\n", nil, `<pre><code>qsniff completion`},
		{"a drawing", "\tqsniffer | opcode <u8>\n", nil, "<pre><code>qsniffer | opcode &lt;u8&gt;"},
		{"a dialogue", "```console lines=x\n$ qsniff a.pcap\n<output>\n```\n", nil, `<span class="cmd">qsniff a.pcap</span>` + "\n&lt;output&gt;"},
		{"a place, as GitHub names it", "# A `b_c`: d (E)\n## x\n## x\n", nil, `<h2 id="x-1">x`},
		{"a link to a page", "[a](floods.md#x)", nil, `<a href="floods.html#x">`},
		{"a link to a file", "[a](../contrib/monitor.toml)", nil, `<a href="files.html#contribmonitortoml">`},
		{"a comment", "# a\n<!-- not shown -->\nb <!-- nor this --> c", nil, "<p>b  c</p>"},
		{"a level left out", "# a\n### b\n### c\n#### d\n", nil, `<h2 id="c">`},
	} {
		got, examples, err := convert(t, tc.text)
		if err != nil || !strings.Contains(got, tc.has) || strings.Contains(got, "not shown") {
			t.Errorf("%s: %v, want %s in:\n%s", tc.name, err, tc.has, got)
		}
		if d := cmp.Diff(tc.examples, examples); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}

// TestRefused: what would be wrong on the site ends its build.
func TestRefused(t *testing.T) {
	for _, markdown := range []string{"a <name> b", "<script>x</script>", "[a](nothing.md)", "![a](img/nothing.svg)", "[a](%zz)"} {
		if got, _, err := convert(t, markdown); err == nil {
			t.Errorf("%s became %s", markdown, got)
		}
	}
	fails := errors.New("status 1")
	if _, err := build(input{root: binary.Root, run: func(string) (output, error) { return output{}, fails }}); !errors.Is(err, fails) {
		t.Errorf("an example that fails: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := clear(dir); err == nil {
		t.Error("a folder of something else is cleared")
	}
}

func TestCut(t *testing.T) {
	many := strings.Repeat("a\n", mostLines)
	for _, tc := range []struct{ in, shown, rest string }{
		{"", "", ""},
		{"a", "a\n", ""},
		{many, many, ""},
		{many + "b\nc", many, "… 2 more lines"},
		{strings.Repeat("é", mostChars), strings.Repeat("é", mostChars/2) + "\n", "… 12,001 more bytes"},
		{"a\n" + strings.Repeat("b", mostChars) + "\n", "a\n", "… 1 more line"},
	} {
		if shown, rest := cut(tc.in); shown != tc.shown || rest != tc.rest {
			t.Errorf("%.20q: got %.20q, %q", tc.in, shown, rest)
		}
	}
}
