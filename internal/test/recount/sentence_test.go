package recount

import (
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// sentence is a form of evidence: a pattern, whose groups are its numbers, and how they are held
// against tshark's counts of the stretch of time that the sentence is of.
type sentence struct {
	pattern *regexp.Regexp
	check   func(x *incident, s span, n []string)
}

// num is a number as people read it; share is one in percent.
const (
	num   = `([\d,.]+)`
	share = `(under 0\.1|[\d.]+) %`
)

func form(pattern string, check func(x *incident, s span, n []string)) sentence {
	return sentence{regexp.MustCompile("^" + pattern + "$"), check}
}

// sentences are all forms with numbers. One that is new fails the test until it is here.
var sentences = []sentence{
	form(num+` queries/s on average(?:, pauses included)?(?: \(usual: `+num+`\))?(?:, most of them from (\S+)| from one source| from about `+num+` sources, `+num+` each)`, checkRate),
	form(`sources were challenged `+num+` times, and (?:never brought the challenge back|brought the challenge back in `+share+` of them)`, checkReturned),
	form(`one source was challenged, and brought the challenge back`, func(x *incident, s span, n []string) { checkReturned(x, s, []string{"1", "100"}) }),
	form(`the servers? sent no reply to `+num+` requests`, func(x *incident, s span, n []string) { checkSent(x, s, []string{"0", n[0], "0", "0"}) }),
	form(`the servers? sent `+num+` repl(?:y|ies), challenges included, to `+num+` requests of all kinds \(`+share+`\), `+num+`x the bytes`, checkSent),
	form(`no source stands out among `+num+` .*: blocking single addresses is useless`, checkNoLeader),
	form(`(\S+) sent (?:all|at least `+share+`) of `+num+` .*`, checkLeader),
	form(share+` of `+num+` queries from impossible addresses \(of random addresses 14 % are\)`, checkImpossible),
	form(`time to live `+num+` on `+share+` of `+num+` queries`, checkOneTTL),
	form(`source port `+num+` on `+share+` of `+num+` sampled queries`, checkOnePort),
	form(`the same payload in `+share+` of `+num+` sampled queries`, checkOnePayload),
	form(share+` of `+num+` queries from (\S+), from at least `+num+` hosts in it`, checkOneNetwork),
	form(num+` queries, evenly paced, as one sender does`, func(x *incident, s span, n []string) { x.reads("paced", n[0], x.count(s)) }),
	form(`the server is a reflector: it sends about `+num+` victims `+num+`x the bytes that come in their names: ([^ ,]+).*`, checkVictims),
	form(`it is spread over `+num+` servers of \S+, `+share+` of it to the busiest`, checkSpread),
	form(num+` requests?/s with challenges that the server never gave out, `+share+` of `+num+` requests with a challenge`, checkGuesses),
	form(`GUESSED CHALLENGES WERE ANSWERED: (?:at least )?`+num+` repl(?:y|ies) with data, `+num+` (B|kB|MB) went out to (?:`+num+` addresses and more|(\S+) and others|(\S+))`, checkLeaked),
	form(num+` datagrams/s that begin with FF FF FF FF and are nothing known`, func(x *incident, s span, n []string) { x.reads("rate", n[0], x.Mean) }),
	form(share+` of `+num+` datagrams to the server, from about `+num+` sources`, checkJunk),
	form(`the server sent `+num+` replies to all of them together`, func(x *incident, s span, n []string) { x.reads("replies", n[0], x.sent(s)) }),
	form(num+` replies/s, `+num+` (B|kB|MB)/s, from about `+num+` servers to \S+`, checkReplyRate),
	form(share+` of `+num+` replies answer no request of this host`, func(x *incident, s span, n []string) { x.t.Error("no count for replies that were asked for") }),
	form(num+` refused logins; `+num+` different passwords, from `+num+` sources(?: in the last `+num+` of them)?`, checkLogins),
	form(`open amplifier: it sent `+num+`x the bytes that it got, in `+num+` answers to sources that proved nothing`, checkOpen),
	form(num+` packets in the busiest second \(.*\), `+num+` (B|kB|MB); usual are `+num+`/s`, checkBusiestSecond),
	form(`to port `+num+`, from about `+num+` sources; `+num+` bytes in the mean, with headers from IP's on`, checkAim),
	form(share+` of the connections begun were completed`, func(x *incident, s span, n []string) { x.reads("completed", n[0], 0) }),
}

// checkSentence holds the numbers of a sentence of evidence against tshark's counts.
func checkSentence(x *incident, v value) {
	s := span{v.sibling("from").time(), v.sibling("to").time()}
	if x.End == nil && s.to == x.c.last {
		s.to++
	}
	for _, f := range sentences {
		if n := f.pattern.FindStringSubmatch(v.text()); n != nil {
			f.check(x, s, n[1:])
			return
		}
	}
	if strings.ContainsAny(v.text(), "0123456789") {
		x.t.Errorf("%s: nothing checks the numbers of %q", x.Kind, v.text())
	}
}

// parse returns a number as people read it, and half of the unit of its last digit.
func (x *incident) parse(text string) (n, half float64) {
	if text == "under 0.1" {
		return 0.05, 0.05
	}
	plain := strings.ReplaceAll(text, ",", "")
	n, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		x.t.Fatalf("%s: %v", x.Kind, err)
	}
	_, decimals, _ := strings.Cut(plain, ".")
	return n, math.Pow10(-len(decimals)) / 2
}

