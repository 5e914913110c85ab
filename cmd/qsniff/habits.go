package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture/pcapfilter"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/filter"
)

// habit is a flag that people type because tcpdump or tshark have it. It does the same
// here, or is refused with a hint on the command that does it. A command that has a flag
// with the same letter keeps its own.
type habit struct {
	letter, name string
	value        string // name of its value; empty: it has none
	apply        func(h *habitState, value string) error
}

// habits lists all habits. They are hidden in the help, which lists qsniff's own flags.
var habits = []habit{
	{"r", "read-file", "FILE", (*habitState).addFile},
	{"n", "no-names", "", ignoreHabit}, // no name is ever looked up
	{"q", "quiet", "", ignoreHabit},    // a message is a line, without this too
	{"l", "line-buffered", "", ignoreHabit},
	{"U", "packet-buffered", "", ignoreHabit},
	{"p", "no-promiscuous", "", (*habitState).checkPromiscuous},
	{"V", "details", "", setForm("tree")},
	{"v", "verbose", "", (*habitState).setVerbose},
	{"x", "hex", "", setForm("hex")},
	{"X", "hex-ascii", "", setForm("hex")},
	{"A", "ascii", "", setForm("hex")},
	{"S", "absolute-numbers", "", ignoreHabit}, // of TCP, which no line has
	{"T", "format", "FORMAT", (*habitState).setFormat},
	{"E", "export-options", "KEY=VALUE", (*habitState).setExport},
	{"a", "autostop", "CONDITION", (*habitState).refuseAutostop},
	{"D", "list-interfaces", "", (*habitState).runInterfaces},
	{"Y", "display-filter", "FILTER", (*habitState).refuseDisplayFilter},
	{"z", "statistics", "TABLE", (*habitState).refuseStatistics},
	{"i", "interface", "IFACE", (*habitState).refuseInterface},
	{"f", "capture-filter", "BPF", (*habitState).refuseCaptureFilter},
	{"w", "write", "FILE", (*habitState).refuseWrite},
}

// habitState is a command, and what the habits on its command line ask for.
type habitState struct {
	cmd     *cobra.Command
	opts    *readOptions
	counts  map[string]*int      // by letter, of flags without a value
	values  map[string]*[]string // of the others
	files   []string             // of -r
	form    string               // of -o, where that is not given
	instead *cobra.Command       // runs in place of cmd
	lead    int                  // how many of the first arguments are a filter
	words   int                  // how many of the last ones are
}

// addHabits adds the flags of habits to a command, and makes it apply them before it runs.
func addHabits(cmd *cobra.Command, opts *readOptions) {
	h := &habitState{cmd: cmd, opts: opts, counts: map[string]*int{}, values: map[string]*[]string{}}
	f := cmd.Flags()
	for _, x := range habits {
		if f.ShorthandLookup(x.letter) != nil || f.Lookup(x.name) != nil {
			continue
		}
		if x.value == "" {
			h.counts[x.letter] = f.CountP(x.name, x.letter, "")
		} else {
			h.values[x.letter] = new([]string)
			f.VarP((*cli.Texts)(h.values[x.letter]), x.name, x.letter, "")
		}
		f.Lookup(x.name).Hidden = true
	}
	valid, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := h.apply(args); err != nil || h.instead != nil || valid == nil {
			return err
		}
		return valid(cmd, h.captures(args))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if h.instead != nil {
			return h.instead.RunE(h.instead, nil)
		}
		return run(cmd, h.captures(args))
	}
}

// captures returns the files of -r and those among the arguments.
func (h *habitState) captures(args []string) []string {
	return append(h.files, args[h.lead:len(args)-h.words]...)
}

