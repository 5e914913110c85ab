package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/app/cli"
	"qsniff/internal/render/manual"
)

func newRoot(io streams) *cobra.Command {
	opts := readDefaults()
	root := &cobra.Command{
		Use:   "qsniff [flags] FILE...",
		Short: "decode game-server query traffic",
		Long:  rootHelp,
		Example: `  qsniff capture.pcap                   one line a message
  qsniff -o tree capture.pcap           every byte, annotated
  qsniff -o json capture.pcap | jq .    one JSON object a line
  qsniff capture.pcap 'server.port == 27015'   what matches a filter
  qsniff live -i eth0                   as it happens
  tcpdump -U -w - udp | qsniff -        the same, of what another program captures
  qsniff floods capture.pcap            is this an attack?`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && cmd.Flags().NFlag() == 0 {
				_, err := fmt.Fprint(io.out, startPage)
				return err
			}
			if len(args) == 0 {
				return cmp.Or(opts.check(), opts.write.check(io.out), requireCapture(cmd, args))
			}
			if err := checkSpelling(cmd, args[0]); err != nil {
				return err
			}
			return readCaptures(cmd.Context(), opts, args, io)
		},
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return applyHome(cmd, io.err) }
	opts.register(root)
	opts.registerFilter(root)
	opts.write.register(root)
	addHabits(root, opts)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd == root && len(words) > 0 {
			if err := checkSpelling(root, words[0]); err != nil {
				return err
			}
		}
		return cli.Usage(trimStrconv(err), hintFlag(cmd, err))
	})
	b := readBuild()
	root.Version = b.Short()
	root.ValidArgsFunction = completeCommandOrCapture
	root.SetUsageFunc(func(cmd *cobra.Command) error { return cli.PrintUsage(cmd, flagGroups, width(io.out)) })
	root.SetHelpFunc(newHelpPage(io))
	root.AddGroup(&cobra.Group{ID: groupTraffic, Title: "Commands"}, &cobra.Group{ID: groupReference, Title: "Reference"})
	root.AddCommand(newRead(io), newLive(io), newExtract(io), newAnonymize(io), newReplay(io), newDecode(io), newInterfaces(io), newFields(io), newExplain(io), newSchema(io), newWiresharkPlugin(io),
		newExtcap(io), newVersion(io), newCompletion(io), newHelp())
	for _, a := range analyses() {
		root.AddCommand(a.command(io))
	}
	root.AddCommand(screenCommands(io)...)
	root.AddCommand(monitorCommands(io)...)
	root.AddCommand(mcpCommands(io)...)
	root.AddCommand(messengerCommands(io)...)
	return root
}

// rootHelp is the long description in the help of qsniff.
const rootHelp = `qsniff decodes the query traffic of game servers: Valve's A2S, as spoken by every
game that answers through Steam, GoldSource, the All-Seeing Eye, the Steam master
server and RCON. It joins what networks and engines cut up and says what every byte
is. It reads packet captures, watches network interfaces live (qsniff live), and
finds query floods (qsniff floods).

"qsniff FILE" is short for "qsniff read FILE". Flags of tcpdump and tshark work where
they mean something here (-r FILE, -Y FILTER, -n, -q, -V, -x, -T json, -T fields -e NAME, -D);
others are answered with the command that does it.`

// shortName is the length up to which a name is proposed only for a word that it begins with:
// a name of three letters is easily two changes away from any short word.
const shortName = 3

