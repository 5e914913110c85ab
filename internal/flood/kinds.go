package flood

import (
	"cmp"
	"slices"

	"qsniff/internal/base/digits"
)

// KindDoc explains a kind of incident to the administrator of a server.
type KindDoc struct {
	// Code is the stable id, among those of findings. Kinds that ask for the same to be done
	// share one, and a kind has that of the finding that reports the same.
	Code string
	// One and Many are what is counted, "request" and "requests" where they are empty.
	One, Many string
	// Packets follows their number in a summary: "60,180 requests of forged sources".
	Packets string
	What    string // what it is
	Apart   string // how it is told from legitimate load
	Do      string
}

// Doc returns the explanation of a kind.
func (k Kind) Doc() *KindDoc { return &kindDocs[k] }

// Code returns the stable id of a kind: "DOS-F01".
func (k Kind) Code() string { return kindDocs[k].Code }

// Count returns how many packets the incident is about, with the noun for them.
func (in *Incident) Count() string {
	if in.Class != nil {
		return digits.Counted(in.Packets, "packet")
	}
	n := in.Requests
	if in.Kind == ReplyFloodVictim {
		n = in.Replies
	}
	d := in.Kind.Doc()
	return digits.Counted(n, cmp.Or(d.One, "request"), cmp.Or(d.Many, "requests"))
}