// reads reports a number whose digits are not those of tshark's.
func (x *incident) reads(name, text string, want float64) { x.readsAbout(name, text, want, want) }

// readsAbout reports a number whose digits are not those of any number between bounds.
func (x *incident) readsAbout(name, text string, low, high float64) {
	x.t.Helper()
	n, half := x.parse(text)
	if n == 99 && high > 99 && high < 100 { // 99.6 % are not written as all
		half = 1
	}
	half += 1e-9
	if n+half < low || n-half > high {
		x.t.Errorf("%s: %s: the report says %s, tshark %.4g to %.4g", x.Kind, name, text, low, high)
	}
}

// units are those of amounts of bytes in sentences.
var units = map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6}

func (x *incident) readsBytes(name, text, unit string, low, high float64) {
	x.t.Helper()
	x.readsAbout(name, text, low/units[unit], high/units[unit])
}

func (x *incident) count(s span) float64 { return float64(len(x.within(s))) }

// sent counts the replies of the target.
func (x *incident) sent(s span) float64 {
	return float64(len(x.c.pick(s, func(r *row) bool { return x.isTarget(r.src) && r.what.isReply() })))
}

// inWindow returns between which numbers the report's count of the incident's packets in a stretch
// of time may lie: those before the server was watched closely are missing, and of an other_flood
// the sources of the one or two seconds before it was one.
func (x *incident) inWindow(s span) (low, high float64) {
	high = x.count(s)
	switch {
	case x.Class != "":
		return high - 2*float64(x.peak()), high
	case x.Kind == "challenge_bypass" || x.Kind == "reply_flood_victim":
		return 0.9 * high, high
	case s.from <= x.whole.from+1e9:
		low = high - coarse
	default:
		low = high
	}
	if s.to >= x.whole.to {
		high += float64(x.after())
	}
	return low, high
}

// percentOf checks "A % of B": B is the incident's packets in s, A the share of those that are.
func (x *incident) percentOf(name, percent, all string, s span, is func(*row) bool) {
	x.t.Helper()
	n := 0.0
	for _, r := range x.within(s) {
		if is(r) {
			n++
		}
	}
	low, high := x.inWindow(s)
	x.readsAbout(name+": all", all, low, high)
	x.reads(name, percent, 100*n/x.count(s))
}

func checkRate(x *incident, s span, n []string) {
	low, high := x.bounds()
	x.readsAbout("rate", n[0], float64(low)/x.length(), float64(high)/x.length())
	if n[1] != "" {
		x.reads("usual", n[1], x.Baseline)
	}
	if n[2] != "" {
		x.readsAbout("most", "51", 50, 100*float64(len(x.c.pick(s, func(r *row) bool { return x.counts(r) && r.src.Addr().String() == n[2] })))/x.count(s))
	}
	if n[3] != "" {
		x.reads("sources", n[3], float64(x.Sources))
		x.readsAbout("each", n[4], 0.9*ratio(low, x.Sources), 1.1*ratio(high, x.Sources))
	}
}

func checkReturned(x *incident, _ span, n []string) {
	_, returned := x.challenges()
	low, high := x.givenLow(), x.givenHigh()
	x.readsAbout("times challenged", n[0], low, high)
	if n[1] == "" {
		n[1] = "0"
	}
	x.readsAbout("times brought back", n[1], 100*(0.9*float64(returned)-10)/high, 100*min(1, (float64(returned)+10)/max(low, 1)))
}