// hintFlag returns what to do about err, an error in the flags of cmd: of a flag that cmd does not have, the names that are like it, and the
// commands that have it.
func hintFlag(cmd *cobra.Command, err error) string {
	help := fmt.Sprintf("see %s --help", cmd.CommandPath())
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if others := commandsTaking(cmd.Root(), invalid.GetFlag().Name, invalid.GetValue()); len(others) > 0 {
			return "--" + invalid.GetFlag().Name + " " + invalid.GetValue() + " is for " + strings.Join(others, ", ") + "; " + help
		}
		return help
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return help
	}
	name, dashes, isShort := unknown.GetSpecifiedName(), "--", unknown.GetSpecifiedShortnames() != ""
	if isShort {
		dashes = "-"
	}
	var names, others []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, other := range cmd.Root().Commands() {
		f := other.Flags().Lookup(name)
		if isShort {
			f = other.Flags().ShorthandLookup(name)
		}
		if !other.Hidden && f != nil && !f.Hidden {
			others = append(others, other.CommandPath())
		}
	}
	if len(others) > 0 {
		return dashes + name + " is a flag of " + strings.Join(others, ", ") + "; " + help
	}
	if meant := manual.Nearest(name, names); len(meant) > 0 && !isShort {
		return "did you mean --" + strings.Join(meant, ", --") + "? " + help
	}
	return help
}

// commandsTaking returns the commands whose flag has value among its closed set.
func commandsTaking(root *cobra.Command, flag, value string) []string {
	var paths []string
	for _, cmd := range root.Commands() {
		f := cmd.Flags().Lookup(flag)
		if f == nil || cmd.Hidden {
			continue
		}
		if c, ok := f.Value.(*cli.Choice); ok && slices.Contains(c.Allowed, value) {
			paths = append(paths, cmd.CommandPath())
		}
	}
	return paths
}

// trimStrconv returns err without what package strconv adds: the flag and its value before
// that are enough.
func trimStrconv(err error) error {
	text, _, _ := strings.Cut(err.Error(), ": strconv.")
	return errors.New(text)
}

// flagGroups are the headings under which flags are listed, in this order. Flags in none of
// them come last.
var flagGroups = cli.Headings{
	{"Output", []string{"output", "explain", "verbose", "level", "exchange", "full", "messages", "limits", "filter", "frame", "time", "fields", "count", "layout", "interval", "top", "utc", "color", "show-secrets", "fail-on"}},
	{"Capture", []string{"interface", "capture-filter", "auto-filter", "snaplen", "buffer", "promiscuous", "backend", "reopen", "no-sandbox"}},
	{"File", []string{"write", "force", "ring-size", "ring-time", "ring-files", "ring-total", "ring-age", "on-incident", "incident-report"}},
	{"Telling", []string{"tell", "tell-size", "tell-files", "webhooks", "webhook-every", "on-incident-exec", "exec-timeout", "syslog", "journal", "tell-findings"}},
	{"Fleet", []string{"fleet", "fleet-name", "fleet-secret", "fleet-prefix", "fleet-creds", "fleet-ca", "fleet-spool", "fleet-spool-size", "fleet-addresses"}},
	{"Input", []string{"raw", "as", "dir", "follow", "servers", "thresholds", "reader", "decode-as", "dedup", "sampled"}},
	{"Resource", []string{"jobs", "memory"}},
}

// newHelpPage returns a function that prints the long description of a command, no wider
// than the terminal, and its usage; for -h the usage in brief.
func newHelpPage(io streams) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if cli.IsBrief(args) {
			if cmd.HasParent() {
				cli.PrintBrief(cmd, flagGroups, width(io.out))
			} else {
				fmt.Fprint(cmd.OutOrStdout(), startPage)
			}
			return
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", cli.Reflow(cmp.Or(cmd.Long, cmd.Short), width(io.out)))
		_ = cmd.Usage() // there is nowhere to report a write error
	}
}

// newHelp returns the command that replaces cobra's own, whose messages have another style.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: groupReference,
		Short:   "print the help of a command",
		Args:    atMostOne("help for one command at a time"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return helpError(cmd.Root(), args[0])
			}
			return found.Help()
		},
	}
}

