package main

import (
	"cmp"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
	"qsniff/internal/render/schema"
	"qsniff/internal/render/wireshark"
	"qsniff/internal/track"
	"qsniff/internal/track/vantages"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// The groups of commands.
const (
	groupTraffic   = "traffic"
	groupReference = "reference"
)

// listCodes returns the code of every finding that a run can raise, by the stages that
// declare them.
func listCodes(reg *dissect.Registry) []*finding.Code {
	all := slices.Concat(dissect.Codes, split.Codes, tcpstream.Codes, track.Codes(), vantages.Codes)
	for _, p := range reg.Protos() {
		all = append(all, p.Codes...)
	}
	return all
}

// addOutputFlag adds -o text|json.
func addOutputFlag(cmd *cobra.Command) *string {
	output := "text"
	cmd.Flags().VarP(cli.OneOf(&output, "text", "json"), "output", "o", "text: for people; json: an object a line")
	return &output
}

// printList prints rows as JSON, or what text appends of them for a terminal.
func printList[T any](w io.Writer, output string, rows []T, text func(dst []byte, width int) []byte) error {
	var out []byte
	var err error
	if output == "json" {
		out, err = manual.AppendJSON(nil, rows)
	} else {
		out = text(nil, width(w))
	}
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// unknownNameError is the error that nothing is called word. Its hint has the names that are
// most like it, or the command that lists all names.
func unknownNameError(what, word string, names []string, lister string) error {
	hint := lister + " lists all"
	if near := manual.Nearest(word, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return cli.Hinted(fmt.Errorf("%s %q", what, word), hint)
}

func newWiresharkPlugin(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "wireshark-plugin [flags]",
		GroupID: groupReference,
		Short:   "print a plugin that lets Wireshark read these protocols",
		Long: `wireshark-plugin prints dissectors in Lua for Wireshark and tshark, made of the same
definitions as everything else: fields, message types and findings have the names
that "qsniff fields" and "qsniff explain" list, and filters take them.

Messages are found by their bytes, by the ports of the protocols and by what came
before in the flow, over UDP and TCP; "Decode As" works, too. Split messages are
joined unless they are compressed: Wireshark's Lua has no bzip2. The first lines of
the plugin list what it leaves to qsniff.

Passwords are shown as <redacted>; the preference qsniff.show_secrets shows them.
Texts of a console in a TCP connection are hidden from the first byte on that came
again with another value, and in split parts that contradict each other. Without -2,
and without the window, those before the second copy are shown.
The bytes of a packet are shown by Wireshark in any case.

Where a dissector of Wireshark claims a port first: -o udp.try_heuristic_first:TRUE

Exit status: 0 fine, 2 wrong usage.`,
		Example: `  qsniff wireshark-plugin > qsniff.lua
  tshark -X lua_script:qsniff.lua -2 -r capture.pcap -Y 'a2s.info.players > 10'
  tshark -X lua_script:qsniff.lua -2 -r capture.pcap -Y 'qsniff.finding == "A2S-S13"'`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		b := readBuild()
		return write(io.out, wireshark.Append(nil, protocols.NewRegistry(), b.Short()))
	}
	return cmd
}

func newExplain(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain [flags] [ID]",
		GroupID: groupReference,
		Short:   "explain a finding, or a kind of incident",
		Long: `explain prints what a finding means, by the id that stands with it in the output:
what was seen, what that means, what the server's owner does about it, and what a
tolerant client does. For a kind of incident, such as flood_spoofed or DOS-F01, its id,
it prints what that is, how it differs from legitimate load, and what to do. Without an
id it lists all findings, and then all kinds of incidents.

Severities: "error", the protocol is broken or harm is being done; "warn", it will
hurt somebody; "note", it explains a surprise; "chat", a normal event worth a mark.
The fault is the party to look at: client, server, path, middlebox or capture.

Exit status: 0 fine, 1 no finding and no kind of incident has that id, 2 wrong usage.`,
		Example: `  qsniff explain A2S-S07          one finding
  qsniff explain flood_spoofed    a kind of incident
  qsniff explain                  all of them
  qsniff explain -o json          for programs`,
		Args:              atMostOne("explain one finding at a time, or all: qsniff explain"),
		ValidArgsFunction: completeFindings,
	}
	output := addOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		all := listFindings()
		kinds := manual.Kinds()
		if len(args) == 0 {
			var rows []any
			for _, f := range all {
				rows = append(rows, f)
			}
			for _, k := range kinds {
				rows = append(rows, k)
			}
			return printList(io.out, *output, rows, func(dst []byte, width int) []byte {
				return manual.AppendKinds(append(manual.AppendFindings(dst, all, width), '\n'), kinds, width)
			})
		}
		rows, write, ids := manual.Find(all, kinds, args[0])
		if len(rows) == 0 {
			return unknownNameError("no finding and no kind of incident has the id", args[0], ids, "qsniff explain")
		}
		return printList(io.out, *output, rows, write)
	}
	return cmd
}