func checkSent(x *incident, s span, n []string) {
	asked := float64(len(x.c.pick(s, func(r *row) bool { return x.isTarget(r.dst) && r.what.isRequest() })))
	replies, slack := x.sent(s), 10.0
	if x.Pulses > 1 { // what came between them is no part of it
		slack = asked / 2
	}
	x.readsAbout("replies", n[0], replies-slack, replies)
	x.readsAbout("requests", n[1], asked-slack, asked+float64(x.after()))
	a, _ := x.parse(n[0])
	b, _ := x.parse(n[1])
	x.reads("share of replies", n[2], 100*min(1, a/b))
	x.reads("times the bytes", n[3], ratio(x.BytesOut, x.BytesIn))
}

func checkNoLeader(x *incident, s span, n []string) {
	low, high := x.inWindow(s)
	x.readsAbout("packets", n[0], low, high)
	busiest := 0
	for _, k := range countBy(x.within(s), source) {
		busiest = max(busiest, k)
	}
	if busiest > 1 && float64(busiest) >= 0.01*high {
		x.t.Errorf("%s: by tshark one source sent %d of %v", x.Kind, busiest, high)
	}
}

func checkLeader(x *incident, s span, n []string) {
	low, all := x.inWindow(s)
	of := float64(countBy(x.within(s), source)[netip.MustParseAddr(n[0])])
	x.readsAbout("packets", n[2], low, all)
	if n[1] == "" {
		x.reads("share", "100", 100*of/all)
	} else {
		x.readsAbout("share", n[1], 0, 100*of/all)
	}
}

// impossible are networks whose addresses no client on the Internet has, with those that a
// capture from there may have.
var impossible = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/3"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("198.18.0.0/15")}

func checkImpossible(x *incident, s span, n []string) {
	always, maybe := 0.0, 0.0
	for _, r := range x.within(s) {
		for i, p := range impossible {
			if p.Contains(r.src.Addr()) {
				maybe++
				if i < 4 {
					always++
				}
				break
			}
		}
	}
	low, high := x.inWindow(s)
	x.readsAbout("impossible: all", n[1], low, high)
	x.readsAbout("impossible", n[0], 100*always/x.count(s), 100*maybe/x.count(s))
}

func checkOneTTL(x *incident, s span, n []string) {
	x.percentOf("time to live", n[1], n[2], s, func(r *row) bool { return strconv.Itoa(r.ttl) == n[0] })
}

// sampled checks a share of the queries that were sampled: all of the first 2,048 in ten
// seconds, then one in eight.
func (x *incident) sampled(name, percent, all string, s span, is func(*row) bool) {
	of := 0.0
	for _, r := range x.within(s) {
		if is(r) {
			of++
		}
	}
	low, n := x.inWindow(s)
	x.readsAbout(name+": all", all, min(low, 2047+(n-2047)/8-2), n)
	x.readsAbout(name, percent, 100*of/n-2, 100*of/n+2)
}

func checkOnePort(x *incident, s span, n []string) {
	x.sampled("source port", n[1], n[2], s, func(r *row) bool { return strconv.Itoa(int(r.src.Port())) == n[0] })
}

func checkOnePayload(x *incident, s span, n []string) {
	most, usual := 0, ""
	for p, k := range countBy(x.within(s), func(r *row) string { return r.payload }) {
		if k > most {
			most, usual = k, p
		}
	}
	x.sampled("payload", n[0], n[1], s, func(r *row) bool { return r.payload == usual })
}

func checkOneNetwork(x *incident, s span, n []string) {
	net := netip.MustParsePrefix(n[2])
	var list []*row
	for _, r := range x.within(s) {
		if net.Contains(r.src.Addr()) {
			list = append(list, r)
		}
	}
	low, high := x.inWindow(s)
	x.readsAbout("from one network: all", n[1], low, high)
	x.reads("from one network", n[0], 100*float64(len(list))/x.count(s))
	x.readsAbout("hosts in it", n[3], 1, float64(distinct(list, source)))
}

// checkVictims: those that asked at least ten times and brought nothing back.
func checkVictims(x *incident, s span, n []string) {
	hosts := 0.0
	for _, k := range countBy(x.within(s), source) {
		if k >= 10 {
			hosts++
		}
	}
	x.reads("victims", n[0], hosts)
	asked := x.within(s)
	sent := x.c.pick(s, func(r *row) bool { return x.isTarget(r.src) && r.what.isReply() })
	factor := float64(sum(sent, inPayload)) / float64(sum(asked, inPayload))
	x.readsAbout("times the bytes", n[1], 0.8*factor, 1.25*factor) // others asked as well
	if busiest, _ := netip.ParseAddr(n[2]); countBy(asked, source)[busiest] == 0 && !strings.Contains(n[2], "/") {
		x.t.Errorf("%s: %s is no victim", x.Kind, n[2])
	}
}

