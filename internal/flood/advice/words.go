package advice

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// paragraphs returns what to do about the incident, in words.
func (p *plan) paragraphs(in *flood.Incident) []string {
	switch p.kind {
	case flood.FloodFew:
		return append(p.fewWords(in), p.fitWords(in)...)
	case flood.FloodDistributed:
		return append(append(p.botWords(), p.fitWords(in)...), p.capWords(in)...)
	case flood.FloodCompleting:
		return p.completingWords(in)
	case flood.FloodSpoofed:
		return append(append(p.spoofedWords(), p.fitWords(in)...), p.capWords(in)...)
	case flood.FloodSuspect:
		return p.suspectWords(in)
	case flood.Reflection:
		return p.reflectionWords(in)
	case flood.ReplyFloodVictim:
		return p.victimWords(in)
	case flood.ChallengeBypass:
		return p.bypassWords(in)
	case flood.JunkFlood:
		return p.junkWords()
	case flood.OtherFlood:
		if in.Class != nil {
			return p.classWords(in)
		}
	case flood.RconBruteforce:
		return p.guesserWords(in)
	}
	return p.quietWords(in)
}

func (p *plan) fewWords(in *flood.Incident) []string {
	s := "A few sources send more than any client needs."
	if p.hasRule(lineSources) {
		s += " Drop what the busiest send, " + p.duration() + ", and limit every source, so that the next one meets" +
			" the limit at once."
	} else {
		s += " Limit what every source may ask."
	}
	all := []string{s}
	if p.hasRule(lineSources) {
		all = append(all, p.proofWords(in)+" Where the flood moves on to other addresses, leave the limit and take the addresses out.")
	}
	return append(all, p.limitWords()...)
}

// proofWords returns whether the named sources are who sends.
func (p *plan) proofWords(in *flood.Incident) string {
	const own = " If one is a monitor or a bot of yours, name it with --own: then no line drops what it sends."
	if p.numSpared > 0 {
		x := p.spared[0]
		return fmt.Sprintf("Others forge %s, which is a client of this server: it brings challenges back from port %d, and nearly nothing else in its name"+
			" does. So the lines let that port pass, and drop the rest.", x.Addr(), x.Port())
	}
	switch n := p.provenNames(in); {
	case n == 0:
		return "None of this proves an address: if one of them is forged, its owner is blocked instead, who did nothing."
	case n < p.numNames:
		return fmt.Sprintf("Of the %d that are dropped, %d brought a challenge back. If another is forged, its owner is blocked instead,"+
			" who did nothing.", p.numNames, n) + own
	case n == 1:
		return "The address brought a challenge back: it is this one that sends." + own
	}
	return "The addresses brought challenges back: it is they who send." + own
}

// provenNames returns how many of the named sources proved their address.
func (p *plan) provenNames(in *flood.Incident) (n int) {
	for _, x := range p.named[p.numNetworks:p.numNames] {
		if slices.ContainsFunc(in.Top, func(s flood.Source) bool { return s.Verified && x.Contains(s.Addr.Unmap().WithZone("")) }) {
			n++
		}
	}
	return n
}

// ownWords returns what the lines do about the operator's own tools, if some would have been named.
func (p *plan) ownWords() string {
	if !p.ownSpared {
		return ""
	}
	return "Addresses that --own names are in no line, though much came in their name: if that is forged, a line would" +
		" block your own tools. Limits for all hold for them, too. First look whether such a tool of yours asks this much:" +
		" then let it ask less often."
}

// duration returns for how long the lines drop what named addresses send, as "for an hour".
func (p *plan) duration() string {
	switch p.expiry {
	case 0:
		return "for an hour (with iptables until the lines are removed)"
	case time.Hour:
		return "for an hour"
	}
	return "for " + FormatExpiry(p.expiry)
}

func (p *plan) limitWords() []string {
	r := p.findRule(lineQueries)
	if r == nil {
		return nil
	}
	each := "an address"
	if p.isIPv6 {
		each = "a /64"
	}
	s := fmt.Sprintf("The limit is %s a second for %s, %d at once. ", digits.Counted(uint64(r.limit.packets), "query", "queries"), each, r.limit.burst)
	return []string{s + p.operator.Limits}
}

