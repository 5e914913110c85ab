package flood

import (
	"fmt"
	"strings"
	"time"
)

// iptables is the same lines for iptables-restore, or ip6tables-restore.
func (p *plan) iptables() string {
	w := &iptWriter{plan: p, table: "raw", chain: fmt.Sprintf("QSNIFF%d", p.id)}
	hook := "PREROUTING"
	if p.kind == Reflection {
		w.table, hook = "mangle", "POSTROUTING" // raw has none
	}
	jump := fmt.Sprintf("%s %s -j %s", hook, w.end(), w.chain)
	tool := p.iptablesName()
	w.line("# load: %s-restore -n FILE   remove, in this order:", tool)
	w.line("# %s -t %s -D %s", tool, w.table, jump)
	for _, do := range [...]string{"F", "X"} {
		for _, c := range w.chains() {
			w.line("# %s -t %s -%s %s", tool, w.table, do, c)
		}
	}
	w.line("*%s", w.table)
	for _, c := range w.chains() {
		w.line(":%s - [0:0]", c)
	}
	w.line("-I %s", jump)
	if p.kind == RconBruteforce {
		w.line("# let in: -A %s -s ADDRESS -j RETURN", w.chain)
	}
	for i := range p.rules[:p.n] {
		w.rule(&p.rules[i])
	}
	w.line("COMMIT")
	return w.String()
}

func (p *plan) iptablesName() string {
	if p.end.Addr().Is6() {
		return "ip6tables"
	}
	return "iptables"
}

type iptWriter struct {
	strings.Builder
	*plan
	table, chain string
}

func (w *iptWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *iptWriter) end() string {
	a, port := w.plan.end.Addr(), w.plan.end.Port()
	switch {
	case w.kind == Reflection:
		return fmt.Sprintf("-s %s -p udp --sport %d", a, port)
	case w.kind == ReplyFloodVictim:
		return fmt.Sprintf("-d %s -p udp", a)
	case w.tcp:
		return fmt.Sprintf("-d %s -p tcp --dport %d --tcp-flags SYN,ACK SYN", a, port)
	}
	return fmt.Sprintf("-d %s -p udp --dport %d", a, port)
}

// iptLetters end the names of the chains that share a limit.
var iptLetters = [...]string{lineQueries: "Q", lineFirst: "F", lineVictims: "V", lineOthers: "O", lineUnasked: "U",
	lineJunk: "J", lineLogins: "L"}

// chains are the chain of the target and those of its rules.
func (w *iptWriter) chains() []string {
	all := []string{w.chain}
	for _, r := range w.rules[:w.n] {
		if r.line != lineSources {
			all = append(all, w.chain+iptLetters[r.line])
		}
	}
	return all
}

func (w *iptWriter) rule(r *planRule) {
	to := w.chain + iptLetters[r.line]
	switch r.line {
	case lineSources:
		for _, x := range w.named[:w.names] {
			w.line("-A %s -s %s -j DROP", w.chain, filterAddress(x))
		}
		return
	case lineVictims:
		for _, x := range w.named[:w.names] {
			w.line("-A %s -d %s -j %s", w.chain, filterAddress(x), to)
		}
	default:
		for _, m := range w.matches(r.line) {
			w.line("-A %s %s-j %s", w.chain, m, to)
		}
	}
	if r.line == lineJunk {
		w.line("-A %s -m u32 --u32 %q -j RETURN", to, w.letter("0x54:0x57,0x63,0x64,0x67,0x69,0x6B,0x6C,0x6E,0x70:0x72"))
		w.line("-A %s -m limit --limit 5/sec --limit-burst 5 -j NFLOG --nflog-group 5 --nflog-size 96", to)
	}
	unit := "sec"
	if r.limit.per == time.Minute {
		unit = "min"
	}
	line := fmt.Sprintf("-A %s -m hashlimit --hashlimit-above %d/%s --hashlimit-burst %d", to, r.limit.packets, unit,
		r.limit.burst)
	if r.line.each() {
		// Its table is larger than nft's set: hashlimit drops all that does not fit.
		line += w.mode(r.line) + fmt.Sprintf(" --hashlimit-htable-max %d --hashlimit-htable-expire %d", 8*trialSources,
			r.line.idle().Milliseconds())
	}
	w.line("%s --hashlimit-name qs%d%s -j DROP", line, w.id, strings.ToLower(iptLetters[r.line]))
}