func checkSpread(x *incident, s span, n []string) {
	by := countBy(x.within(s), receiver)
	most := 0
	for _, k := range by {
		most = max(most, k)
	}
	x.reads("servers asked", n[0], float64(len(by)))
	x.readsAbout("share of the busiest", n[1], 100*float64(most)/x.count(s)-0.5, 100*float64(most)/x.count(s)+0.5)
}

func checkGuesses(x *incident, s span, n []string) {
	low, high := x.bounds()
	keyed := float64(len(x.c.pick(s, func(r *row) bool { return x.isTarget(r.dst) && r.what.isRequest() && r.key != "" })))
	x.readsAbout("guesses a second", n[0], float64(low)/x.length(), float64(high)/x.length())
	x.readsAbout("share of guesses", n[1], 100*float64(x.Requests)/keyed, 100*float64(high)/keyed)
	x.readsAbout("requests with a challenge", n[2], keyed-10, keyed)
}

func checkLeaked(x *incident, _ span, n []string) {
	all := x.answeredGuesses()
	x.readsAbout("answered guesses", n[0], 0.85*float64(len(all)), float64(len(all)))
	x.readsBytes("bytes of these", n[1], n[2], 0.85*float64(sum(all, inPayload)), float64(sum(all, inPayload)))
	if n[3] != "" {
		x.readsAbout("addresses", n[3], 1, float64(distinct(all, receiver)))
	}
}

func checkJunk(x *incident, s span, n []string) {
	all := float64(len(x.c.pick(s, func(r *row) bool { return x.isTarget(r.dst) && (r.what.isRequest() || r.what == junk) })))
	x.readsAbout("share of junk", n[0], 100*(x.count(s)-10)/all, 100*x.count(s)/all)
	x.readsAbout("datagrams", n[1], all-10, all)
	x.reads("sources", n[2], float64(x.Sources))
}

func checkReplyRate(x *incident, s span, n []string) {
	low, high := x.bounds()
	x.readsAbout("replies a second", n[0], float64(low)/x.length(), float64(high)/x.length())
	bytes := float64(sum(x.list, inPayload)) / x.length()
	x.readsBytes("bytes a second", n[1], n[2], 0.99*bytes, bytes)
	x.reads("servers", n[3], float64(x.Sources))
}

func checkLogins(x *incident, s span, n []string) {
	logins := x.c.pick(span{x.whole.from - 1e9, x.whole.to}, func(r *row) bool { return r.what == login && x.isTarget(r.dst) })
	x.reads("refused logins", n[0], float64(len(x.list)))
	passwords := float64(distinct(logins, func(r *row) string { return r.key }))
	if n[3] != "" {
		k, _ := x.parse(n[3])
		passwords = min(passwords, k)
	}
	x.reads("passwords", n[1], passwords)
	x.reads("sources", n[2], float64(distinct(x.list, receiver)))
}

func checkOpen(x *incident, s span, n []string) {
	x.reads("gain", n[0], ratio(x.BytesOut, x.BytesIn))
	x.reads("answers", n[1], float64(x.Requests))
}

func checkBusiestSecond(x *incident, s span, n []string) {
	x.reads("packets in the busiest second", n[0], float64(x.peak()))
	bytes := float64(most(x.c.bySecond(x.list, onWire)))
	x.readsBytes("bytes in the busiest second", n[1], n[2], bytes, bytes)
	x.reads("usual", n[3], x.Baseline)
}

func checkAim(x *incident, s span, n []string) {
	ports := countBy(x.list, func(r *row) string { return strconv.Itoa(int(r.dst.Port())) })
	if 2*ports[n[0]] < len(x.list)-ports["0"] {
		x.t.Errorf("%s: by tshark %d packets of %d went to port %s", x.Kind, ports[n[0]], len(x.list), n[0])
	}
	x.reads("sources", n[1], float64(x.Sources))
	x.readsAbout("bytes in the mean", n[2], ratio(sum(x.list, onWire), len(x.list))-0.5, ratio(sum(x.list, onWire), len(x.list)))
}