// listFindings returns every finding that a run can raise.
func listFindings() []manual.Finding {
	return manual.Findings(listCodes(protocols.NewRegistry()))
}

func newFields(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fields [flags] [PATTERN]",
		GroupID: groupReference,
		Short:   "list fields and message types",
		Long: `fields lists every field that a message can have: its name, its type and what it
means. First come the members that all messages have, then the fields that only
filters have, then those of each protocol. The last part of a name is the key in JSON.

What a field is compared with after -Y follows the fields: by their types what filters
see, with operators and values. A field alone holds where a message has it. "later" is
known when an exchange is over.

PATTERN chooses by name: a part of it, or with * ? [ a pattern for all of it.

Flags of a field: "secret" is shown only with --show-secrets; "framing" is in the
tree and in --layout, not in "fields" of JSON; "hex" is shown in hexadecimal too;
"string" is a string in JSON, because numbers there have 53 bits; "size" is given
as its length.

Exit status: 0 fine, 1 no name matches, 2 wrong usage.`,
		Example: `  qsniff fields                    all fields
  qsniff fields 'a2s.info.*'       of one message
  qsniff fields name               with "name" in their name
  qsniff fields --messages         the message types
  qsniff fields -o json secret     for programs`,
		Args:              atMostOne("one pattern is enough; quote it, so that the shell leaves it alone"),
		ValidArgsFunction: completeFields,
	}
	output := addOutputFlag(cmd)
	messages := cmd.Flags().Bool("messages", false, "list message types in place of fields")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		pattern := ""
		if len(args) > 0 {
			pattern = args[0]
		}
		if err := manual.CheckPattern(pattern); err != nil {
			return cli.Usage(fmt.Errorf("fields: %q is no pattern: %w", pattern, err), "a [ needs its ]")
		}
		if *messages {
			return listMessages(io, *output, pattern)
		}
		return listFields(io, *output, pattern)
	}
	return cmd
}

func listFields(io streams, output, pattern string) error {
	reg := protocols.NewRegistry()
	all := filter.Fields(reg, filter.Options{Codes: listCodes(reg)})
	found := manual.Filter(all, pattern, func(f manual.Field) string { return f.Name })
	if len(found) == 0 {
		return unknownNameError("no field matches", pattern, manual.Names(all), "qsniff fields")
	}
	return printList(io.out, output, manual.Rows(found), func(dst []byte, width int) []byte {
		return manual.AppendFields(dst, found, width)
	})
}

func listMessages(io streams, output, pattern string) error {
	reg := protocols.NewRegistry()
	name := func(m manual.Message) string { return m.Name }
	all := manual.Messages(reg)
	found := manual.Filter(all, pattern, name)
	if len(found) == 0 {
		var names []string
		for _, m := range manual.Rows(all) {
			names = append(names, m.Name)
		}
		return unknownNameError("no message matches", pattern, names, "qsniff fields --messages")
	}
	return printList(io.out, output, manual.Rows(found), func(dst []byte, width int) []byte {
		return manual.AppendMessages(dst, found, width)
	})
}

// atMostOne returns the check of arguments for commands with one optional argument.
func atMostOne(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return cli.Usage(fmt.Errorf("%s: %d arguments, at most 1 is taken", cmd.Name(), len(args)), hint)
		}
		return nil
	}
}

func newSchema(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schema [flags] [RECORD]",
		GroupID: groupReference,
		Short:   "print the JSON Schema of what -o json writes",
		Long: `schema prints the JSON Schema (draft 2020-12) of a line that qsniff writes with
-o json, or of one RECORD: what it has, of which form, and what stays as it is. It is
made of the definitions that the output is made of, and has the version of the output
in its $id. --list lists the records, and which commands write them.

x-stability says what a member promises: "stable", its name, form and meaning stay
as long as the first number of the version does; "experimental", it can change with
any version. x-field is the name of a field in filters, x-unit its unit, x-values
what its values mean; x-secret marks what is "<redacted>" without --show-secrets.

Exit status: 0 fine, 1 there is no such record, 2 wrong usage.`,
		Example: `  qsniff schema > qsniff.schema.json
  qsniff schema incident          one record, with what it refers to
  qsniff schema --list            all records
  qsniff schema message | jq '."$defs"."fields.a2s.reply.S2A_INFO_SRC".properties | keys'`,
		Args: atMostOne("one record at a time, or all: qsniff schema"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := outputSchema().Names()
			slices.Sort(names)
			return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, word) }), cobra.ShellCompDirectiveNoFileComp
		},
	}
	isList := cmd.Flags().Bool("list", false, "list the records")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s := outputSchema()
		if *isList {
			return write(io.out, listRecords(s))
		}
		document := s.Document
		if len(args) > 0 {
			name := strings.ToLower(args[0])
			if !s.Has(name) {
				return unknownNameError("no record is called", args[0], s.Names(), "qsniff schema --list")
			}
			document = func() ([]byte, error) { return s.RecordDocument(name) }
		}
		out, err := document()
		if err != nil {
			return err
		}
		return write(io.out, out)
	}
	return cmd
}