func (p *plan) botWords() []string {
	return append([]string{"Many sources, each far busier than a client. Limit what each may ask, and cap what all of them may" +
		" ask together before they prove their address. If the line to the server is full, no filter on the server" +
		" helps: give these lines to the provider."}, p.limitWords()...)
}

// completingWords returns what to do about bots that bring challenges back.
func (p *plan) completingWords(in *flood.Incident) []string {
	s := "These sources are at their addresses: each brings back the challenge that it gets, as clients do. But it goes on asking, and nobody who looks for a server does."
	if p.hasRule(linePairs) {
		s += fmt.Sprintf(" So limit what each address and port may ask: %d packets a minute, %d at once. People who share an address (CGNAT) have"+
			" a port each, and pass. A monitor of yours that asks more often than every six seconds has to be named with --own, or let pass first with --proven.",
			pairRate.packets, pairRate.burst)
	}
	all := []string{s}
	if r := p.findRule(lineQueries); r != nil {
		s := fmt.Sprintf("The limit is %s a second for an address, %d at once.", digits.Counted(uint64(r.limit.packets), "query", "queries"), r.limit.burst)
		if !p.hasRule(linePairs) && in.Sources < fewSources {
			s += " Ask first whose address it is: a carrier's, or a school's, has many people."
		}
		all = append(all, s)
	}
	if in.Answered >= 0 && in.Answered < refusedBelow {
		all = append(all, fmt.Sprintf("The server refuses part of what it is asked (%s of the requests got a reply), and clients with the bots:"+
			" \"qsniff floods --limits NAME CAPTURE\" shows whom its own limiter refuses.", shareOf(uint64(1000*in.Answered), 1000)))
	}
	return all
}

// refusedBelow is the share of answered requests below which a server refuses some: the detector's.
const refusedBelow = 0.9

func (p *plan) spoofedWords() []string {
	s := "The source addresses are forged. Do not block single ones: they belong to people who have nothing to do" +
		" with it, and there are always more."
	if p.hasRule(lineFirst) && (p.proto == nil || p.hasProof()) {
		s += " What a forger cannot do is bring back a challenge, because it is sent to somebody else. So cap the queries" +
			" that bring none."
	}
	return []string{s}
}

// fitWords returns what the lines that were made for what came look at.
func (p *plan) fitWords(in *flood.Incident) (all []string) {
	if p.hasRule(lineOdd) {
		for _, k := range in.Kinds() {
			if known := knownLengths(k.Type); len(p.oddForms(k.Type, lengths{k.MinLen, k.MaxLen})) > 0 && known != "" {
				all = append(all, fmt.Sprintf("Clients send %s with %s bytes. The lines drop it at the lengths that came and no"+
					" client sends.", k.Name(), known))
			}
		}
	}
	if p.hasRule(lineUnissued) {
		all = append(all, "A challenge is worth something only from an address that the server has just sent one to. So the lines"+
			" remember for a minute whom the server sends anything, and drop challenges from everybody else. A monitor of"+
			" yours that keeps an old challenge for longer has to ask for a new one.")
	}
	return all
}

// knownLengths returns the lengths that clients give to messages of a type, as "25 or 29".
func knownLengths(t *dissect.Type) string {
	next, s := 0, ""
	for _, odd := range oddLengths(t) {
		if odd.min > next {
			if s != "" {
				s += " or "
			}
			s += strconv.Itoa(next)
			if odd.min-1 > next {
				s += " to " + strconv.Itoa(odd.min-1)
			}
		}
		next = odd.max + 1
	}
	return s
}

// settings returns what to set in the server: all of it, or, where what came is challenged
// already, what is left.
func (p *plan) settings(in *flood.Incident) string {
	isOpen := len(in.Shape) == 0
	for i := range in.Shape {
		t := in.Shape[i].Type
		isOpen = isOpen || t != nil && t.Asks.Has(p.operator.ChallengeFor)
	}
	if p.operator.ChallengeFor != 0 && (!isOpen || p.isChallenged(in)) {
		return p.operator.OtherSettings
	}
	return p.operator.Settings
}

// isChallenged reports whether the server gives challenges to what comes. Those of a flood that goes on are counted
// late; a challenge is shorter than any query, and data is longer.
func (p *plan) isChallenged(in *flood.Incident) bool {
	switch {
	case in.Challenged > 0, in.Gated.Has(p.operator.ChallengeFor):
		return true
	case !in.GivesChallenges || in.Requests == 0:
		return false
	}
	return in.Replies == 0 || in.BytesOut/in.Replies < in.BytesIn/in.Requests // silent: it challenged before the flood
}