// applyHome sets the flags of a command about servers and tools of the user to what the user says once for all
// commands. In that of a monitor its own file comes first.
func applyHome(cmd *cobra.Command, w io.Writer) error {
	if cmd.Name() == "monitor" {
		return nil
	}
	home := cli.UserHome()
	notes, err := home.Apply(cmd.Flags())
	for i := 0; i < len(notes) && isTerminal(w); i++ {
		fmt.Fprintln(w, "qsniff:", notes[i])
	}
	return err
}

// startPage is what qsniff prints without arguments: the commands by the question that they answer.
// --help has everything.
const startPage = `qsniff decodes the query traffic of game servers, and finds query floods.

Usage:
  qsniff FILE               one line a message
  qsniff live -i IFACE      the same as it happens
  qsniff COMMAND --help     about a command; qsniff --help is about FILE

Read:         read  live  follow  exchanges  stats  findings  browse  decode
Attacked:     top  floods  proven  monitor  report
Compare:      compare  diff  vantages  polls
Share, test:  anonymize  extract  replay  mcp
Reference:    explain  fields  interfaces  schema  wireshark-plugin  completion
              version  help

Examples:
  qsniff -o tree capture.pcap               every byte, annotated
  qsniff floods capture.pcap                is this an attack?
  qsniff live -i eth0 -f 'udp port 27015'   one server, as it happens
`

// topics are words that people look for, by the command that answers them.
var topics = map[string]string{
	"floods":           "attack attacks attacked ddos dos flood flooding incident incidents rules nft nftables iptables firewall ban block",
	"top":              "dashboard now watch",
	"monitor":          "metrics prometheus grafana alert alerts alerting daemon service",
	"proven":           "spoofed spoofing allowlist whitelist",
	"stats":            "statistics summary servers clients rates latency rtt ping",
	"findings":         "errors warnings expert lint problems bugs",
	"follow":           "conversation dialogue dialog rcon transcript",
	"compare":          "differs difference between versus",
	"diff":             "loss lost drops",
	"anonymize":        "anonymise share privacy mask",
	"extract":          "fixtures vectors tests export",
	"replay":           "serve simulate mock",
	"report":           "html page",
	"live":             "capture sniff",
	"decode":           "hex payload base64",
	"fields":           "filter filters field columns",
	"explain":          "finding code codes",
	"wireshark-plugin": "wireshark lua plugin dissector",
	"mcp":              "assistant ai llm",
	"interfaces":       "devices cards",
}

// commandsFor returns the commands that a word leads to: those that it misspells, or else the one
// whose topic it is.
func commandsFor(root *cobra.Command, word string) []string {
	root.SuggestionsMinimumDistance = 2
	// A name of three letters is easily two changes away from any short word.
	meant := slices.DeleteFunc(root.SuggestionsFor(word), func(name string) bool { return len(name) <= shortName && !strings.HasPrefix(name, word) })
	if len(meant) > 0 {
		return meant
	}
	for _, c := range root.Commands() {
		if slices.Contains(strings.Fields(topics[c.Name()]), strings.ToLower(word)) {
			return []string{c.Name()}
		}
	}
	return nil
}

// checkSpelling returns an error if word is no file and leads to a command.
func checkSpelling(root *cobra.Command, word string) error {
	meant := commandsFor(root, word)
	if _, err := os.Stat(word); err == nil || len(meant) == 0 {
		return nil
	}
	return cli.Usage(fmt.Errorf("%s: no such command, and no such file", word), "did you mean qsniff "+strings.Join(meant, ", qsniff ")+"?")
}

// helpError is the error of "qsniff help" for a word that is no command.
func helpError(root *cobra.Command, word string) error {
	hint := "qsniff --help lists the commands"
	if meant := commandsFor(root, word); len(meant) > 0 {
		hint = "did you mean qsniff help " + strings.Join(meant, ", qsniff help ") + "?"
	}
	return cli.Usage(errors.New("help: no command is called "+fmt.Sprintf("%q", word)), hint)
}