// apply applies the habits on the command line.
func (h *habitState) apply(args []string) error {
	if !h.cmd.HasParent() && len(args) > 0 { // before -i is refused: "qsniff lvie -i eth0" is a misspelt live
		if err := checkSpelling(h.cmd, args[0]); err != nil {
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
			if err := x.apply(h, value); err != nil {
				return err
			}
		}
	}
	if o := h.cmd.Flags().Lookup("output"); h.form != "" && (o == nil || !o.Changed) {
		if o == nil || o.Value.Set(h.form) != nil {
			return h.refuse(h.cmd.Name()+" shows no single messages", "qsniff -o "+h.form+" FILE does")
		}
	}
	if len(args) > 1 && len(h.files) == 0 && !h.isLive() && strings.Contains(args[0], " ") && cli.AreFiles(args[1:]) && !cli.AreFiles(args[:1]) {
		h.lead = 1 // as tcpdump has no captures among its words, its users begin with the filter
		if h.cmd.Flags().Lookup("filter") != nil {
			return h.takeWords(args[:1])
		}
		if h.cmd.Flags().Lookup("capture-filter") != nil {
			return h.takeCaptureWords(args[:1])
		}
		h.lead = 0
	}
	if h.cmd.Flags().Lookup("filter") != nil && !h.isLive() {
		words := cli.SplitWords(args, len(h.files) > 0 || h.opts.isLive())
		if h.words = len(words); h.words > 0 {
			return h.takeWords(words)
		}
		return nil
	}
	if h.isLive() {
		return nil
	}
	if words := cli.SplitWords(args, len(h.files) > 0); len(words) > 0 && h.cmd.Flags().Lookup("capture-filter") != nil {
		return h.takeCaptureWords(words)
	}
	return nil
}

func (h *habitState) refuse(what, hint string) error {
	return cli.Usage(fmt.Errorf("%s", what), hint)
}

// piped returns a command line that pipes the packets which chooser selects into qsniff.
func (h *habitState) piped(chooser string) string {
	if h.cmd.HasParent() && h.cmd.Name() != "read" {
		return chooser + " | qsniff " + h.cmd.Name() + " -"
	}
	return chooser + " | qsniff -"
}

func (h *habitState) isLive() bool { return h.cmd.Name() == "live" }

func ignoreHabit(*habitState, string) error { return nil }

func setForm(output string) func(*habitState, string) error {
	return func(h *habitState, _ string) error {
		h.form = output
		return nil
	}
}

func (h *habitState) addFile(name string) error {
	if h.isLive() {
		return h.refuse("-r "+name+": live reads interfaces", "qsniff FILE reads captures")
	}
	h.files = append(h.files, name)
	return nil
}

// setVerbose chooses the tree, or the version if there is nothing to read: qsniff -v.
func (h *habitState) setVerbose(string) error {
	var forms []string
	if output := h.cmd.Flags().Lookup("output"); output != nil {
		if c, ok := output.Value.(*cli.Choice); ok {
			forms = c.Allowed
		}
	}
	switch {
	case !h.cmd.HasParent() && h.cmd.Flags().NArg() == 0 && len(h.files) == 0:
		h.instead = h.findCommand("version")
	case slices.Contains(forms, "tree"):
		h.form = "tree"
	}
	return nil
}

func (h *habitState) setFormat(name string) error {
	if name == "ek" {
		return h.refuse("-T ek: lines for Elasticsearch are not written", `qsniff -o json FILE | jq -c '{index: {_index: "qsniff"}}, .'`)
	}
	forms := map[string]string{"text": "text", "json": "json", "jsonraw": "json", "fields": "csv", "tabs": "csv"}
	if h.form = forms[name]; h.form == "" {
		return h.refuse("-T "+name+": no such form", "-T json or -o json, -T fields -e NAME or -o csv -e NAME, -o tree")
	}
	return nil
}

// setExport takes over an option of -T fields.
func (h *habitState) setExport(option string) error {
	name, value, _ := strings.Cut(option, "=")
	switch {
	case name == "separator" && (value == "/t" || value == "/s"):
		h.opts.separator = map[string]byte{"/t": '\t', "/s": ' '}[value]
	case name == "separator" && len(value) == 1 && value[0] > ' ' && value[0] < 0x7f && value != "\"":
		h.opts.separator = value[0]
	case name == "header" && (value == "y" || value == "n"):
		h.opts.noHeader = value == "n"
	case option == "quote=d" || option == "aggregator=;" || option == "occurrence=a" || option == "bom=n":
	default:
		return h.refuse("-E "+option+": no such option", "separator=/t, /s or a character, and header=y or n; quotes are double ones, where a cell needs them")
	}
	return nil
}