// capWords returns why a cap has its number.
func (p *plan) capWords(in *flood.Incident) []string {
	r := p.findRule(lineFirst)
	if r == nil {
		return []string{p.settings(in)}
	}
	n := float64(r.limit.packets)
	s := fmt.Sprintf("The cap is %s a second", thousands(uint64(r.limit.packets)))
	if p.isNarrow {
		s += " and for " + p.mix.typeNames() + " only, which is what came"
	}
	if usual := orZero(in.Baseline); usual >= 0.1 && usual < n {
		s += fmt.Sprintf(", about %s times the %s of before the flood", formatRough(n/usual), formatRough(usual))
	}
	if in.Stands > 0 && p.kind != flood.ReplyFloodVictim {
		s += fmt.Sprintf("; the server answered %s requests a second and left others unanswered, so that more would crowd out those who bring challenges back",
			formatRough(in.Stands))
	}
	s += "."
	if peak := orZero(in.Peak); peak > n && !p.isVetoed {
		s += fmt.Sprintf(" At the flood's peak of %s a second it lets 1 of %s through, of real clients' first queries too:"+
			" a server browser may need several tries.", formatRough(peak), formatRough(peak/n))
	}
	switch {
	case p.hasProof():
		s += " Queries that carry a challenge pass, and so does the game." + p.answeredWords()
		return []string{s, p.settings(in), "With \"qsniff floods -o nft --proven\" the clients that proved their address pass first; \"qsniff proven\" lists them."}
	case p.proto != nil:
		s += " This protocol has no challenge, so the cap is on all of its queries."
	}
	return []string{s, p.settings(in)}
}

func (p *plan) suspectWords(in *flood.Incident) []string {
	return []string{"More queries than usual, and too little to tell a flood from a crowd. A cap would hit either, so there is" +
		" none here. Look whether players joined as well, and capture both directions: who brings a challenge back is" +
		" real.", p.settings(in)}
}

func (p *plan) reflectionWords(in *flood.Incident) []string {
	s := "Somebody sends queries in the name of the victim, and this server sends it the answers. Stop feeding it:"
	if p.hasRule(lineVictims) {
		s += " what goes to the addresses below is cut to one packet a second for all of them together, " + p.duration() + "."
	}
	if p.hasRule(lineOthers) {
		s += " Every other host gets five answers a second, thirty at once; a visitor asks three questions."
	}
	cure := p.operator.Reflected
	if in.Class != nil {
		cure = "Servers of that game answer anybody at once. What they can do by themselves, their manual says: a shorter reply is worth less to the attacker."
	}
	return []string{s, "The victim's address is not the sender's: do not report it, and drop nothing that it sends.", cure}
}

func (p *plan) victimWords(in *flood.Incident) []string {
	s := "Servers are made to send answers to this host that it did not ask for. They are not the attackers, so do not block" +
		" them one by one: cap the answers."
	if r := p.findRule(lineUnasked); r != nil {
		s += fmt.Sprintf(" The cap is %s a second.", thousands(uint64(r.limit.packets)))
		if peak := orZero(in.Peak); peak > float64(r.limit.packets) {
			s += fmt.Sprintf(" The peak was %s.", formatRough(peak))
		}
	}
	return []string{s, "While it lasts a server browser on this host finds few servers. The packets have already used the line" +
		" when they get here: if it is full, the provider has to filter them. Ask for the same test there."}
}

func (p *plan) bypassWords(in *flood.Incident) []string {
	s := "Somebody sends challenges that this server never gave out."
	if in.Succeeded {
		s = "Somebody sends challenges that this server never gave out, and got answers to some. The server, or a cache or" +
			" filter before it, answers without looking at the challenge: find it first, because it can be used" +
			" against others."
	}
	all := []string{s}
	if p.hasRule(lineQueries) {
		all[0] += " Limit what each source may ask. If the source is a monitor of yours, it keeps an old challenge: a new" +
			" version of it helps more than a filter."
	}
	return append(append(all, p.fitWords(in)...), p.limitWords()...)
}

