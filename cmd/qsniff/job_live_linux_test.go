package main

import (
	"os"
	"strings"
	"testing"
)

// TestLiveReports: every command that reports at the end of captures does so of interfaces, at
// Ctrl-C, about all that its clients asked until then.
func TestLiveReports(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, gameServer())
	const messages, packets = ": 12 messages; dropped: 0 by the kernel", "13 packets captured in "
	reports := []struct {
		command string
		page    []string // what it has
		said    string   // of what was found
	}{
		{"stats", []string{"13 packets, ", " captured; 12 messages: 6 requests, 6 replies", "\n  " + gameAddr + " "}, messages},
		{"stats -o json", []string{`{"schema":1,"packets":13,`}, messages},
		{"findings", []string{"\n  chat      A2S-S01 "}, messages},
		{"findings -o json", []string{`"id":"A2S-S01"`}, messages},
		{"exchanges", []string{" A2S_INFO  ", " A2S_PLAYER  ", " A2S_RULES  "}, messages},
		{"follow", []string{"A2S_INFO  ", `map="de_dust2"`, "A2S_RULES  "}, messages},
		{"proven", []string{"1 address proved to be real, "}, ": 6 queries, 6 replies; dropped: 0 by the kernel"},
		{"polls -Y a2s", []string{"0 of 3 polls got no answer in time, of 1 client"}, messages},
	}
	all := make([]*sniffer, len(reports))
	for i, r := range reports {
		words := strings.Fields(r.command)
		all[i] = sniffWith(t, server, words[0], append(words[1:], "-f", "udp")...).collect()
	}
	seen := sniff(t, server, "-o", "json", "-f", "udp").collect()
	poll(t, clients.Dial(t, gameAddr))
	seen.untilLines(t, 13) // with one that the server demands challenges
	for i, r := range reports {
		s := all[i]
		status, _ := s.end(t, os.Interrupt)
		var page strings.Builder
		for _, l := range <-s.output {
			page.WriteString("\n" + l.text)
		}
		said := s.said()
		for _, want := range r.page {
			if !strings.Contains(page.String()+said, want) {
				t.Errorf("%s: %q is not in\n%s\nsaid %s", r.command, want, &page, said)
			}
		}
		if status != exitOK || !strings.Contains(said, packets) || !strings.Contains(said, r.said) || strings.Contains(page.String(), "nterrupted") {
			t.Errorf("%s: status %d, said %s\n%s", r.command, status, said, &page)
		}
	}
	seen.end(t, os.Interrupt)
	<-seen.output
}
