package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// habit is a flag that people type because tcpdump or tshark have it. It does the same
// here, or is answered with the command that does it. Commands that have a flag of
// that letter themselves keep their own.
type habit struct {
	letter, name string
	value        string // what it takes; empty: nothing
	does         func(h *habitual, value string) error
}

// habits are all that are known. None is in the help: it has the flags that are ours.
var habits = []habit{
	{"r", "read-file", "FILE", (*habitual).readFile},
	{"n", "no-names", "", accept}, // no name is ever looked up
	{"q", "quiet", "", accept},    // a message is a line, without this too
	{"l", "line-buffered", "", accept},
	{"U", "packet-buffered", "", accept},
	{"p", "no-promiscuous", "", (*habitual).stayQuiet},
	{"V", "details", "", form("tree")},
	{"v", "verbose", "", (*habitual).verbose},
	{"x", "hex", "", form("hex")},
	{"X", "hex-ascii", "", form("hex")},
	{"A", "ascii", "", form("hex")},
	{"T", "format", "FORMAT", (*habitual).format},
	{"D", "list-interfaces", "", (*habitual).listInterfaces},
	{"Y", "display-filter", "FILTER", (*habitual).displayFilter},
	{"z", "statistics", "TABLE", (*habitual).statistics},
	{"i", "interface", "IFACE", (*habitual).onInterface},
	{"f", "filter", "BPF", (*habitual).captureFilter},
	{"w", "write", "FILE", (*habitual).writePackets},
}

// habitual is a command, and what habits made of its command line.
type habitual struct {
	cmd    *cobra.Command
	opts   *readOptions
	counts map[string]*int      // by letter, of flags without a value
	values map[string]*[]string // of the others
	files  []string             // of -r
	form   string               // of -o, where that is not given
	other  *cobra.Command       // runs in place of cmd
}

// takeHabits adds the flags of habits to a command, and has it do what they say.
func takeHabits(cmd *cobra.Command, opts *readOptions) {
	h := &habitual{cmd: cmd, opts: opts, counts: map[string]*int{}, values: map[string]*[]string{}}
	f := cmd.Flags()
	for _, x := range habits {
		if f.ShorthandLookup(x.letter) != nil || f.Lookup(x.name) != nil {
			continue
		}
		if x.value == "" {
			h.counts[x.letter] = f.CountP(x.name, x.letter, "")
		} else {
			h.values[x.letter] = f.StringArrayP(x.name, x.letter, nil, "")
		}
		f.Lookup(x.name).Hidden = true
	}
	valid, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := h.apply(args); err != nil || h.other != nil || valid == nil {
			return err
		}
		return valid(cmd, append(h.files, args...))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if h.other != nil {
			return h.other.RunE(h.other, nil)
		}
		return run(cmd, append(h.files, args...))
	}
}

// apply does what the habits on the command line say.
func (h *habitual) apply(args []string) error {
	if !h.cmd.HasParent() && len(args) > 0 { // -i is right where the command was meant to be live
		if err := misspelt(h.cmd, args[0]); err != nil {
			return err
		}
	}
	for _, x := range habits {
		var given []string
		if n := h.counts[x.letter]; n != nil {
			given = make([]string, min(*n, 1))
		} else if v := h.values[x.letter]; v != nil {
			given = *v
		}
		for _, value := range given {
			if err := x.does(h, value); err != nil {
				return err
			}
		}
	}
	if o := h.cmd.Flags().Lookup("output"); h.form != "" && !o.Changed {
		if o.Value.Set(h.form) != nil {
			return h.answer(h.cmd.Name()+" shows no single messages", "qsniff -o "+h.form+" FILE does")
		}
	}
	if len(h.files) > 0 && len(args) > 0 {
		if _, err := os.Stat(args[0]); err != nil && args[0] != stdin {
			return h.answer(args[0]+": no such file, and no filter is taken here", h.piped("tcpdump -r FILE -w - 'FILTER'"))
		}
	}
	return nil
}