// mode is what has a bucket of its own: each host, in IPv6 each /64.
func (w *iptWriter) mode(l adviceLine) string {
	end := "src"
	if l == lineOthers {
		end = "dst"
	}
	mode := " --hashlimit-mode " + end + "ip"
	if w.plan.end.Addr().Is6() {
		mode += " --hashlimit-" + end + "mask 64"
	}
	return mode
}

// at is where u32 finds four bytes, by their offset from the UDP header: behind the
// header of IPv4, however long, or of IPv6 without extensions.
func (p *plan) at(offset int) string {
	if p.end.Addr().Is6() {
		return fmt.Sprint(40 + offset)
	}
	return fmt.Sprintf("0>>22&0x3C@%d", offset)
}

// letter is the test for FF FF FF FF and one of some letters. It takes the letter
// as the last of four bytes: a message may end with it.
func (p *plan) letter(letters string) string {
	return p.mark() + "&&" + p.at(9) + "&0xFF=" + letters
}

func (p *plan) mark() string { return p.at(8) + "=0xFFFFFFFF" }

// length is the test for a payload's length; the match counts the IP header, taken
// to be without options.
func (p *plan) length(payload int) string {
	headers := 28
	if p.end.Addr().Is6() {
		headers = 48
	}
	return fmt.Sprintf("-m length --length %d ", headers+payload)
}

func u32(tests string) string { return fmt.Sprintf("-m u32 --u32 %q ", tests) }

// matches is the lines of a rule, without what they do.
func (w *iptWriter) matches(l adviceLine) []string {
	switch l {
	case lineQueries:
		return w.queries()
	case lineFirst:
		if w.speech == speaksA2S {
			return []string{w.length(infoBytes) + u32(w.letter("0x54")),
				w.length(pageBytes) + u32(w.letter("0x55:0x56")+"&&"+w.at(13)+"=0,0xFFFFFFFF"),
				u32(w.letter("0x57"))}
		}
		return w.queries()
	case lineOthers:
		return w.replies("0x44,0x45,0x49,0x6D", "")
	case lineUnasked:
		m := w.replies("0x41,0x44,0x45,0x49,0x6A,0x6D", u32(w.at(8)+"=0x45594531:0x45594533"))
		if w.splits() {
			m = append(m, u32(w.at(8)+"=0xFEFFFFFF"))
		}
		return m
	case lineJunk:
		return []string{u32(w.mark())}
	}
	if w.tcp {
		return []string{""}
	}
	return []string{u32(w.mark() + "&&" + w.at(12) + "=0x72636F6E")}
}

func (w *iptWriter) queries() []string {
	switch w.speech {
	case speaksA2S:
		return []string{u32(w.letter("0x54:0x57,0x69"))}
	case speaksGoldSource:
		return []string{u32(w.mark() + "&&" + w.at(12) +
			"=0x64657461,0x696E666F,0x6E657469,0x70696E67,0x706C6179,0x72756C65")}
	case speaksASE:
		return []string{w.length(1)}
	case speaksMaster:
		return []string{u32(w.at(5) + "&0xFF=0x31,0x63,0x65")}
	}
	return []string{u32(w.mark())}
}

func (w *iptWriter) replies(letters, eye string) []string {
	switch w.speech {
	case speaksASE:
		return []string{eye}
	case speaksMaster:
		return []string{u32(w.letter("0x66"))}
	}
	return []string{u32(w.letter(letters))}
}
