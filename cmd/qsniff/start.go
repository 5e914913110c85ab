package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// startPage is what qsniff prints without arguments: the commands by the question that they answer.
// --help has everything.
const startPage = `qsniff decodes the query traffic of game servers, and finds query floods.

Usage:
  qsniff FILE               one line a message
  qsniff live -i IFACE      the same as it happens
  qsniff COMMAND --help     about a command; qsniff --help is about FILE

Read:         read  live  follow  exchanges  stats  findings  browse  decode
Attacked:     top  floods  proven  monitor  report
Compare:      diff  vantages  polls
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
	"diff":             "compare loss lost drops",
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
	return &usageError{fmt.Errorf("%s: no such command, and no such file", word), "did you mean qsniff " + strings.Join(meant, ", qsniff ") + "?"}
}

// helpError is the error of "qsniff help" for a word that is no command.
func helpError(root *cobra.Command, word string) error {
	hint := "qsniff --help lists the commands"
	if meant := commandsFor(root, word); len(meant) > 0 {
		hint = "did you mean qsniff help " + strings.Join(meant, ", qsniff help ") + "?"
	}
	return &usageError{errors.New("help: no command is called " + fmt.Sprintf("%q", word)), hint}
}