func (h *habitState) refuseAutostop(condition string) error {
	if seconds, ok := strings.CutPrefix(condition, "duration:"); ok && h.isLive() {
		return h.refuse("-a "+condition+": live ends by itself after a number of messages (-c) only", "timeout -s INT "+seconds+" qsniff live ... is the same")
	}
	return h.refuse("-a "+condition+": no such condition", "-c N ends live after N messages; timeout -s INT SECONDS after a time")
}

func (h *habitState) runInterfaces(string) error {
	h.instead = h.findCommand("interfaces")
	return nil
}

func (h *habitState) findCommand(command string) *cobra.Command {
	found, _, _ := h.cmd.Root().Find([]string{command})
	return found
}

func (h *habitState) refuseDisplayFilter(text string) error {
	return h.refuse("-Y "+text+": "+h.cmd.Name()+" looks at all packets", "of the messages that match: "+h.piped("qsniff read -Y 'FILTER' -w - FILE"))
}

func (h *habitState) refuseStatistics(table string) error {
	if strings.HasPrefix(table, "expert") {
		return h.refuse("-z "+table+": no such tables", "qsniff findings FILE lists expert info, with --severity warn from warnings on")
	}
	return h.refuse("-z "+table+": no such tables", "qsniff stats FILE has rates, servers, clients and response times")
}

func (h *habitState) refuseInterface(name string) error {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		name = "IFACE"
	}
	hint := "qsniff live -i " + name
	if h.cmd.HasParent() && h.cmd.Name() != "read" {
		hint = h.piped("tcpdump -i " + name + " -U -w - udp")
	}
	return h.refuse("-i "+name+": "+h.cmd.Name()+" reads captures", hint)
}

func (h *habitState) refuseCaptureFilter(filter string) error {
	return h.refuse("-f "+filter+": "+h.cmd.Name()+" has no capture filter", h.piped("qsniff read -f 'FILTER' -w - FILE"))
}

func (h *habitState) refuseWrite(name string) error {
	return h.refuse("-w "+name+": read, live and follow write packets", "qsniff read -w OUT FILE writes those of its messages")
}

// checkPromiscuous accepts -p, which is what live does anyway, unless --promiscuous is
// given.
func (h *habitState) checkPromiscuous(string) error {
	if f := h.cmd.Flags().Lookup("promiscuous"); f != nil && f.Changed {
		return h.refuse("-p is the opposite of --promiscuous", "leave one of them out")
	}
	return nil
}

// takeWords makes words after the captures a filter: one of qsniff, or a simple one of
// tcpdump.
func (h *habitState) takeWords(words []string) error {
	text := strings.Join(words, " ")
	_, err := h.opts.compile(text)
	if err == nil {
		h.opts.display.words = text
		return nil
	}
	expr, parseErr := pcapfilter.Parse(text)
	if own, ok := filter.FromTcpdump(expr); ok {
		if _, err := h.opts.compile(own); err == nil {
			h.opts.display.words = own
			return nil
		}
	}
	if parseErr == nil && expr.Root != nil {
		h.opts.addCaptureFilter(text)
		return nil
	}
	var wrong *filter.Error
	isOneName := len(words) == 1 && !strings.ContainsAny(text, "=<>!&|~(){}\" ")
	switch errors.As(err, &wrong); {
	case filter.LooksLikeTcpdump(text):
		return captureFilterError(parseErr)
	case isOneName && strings.HasPrefix(wrong.Hint, "did you mean"):
		return h.refuse(text+": no such file, and as a filter: "+wrong.Message, wrong.Hint)
	case isOneName:
		h.words = 0 // the error is that of a file
		return nil
	}
	return filterError(err)
}

// takeCaptureWords makes words after the captures a capture filter, for commands that choose no messages.
func (h *habitState) takeCaptureWords(words []string) error {
	text := strings.Join(words, " ")
	_, err := pcapfilter.Parse(text)
	switch {
	case err == nil:
		if h.lead == 0 {
			h.words = len(words)
		}
		h.opts.addCaptureFilter(text)
	case filter.LooksLikeTcpdump(text):
		return captureFilterError(err)
	case len(h.files) > 0:
		return h.refuse(words[0]+": no such file, and no filter of tcpdump", "name captures that exist, or a filter such as udp port 27015")
	}
	return nil
}