func (p *plan) junkWords() (all []string) {
	if p.hasRule(lineJunk) {
		all = append(all, "Packets that begin like a query and are none. First look at what they are: the lines copy five a second"+
			" to log group 5, where \"tcpdump -ni nflog:5 -X\" shows them. Then let pass what the game knows.",
			"The lines let pass what begins like a known query, join or command, and cap everything else at 20 a second."+
				" If the log shows a type that the game needs, add a line that returns for it before the flood is over.")
	}
	if p.hasRule(lineStrangers) {
		return append(all, "Players are sent the game all the time, and strangers no more than answers to queries. So the lines remember"+
			" for a minute whom the server sends anything else, and cap what all others send at 20 a second, unless it begins like a query or a join.")
	}
	return append(all, "Against junk that begins with other bytes nothing helps but a list of who may send: \"qsniff proven\" prints"+
		" the clients that proved their address, with -o nft as sets for lines of your own.")
}

func (p *plan) guesserWords(in *flood.Incident) []string {
	s := "Somebody tries passwords for the remote console."
	if in.Succeeded {
		s = "Somebody tried passwords for the remote console and got in. Change rcon_password now, then look in the server's" +
			" log for what was run."
	}
	if p.hasRule(lineSources) {
		s += " Drop the guessers " + p.duration() + ", and limit everybody else's attempts; let your own address in before that."
	} else {
		s += " Limit everybody's attempts; let your own address in before that."
	}
	return []string{s, p.operator.Logins}
}

// quietWords returns what to do about kinds without lines.
func (p *plan) quietWords(in *flood.Incident) []string {
	switch p.kind {
	case flood.RconMisconfig:
		return []string{"One program sends the same wrong password again and again. Find it by its address and correct it: until" +
			" then it may get itself banned, and its noise hides a guesser."}
	case flood.Scan:
		return []string{"Usually nothing: scans are everywhere, and blocking this one changes little. Take it as a reason to look" +
			" which servers answer without a challenge (\"open_amplifier\") and whether the remote console can be reached" +
			" from everywhere. If it comes from your own network, look at that machine."}
	case flood.Survey:
		return []string{"Nothing to do: this is a server browser, a census or a monitor. If it asks too often, talk to who runs it."}
	case flood.Crowd:
		return []string{"Load no rules: these look like real clients, and many of them. Any limit for all would hit them." +
			" " + p.operator.Crowded}
	case flood.Poller:
		return []string{"Load no rules: one or a few programs ask often, as monitors do. Once in 10 seconds is enough for most:" +
			" if it is yours, set it so. " + p.operator.Polled}
	case flood.OwnToolStorm:
		return []string{"Block nothing: these are tools of your own, as --own says, and they are where they say. Find what asks so often" +
			" by its address, and let it ask less: once in 10 seconds is enough for most monitors. A retry without a pause," +
			" or a second copy that nobody stopped, are the usual causes. " + p.operator.Polled}
	case flood.OpenAmplifier:
		return []string{p.amplifierWords(uint64(max(in.Servers, 1)))}
	}
	return nil
}

// amplifierWords returns what to do about n open amplifiers.
func (p *plan) amplifierWords(n uint64) string {
	if p.proto != nil && !p.hasProof() {
		return digits.Noun(n, "This server answers", "These servers answer") + " anybody, with many times what " +
			digits.Noun(n, "it is", "they are") + " sent, because the protocol has no challenge. " + digits.Noun(n, "It", "They") +
			" can be used against others. A limit on " + digits.Noun(n, "its", "their") +
			" answers to each address, loaded before that happens, is all there is."
	}
	return digits.Noun(n, "This server answers queries without a challenge and sends more than it gets, so it",
		"These servers answer queries without a challenge and send more than they get, so they") +
		" can be used against others. " + p.operator.Settings
}

func (p *plan) findRule(l lineKind) *planRule {
	for i := range p.rules[:p.numRules] {
		if p.rules[i].kind == l {
			return &p.rules[i]
		}
	}
	return nil
}

func (p *plan) hasRule(l lineKind) bool { return p.findRule(l) != nil }

// formatRough returns a number with one decimal below 10, else without.
func formatRough(x float64) string {
	if x < 10 {
		return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64)
	}
	return thousands(uint64(min(x+0.5, 1<<60)))
}
