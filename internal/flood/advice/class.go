package advice

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/flood"
)

// This file has the lines against floods of what is no query: by source port, IP protocol or TCP flags where
// no bytes show the class, and by the form of the message where another game has one.

// classMatch is how lines find the packets of a class, in the words of nft and of iptables, after the match of
// the target's address; sent is what the target sends to those whose packets pass.
type classMatch struct {
	name           string
	isOfPorts      bool
	nft, sentNFT   string
	iptables, sent string
}

// addClass adds the rules against a class, if there are any that cost nobody whom the host answers.
func (p *plan) addClass(in *flood.Incident) {
	c := in.Class
	switch {
	case len(c.SourcePorts) > 0:
		p.class = &classMatch{name: "UDP from source port " + joinNumbers(c.SourcePorts, ", "), isOfPorts: true}
		p.class.nft, p.class.sentNFT = "udp sport { "+joinNumbers(c.SourcePorts, ", ")+" }", "udp dport { "+joinNumbers(c.SourcePorts, ", ")+" }"
		multi := "-p udp -m multiport --%sports " + joinNumbers(c.SourcePorts, ",")
		p.class.iptables, p.class.sent = fmt.Sprintf(multi, "s"), fmt.Sprintf(multi, "d")
		p.addRule(lineClass, rateLimit{})
	case c.Protocol != 0:
		p.class = &classMatch{name: c.Says}
		p.class.nft, p.class.iptables = fmt.Sprintf("meta l4proto %d", c.Protocol), fmt.Sprintf("-p %d", c.Protocol)
		p.class.sentNFT, p.class.sent = p.class.nft, p.class.iptables
		p.addRule(lineClass, rateLimit{})
	case c.TCP && c.Sessions:
		p.class = &classMatch{name: "TCP but for new connections",
			nft: "meta l4proto tcp tcp flags & (syn | ack) != syn", sentNFT: "meta l4proto tcp tcp flags & rst == 0",
			iptables: "-p tcp ! --tcp-flags SYN,ACK SYN", sent: "-p tcp ! --tcp-flags RST RST"}
		p.addRule(lineClass, strayRate)
	case c.Handshakes && in.Level == flood.Warn && p.isTCP: // most are completed: the sources are real
		p.addRule(lineEach, connectRate)
	case len(c.Wire) > 0 && !c.Sessions && p.target.Port() != 0:
		x := *p.catalog
		x.sets[lineEach].patterns, x.sets[lineForm].patterns = c.Wire, c.Wire
		p.catalog = &x
		if in.Sources == 0 || float64(in.Packets) >= comesAgain*in.Sources { // 0: unknown
			p.addRule(lineEach, gameRate)
		} else {
			p.addRule(lineForm, p.capRate(in))
		}
	}
}

// isOfPorts reports whether the lines against a class look at ports, or at bytes after these.
func (p *plan) isOfPorts() bool { return p.class == nil || p.class.isOfPorts }

func joinNumbers(all []uint16, sep string) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, sep)
}

// classWords returns what to do about a class: what the lines do, if there are any, and what else it allows.
func (p *plan) classWords(in *flood.Incident) []string {
	var s string
	switch r := &p.rules[0]; {
	case p.numRules == 0:
		return in.Class.Advice
	case r.kind == lineForm: // what the class says of a limit for each address is of no use here
		return []string{fmt.Sprintf("These addresses come once or twice, so that a limit for each of them does nothing: the lines cap this message of"+
			" all of them together, at %s a second, and look at no other. What a server of that game can do by itself, its manual says.",
			thousands(uint64(r.limit.packets)))}
	case r.kind == lineEach:
		unit := "second"
		if r.limit.per == time.Minute {
			unit = "minute"
		}
		s = fmt.Sprintf("The lines let %d a %s of each address pass, %d at once.", r.limit.packets, unit, r.limit.burst)
	case r.limit.packets == 0:
		s = "The lines drop it on this host, but from whom the host itself sent the same to in the last minute: its own questions and tunnels go on."
		if p.isOfPorts() {
			s += " Fragments after the first have no ports and pass, where the kernel does not join them first to follow connections."
		}
	default:
		s = fmt.Sprintf("The lines cap it at %d a second, but from whom the host sent anything over TCP in the last minute: connections that are in use"+
			" go on, and one that was idle comes back with its next segments.", r.limit.packets)
	}
	return append([]string{s}, in.Class.Advice...)
}

var (
	// strayRate is how many segments of no connection pass in a second, so that one whose ends were both
	// silent for a minute comes back. Chosen: a hundredth of the smallest such flood.
	strayRate = rateLimit{50, time.Second, 100}
	// connectRate is how many connections an address may begin. Chosen: a list of servers that is refreshed
	// opens one for each, and a web page with the state of a server one in some seconds.
	connectRate = rateLimit{20, time.Minute, 10}
	// gameRate is how many such messages of another game an address may send. Chosen: a browser sends one
	// in a refresh, and several people who share an address some.
	gameRate = rateLimit{1, time.Second, 20}
)

// comesAgain is how many packets each source must send on average for a limit for each to do anything.
const comesAgain = 8