func (h *habitual) answer(what, hint string) error { return &usageError{fmt.Errorf("%s", what), hint} }

// piped is the command after another one that chooses packets.
func (h *habitual) piped(chooser string) string {
	if h.cmd.HasParent() && h.cmd.Name() != "read" {
		return chooser + " | qsniff " + h.cmd.Name() + " -"
	}
	return chooser + " | qsniff -"
}

func (h *habitual) isLive() bool { return h.cmd.Name() == "live" }

func accept(*habitual, string) error { return nil }

func form(output string) func(*habitual, string) error {
	return func(h *habitual, _ string) error {
		h.form = output
		return nil
	}
}

func (h *habitual) readFile(name string) error {
	if h.isLive() {
		return h.answer("-r "+name+": live reads interfaces", "qsniff FILE reads captures")
	}
	h.files = append(h.files, name)
	return nil
}

// verbose is the version where nothing is to be read: qsniff -v.
func (h *habitual) verbose(string) error {
	output := h.cmd.Flags().Lookup("output").Value.(*choice)
	switch {
	case !h.cmd.HasParent() && h.cmd.Flags().NArg() == 0 && len(h.files) == 0:
		h.other = h.named("version")
	case slices.Contains(output.allowed, "tree"):
		h.form = "tree"
	}
	return nil
}

func (h *habitual) format(name string) error {
	forms := map[string]string{"text": "text", "json": "json", "jsonraw": "json", "ek": "json", "fields": "csv", "tabs": "csv"}
	if h.form = forms[name]; h.form == "" {
		return h.answer("-T "+name+": no such form", "-T json or -o json, -T fields -e NAME or -o csv -e NAME, -o tree")
	}
	return nil
}

func (h *habitual) listInterfaces(string) error {
	h.other = h.named("interfaces")
	return nil
}

func (h *habitual) named(command string) *cobra.Command {
	found, _, _ := h.cmd.Root().Find([]string{command})
	return found
}

func (h *habitual) displayFilter(filter string) error {
	hint := `of messages: qsniff -o json FILE | jq 'select(.message == "A2S_INFO")'; of packets: ` + h.piped("tshark -r FILE -Y 'FILTER' -w -")
	if h.isLive() {
		hint = `qsniff live -i IFACE -o json | jq 'select(.message == "A2S_INFO")'`
	}
	return h.answer("-Y "+filter+": there are no display filters yet", hint)
}

func (h *habitual) statistics(table string) error {
	return h.answer("-z "+table+": no such tables", "qsniff stats FILE has rates, servers, clients and response times")
}

func (h *habitual) onInterface(name string) error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		name = "IFACE"
	}
	hint := "qsniff live -i " + name
	if h.cmd.HasParent() && h.cmd.Name() != "read" {
		hint = h.piped("tcpdump -i " + name + " -U -w - udp")
	}
	return h.answer("-i "+name+": "+h.cmd.Name()+" reads captures", hint)
}

func (h *habitual) captureFilter(filter string) error {
	return h.answer("-f "+filter+": only live has a capture filter", h.piped("tcpdump -r FILE -w - 'FILTER'"))
}

func (h *habitual) writePackets(name string) error {
	return h.answer("-w "+name+": only live writes packets", "tcpdump -r FILE -w OUT 'FILTER' writes those of a capture")
}

// stayQuiet is what live does without it.
func (h *habitual) stayQuiet(string) error {
	if f := h.cmd.Flags().Lookup("promiscuous"); f != nil && f.Changed {
		return h.answer("-p is the opposite of --promiscuous", "leave one of them out")
	}
	return nil
}

// word is a flag with a text, and what the help calls it.
type word struct {
	value *string
	kind  string
	joins bool // given again it is one more of a list
}

func (w *word) String() string { return *w.value }
func (w *word) Type() string   { return w.kind }
func (w *word) Set(s string) error {
	if w.joins && *w.value != "" {
		s = *w.value + "," + s
	}
	*w.value = s
	return nil
}

var _ pflag.Value = (*word)(nil)
