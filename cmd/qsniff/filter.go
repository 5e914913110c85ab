package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture/pcapfilter"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
)

// displayOptions are the flags that choose messages.
type displayOptions struct {
	text      string // of -Y
	words     string // after the captures
	byServers bool   // --servers chooses messages
	servers   string // what that asks for
	frame     uint64
	program   *filter.Program // of all of these; nil before check, or if there are none
	// outcomes are those of a first run over the captures; nil: there was none.
	outcomes *pipeline.Outcomes
}

// filterHelp is the part about -Y in the help of commands that have it.
const filterHelp = `-Y chooses by an expression over all fields, in the language of Wireshark:
'a2s.info.players > 10 && ip.addr == 10.0.0.0/8', 'finding.severity >= warn',
'map contains "dust"'. What follows the captures can be such an expression too, or a
simple one of tcpdump. exchange.answered, exchange.rtt and exchange.challenge_rtt are
known when an exchange is over: files are read twice for them, and of a stream messages
are held until then. !exchange.answered holds for what is in no exchange, too: write
'exchange && !exchange.answered'. docs/filters.md has the language, qsniff fields the fields.`

// registerFilter adds -Y and --frame.
func (o *readOptions) registerFilter(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.display.text, "filter", "Y", "", "only what matches `EXPR`, as in 'a2s.info.players > 10 && ip.addr == 10.0.0.0/8'")
	f.Uint64Var(&o.display.frame, "frame", 0, "only what came in packet `N`: short for -Y frame.number==N")
	propose(cmd, "filter", completeFilter)
	propose(cmd, "frame", cobra.NoFileCompletions)
}

// expression returns what all flags together ask for; it is empty if they ask for nothing.
func (o *displayOptions) expression() string {
	var parts []string
	for _, text := range []string{o.text, o.words, o.servers} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if o.frame != 0 {
		parts = append(parts, fmt.Sprintf("frame.number == %d", o.frame))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	for i := range parts {
		parts[i] = "(" + parts[i] + ")"
	}
	return strings.Join(parts, " && ")
}

// compile compiles an expression.
func (o *readOptions) compile(text string) (*filter.Program, error) {
	reg := o.registry()
	return filter.Compile(text, reg, filter.Options{ShowSecrets: o.showsSecrets, UTC: o.utc, Codes: listCodes(reg)})
}

// registerServersFilter adds --servers to a command in which it chooses messages, as -Y does.
func (o *readOptions) registerServersFilter(cmd *cobra.Command) {
	o.registerServers(cmd, "only what these servers send and get")
	o.display.byServers = true
}

// checkFilter compiles the expressions of the command line.
func (o *readOptions) checkFilter() error {
	d := &o.display
	if d.byServers {
		if err := o.parseServers(); err != nil {
			return err
		}
		d.servers = o.ours.Expression()
	}
	for _, text := range []string{d.text, d.words} { // each by itself, for the places of errors
		if strings.TrimSpace(text) == "" {
			continue
		}
		if _, err := o.compile(text); err != nil {
			return o.hintTranslation(filterError(err), text)
		}
	}
	text := d.expression()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var err error
	if d.program, err = o.compile(text); err != nil {
		return filterError(err)
	}
	return nil
}

// filterError returns the error of an expression, with its place.
func filterError(err error) error {
	var wrong *filter.Error
	if !errors.As(err, &wrong) {
		return err
	}
	lines := strings.Split(wrong.Page(), "\n")
	return &cli.Error{Err: fmt.Errorf("-Y: %w", wrong), Hint: "qsniff fields lists the fields; docs/filters.md has the language", IsUsage: true, Lines: lines[:len(lines)-1]}
}

// hintTranslation adds to the error of an expression what it means here, if it is a simple one
// of tcpdump.
func (o *readOptions) hintTranslation(err error, text string) error {
	var placed *cli.Error
	expr, _ := pcapfilter.Parse(text)
	own, ok := filter.FromTcpdump(expr)
	if _, wrong := o.compile(own); ok && wrong == nil && errors.As(err, &placed) {
		placed.Hint = "that is the language of tcpdump, which -f takes; here it is -Y " + cli.Quote(own)
	}
	return err
}

// pipelineFilter returns what the pipeline chooses messages by, nil for all. If that depends
// on what became of exchanges, it reads files once to find that out.
func (o *readOptions) pipelineFilter(ctx context.Context, args []string, io streams) (*pipeline.Filter, error) {
	if err := o.checkFilter(); err != nil || o.display.program == nil {
		return nil, err
	}
	d := &o.display
	if d.program.NeedsAnswers() && d.outcomes == nil {
		names, isStream, err := o.listInputs(args)
		if err != nil {
			return nil, err
		}
		if !isStream {
			if err := o.readOutcomes(ctx, names, io); err != nil {
				return nil, err
			}
		}
	}
	return &pipeline.Filter{Program: d.program, Outcomes: d.outcomes}, nil
}

// readOutcomes reads captures for the first time, for the outcomes of their exchanges. The
// second run reports what is wrong with them.
func (o *readOptions) readOutcomes(ctx context.Context, names []string, io streams) error {
	all := *o
	all.display = displayOptions{}
	j, err := all.openJob(ctx, names, io)
	if err != nil {
		return err
	}
	defer j.release()
	found := pipeline.NewOutcomes(o.display.program)
	j.cfg.Listener, j.cfg.MaxMessages = found, 0
	if _, err := j.run(); isInterrupted(j.ctx) {
		return j.exitError(err)
	}
	_ = j.src.Close() // the second run reports the error
	o.display.outcomes = found
	return nil
}

// completeFilter proposes how an expression goes on.
func completeFilter(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	reg := protocols.NewRegistry()
	return filter.Complete(word, reg, filter.Options{Codes: listCodes(reg)}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