var kindDocs = [NumKinds]KindDoc{
	FloodFew: {Code: "DOS-F02", Packets: "of few sources",
		What: "A few addresses, or one network, send more queries than any client needs, until the server answers nobody else.",
		Apart: "Servers answer one source about 3 times a second. A list refresh, a monitor or a household behind one address stays below few_unproven and few_proven; " +
			"an address with many ports and few queries from each counts as many clients.",
		Do: "Load the advised rules: they drop the busiest sources for a time (--expire) and limit all others. Where the flood moves to other addresses, keep the limit only."},
	FloodDistributed: {Code: "DOS-F02", Packets: "of many sources",
		What: "Many machines, with addresses that may be their own, send more queries than clients do: a botnet.",
		Apart: "Each of them asks faster or for longer than clients, brings no challenge back, or shares habits that strangers do not share. " +
			"Clients of a crowd each ask two or three times and bring the challenge back.",
		Do: "Load the advised rules: a limit for each source, and a cap on queries without a challenge. If the line to the server is full, only the provider can filter."},
	FloodSpoofed: {Code: "DOS-F01", Packets: "of forged sources",
		What: "One sender, or a few, write invented source addresses into queries. Answers and challenges go to strangers.",
		Apart: "Nobody brings a challenge back, as the challenge never reaches the sender; addresses that no client can have, one time to live for all " +
			"and one payload add to that. Real clients bring the challenge back from their first visit on.",
		Do: "Load the advised rules: they cap queries that bring no challenge, and let those with one pass. Block no single addresses: they belong to people who did nothing."},
	FloodSuspect: {Code: "DOS-S01", Packets: "of many sources, which may be clients",
		What:  "More sources than usual ask, with some habits of an attack, but too few for a verdict.",
		Apart: "Nothing does for sure: the points of evidence lie between those of a crowd and those of a flood. A capture of both directions usually decides it.",
		Do:    "Look whether players join as well, and capture both directions. Limit nothing before that: a cap would hit either."},
	Reflection: {Code: "DOS-R01", Packets: "in the name of others",
		What: "Somebody sends queries with a victim's address as the source, and the server sends its larger answers to the victim.",
		Apart: "The receivers never bring a challenge back, keep being \"asked\" from more ports than a client has, and answer with ICMP errors; " +
			"what leaves is a multiple of what arrives.",
		Do: "Load the advised rules: they cut what each of these addresses is sent. Make the server ask for a challenge. Do not report the victim: the packets are not from there."},
	ReplyFloodVictim: {Code: "DOS-V01", One: "reply", Many: "replies", Packets: "that the host did not ask for",
		What:  "Game servers all over the world send this host answers to queries that it did not send: somebody forged its address.",
		Apart: "A client that refreshes a list gets about three replies from each server, a challenge first; a victim gets many of the same kind and no challenge before them.",
		Do:    "Load the advised rules, which cap such replies, and give the same test to the provider if the line is full. Do not block or report the servers one by one."},
	ChallengeBypass: {Code: "DOS-B01", Packets: "with guessed challenges",
		What: "Requests bring challenges that the server never gave to that address: a sender with forged addresses guesses, or hopes that the challenge is not checked.",
		Apart: "An old tool that keeps a challenge brings the same one back once for each of its questions; guesses differ from request to request, or come from sources that were never given any. " +
			"In the first minute of a capture a challenge may be of before it.",
		Do: "See whether guesses were answered: then the server, or a cache before it, does not check the challenge and can be used against others. Load the advised limit."},
	JunkFlood: {Code: "DOS-J01", One: "datagram", Many: "datagrams", Packets: "that are nothing known",
		What:  "Datagrams that begin like queries and are none, or that belong to no session, fill the line and the server's time.",
		Apart: "Players' packets belong to a session in which the server answers; these come without one, at a rate and a share of the traffic that no game has.",
		Do:    "Look at the packets first, as the advised rules log some. Let pass what the game needs, and then load the cap."},
	RconBruteforce: {Code: "RCN-07", One: "refused login", Many: "refused logins", Packets: "with guessed passwords",
		What:  "Somebody tries passwords of the remote console.",
		Apart: "A person who mistypes, or a tool with an old password, repeats one or two passwords; a guesser has many different ones.",
		Do:    "Load the advised rules with your own address let in before them, and let the console be reached through a VPN only. After a success, change the password now."},
	RconMisconfig: {Code: "RCN-10", One: "refused login", Many: "refused logins", Packets: "with an old password",
		What:  "A tool logs in to the remote console with the same wrong password again and again.",
		Apart: "A guesser tries different passwords.",
		Do:    "Find the tool by its address and correct its password: its noise hides guessers, and the server may ban it."},
	Scan: {Code: "DOS-N01", Packets: "in search of servers",
		What:  "One source asks many addresses and ports where nothing answers.",
		Apart: "A server browser asks servers from a public list, and most of these answer.",
		Do:    "Usually nothing. If it comes from your own network, look at that machine."},
	Survey: {Code: "DOS-N02", Packets: "to many servers",
		What:  "One source asks many servers, most of which answer: a browser, a census, a monitor.",
		Apart: "A scan finds silence at most addresses.",
		Do:    "Nothing. If it asks too often, talk to who runs it."},
	Crowd: {Code: "DOS-P02", Packets: "of many clients",
		What:  "Many clients ask at once: an event, a restart, a server list that was published.",
		Apart: "They bring challenges back, ask two or three times each, arrive independently of each other, and come from networks where clients live. An attack does not do all of that.",
		Do:    "Nothing to block. Let the server, or a cache, answer more."},
	Poller: {Code: "DOS-P01", Packets: "of few clients that ask often",
		What:  "One or a few programs ask more often than clients do: monitors, panels, list sites.",
		Apart: "They bring challenges back, and ask less than what opens flood_few.",
		Do:    "Nothing to block. Once in 10 seconds is enough for most monitors."},
	OpenAmplifier: {Code: "DOS-A01", Packets: "that were answered without a challenge",
		What:  "The server answers anybody, without a challenge, with more bytes than it was sent: it can be used against others.",
		Apart: "It is a fact about the server and no attack: answers to sources that proved nothing were counted. Those of one network (a /24, in IPv6 a /64) are one note.",
		Do:    "Make the server ask for a challenge, where its engine can, or limit its answers to each address."},
	OwnToolStorm: {Code: "DOS-F03", Packets: "of one's own tools",
		What: "Monitors, panels or bots that --own names send a server more queries than any client needs: a polling interval that is wrong, a retry without a pause, a second copy that nobody stopped.",
		Apart: "An address can be forged, so a query counts as one's own only if its source is one that --own names and brings back the challenges that this server gave to it alone, one for every two queries at least. " +
			"All else in the name of these addresses counts as anybody's, as does everything at a server that gives no challenge, and what others send at the same time is judged without one's own tools. " +
			"Below few_proven such a tool is the incident poller (DOS-P01).",
		Do: "Find the tool by its address, and let it ask less often: once in 10 seconds is enough for most monitors. Block nothing."},
	FloodCompleting: {Code: "DOS-F04", Packets: "of sources that complete each query",
		What: "Bots with addresses of their own bring back the challenge that the server gave them, as clients do, and go on asking. " +
			"Or one address has so many clients at once as no shared address has.",
		Apart: "A person asks once or a few times when choosing a server, and then plays or leaves. These ask again and again, each of them, for as long as the flood lasts; " +
			"they are more than a server has players and monitors together, or the server refuses part of what it is asked.",
		Do: "Load the advised rules: they limit each address and port, which spares players who share an address. Where the server's own limiter refuses clients, --limits shows which."},
	OtherFlood: {Code: "DOS-O01", Packets: "that are no queries",
		What: "A host with game servers gets many more packets of one class than usual that are no queries: TCP SYN, random UDP, fragments, ICMP, tunnels, " +
			"replies of amplifiers, or what clients of other games send.",
		Apart: "What the host answers is a session and counts as nothing: players and downloads are no flood. --explain lists from which rate on a class is one.",
		Do:    "Give your provider the target, the class and the rates: if the line is full, no filter on the host helps."},
}

// KindNamed returns the kind of that name in output; NoKind if there is none.
func KindNamed(name string) Kind { return Kind(max(slices.Index(kindNames[:], name), 0)) }