// listRecords returns a line for each record.
func listRecords(s *schema.Schema) (dst []byte) {
	for _, r := range s.Records {
		dst = fmt.Appendf(dst, "%-18s %s\n%19s%s\n", r.Name, r.Doc, "", r.Commands)
	}
	return dst
}

// outputSchema returns the schema of what this program writes.
func outputSchema() *schema.Schema {
	return schema.New(protocols.NewRegistry(),
		schema.Row{Name: "field", Doc: "a field of messages", Commands: "fields", Type: reflect.TypeFor[manual.Field]()},
		schema.Row{Name: "message_type", Doc: "a type of message", Commands: "fields --messages", Type: reflect.TypeFor[manual.Message]()},
		schema.Row{Name: "explained_finding", Doc: "what a finding means", Commands: "explain", Type: reflect.TypeFor[manual.Finding]()},
		schema.Row{Name: "explained_kind", Doc: "what a kind of incident is", Commands: "explain", Type: reflect.TypeFor[manual.Kind]()},
		schema.Row{Name: "interface_row", Doc: "an interface", Commands: "interfaces", Type: reflect.TypeFor[manual.Interface]()},
		schema.Row{Name: "version", Doc: "what this build can do", Commands: "version", Type: reflect.TypeFor[build]()},
	)
}

// build describes how this program was built.
type build struct {
	cli.Build
	Readers  []string       `json:"readers"`
	Gopacket string         `json:"gopacket,omitempty"` // what the reader gopacket is
	Backends []string       `json:"backends"`           // for interfaces
	Libpcap  string         `json:"libpcap,omitempty"`
	Schema   string         `json:"schema"` // of the output, as in qsniff schema
	Limits   []manual.Limit `json:"limits,omitempty"`
}

func newVersion(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version [flags]",
		GroupID: groupReference,
		Short:   "print the version and what this build can do",
		Long: `version prints the version, the revision and the compiler that this program was
built from, the readers it has for captures, the ways to capture on interfaces, and
the version of libpcap if it is linked with it. With --limits it lists what bounds
memory and work, by the part of the program that keeps to it, each with the reason
for its value.

Exit status: 0 fine, 2 wrong usage.`,
		Example: `  qsniff version
  qsniff version --limits         what bounds memory and work, and why
  qsniff version -o json          for programs`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output := addOutputFlag(cmd)
	limits := cmd.Flags().Bool("limits", false, "list the limits, with reasons")
	cmd.RunE = func(*cobra.Command, []string) error {
		b := readBuild()
		if *limits {
			var err error
			if b.Limits, err = manual.Limits(); err != nil {
				return err
			}
		}
		return printList(io.out, *output, []build{b}, b.append)
	}
	return cmd
}

// readBuild returns the description of this program.
func readBuild() build {
	b := build{
		Build:    cli.ReadBuild(packaged),
		Readers:  []string{readerNative},
		Backends: backends(),
		Libpcap:  file.LibpcapVersion(),
		Schema:   schema.Version,
	}
	if runtime.GOOS != "js" { // the page has the native one only
		b.Readers, b.Gopacket = append(b.Readers, readerGopacket), file.GopacketReader
	}
	return b
}

// packaged is the version of sources that come without git, as those that packagers download do: set by
// go build -ldflags '-X main.packaged=v0.1.0'.
var packaged string

func (b *build) append(dst []byte, width int) []byte {
	dst = b.AppendVersion(dst, "qsniff")
	readers := strings.Join(b.Readers, ", ")
	if b.Gopacket != "" {
		readers += " (" + b.Gopacket + ")"
	}
	dst = fmt.Appendf(dst, "built by: %s for %s/%s\nreaders: %s\nlive: %s\nlibpcap: %s\noutput: version %s of the schema\n", b.Go, b.OS, b.Arch, readers,
		cmp.Or(strings.Join(b.Backends, ", "), "none"), cmp.Or(b.Libpcap, "none, this build is without cgo"), b.Schema)
	if len(b.Limits) > 0 {
		dst = manual.AppendLimits(append(dst, '\n'), b.Limits, width)
	}
	return dst
}

// backends returns the ways that this build has to capture on interfaces, the default first.
func backends() []string {
	names := []string{}
	if live.HasAFPacket {
		names = append(names, live.AFPacket.String())
	}
	if live.HasLibpcap {
		names = append(names, live.Libpcap.String())
	}
	return names
}

func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return cli.Usage(err, fmt.Sprintf("see %s --help", cmd.CommandPath()))
	}
	return nil
}
