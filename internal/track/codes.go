package track

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// CaptureDamaged is raised where a stretch of a capture could not be read: A is the number of
// bytes that were skipped. The detail is where and why.
var CaptureDamaged = finding.Code{ID: "CAP-01", Severity: finding.Warn, Fault: finding.Capture,
	Seen:  "a part of the capture file could not be read",
	Means: "packets are missing: what looks like loss or silence after this place may be the file's fault",
	Do:    "capture again, or copy the file again: it is cut, or bytes in it are corrupted",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "capture incomplete: "...)
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, digits.Noun(e.A, " byte", " bytes")...), " could not be read, packets are missing: "...)
	}}

// Refused is raised by an ICMP error that quotes a query or a reply: A is its
// type and B its code. The detail is their meaning and the quoted packet.
var Refused = finding.Code{ID: "NET-04", Severity: finding.Error, Fault: finding.Server,
	Seen:  "an ICMP error that quotes a query or a reply",
	Means: "it did not arrive: of a query, nothing listens on that port, or a firewall rejects it; of a reply, the client has closed its port, often because it stopped waiting",
	Do:    "of a query, check the port (the query port is often not the game port), whether the server runs, and the firewall of the host that sent the error; of a reply, look how late it was",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "ICMP error: "...)
	}}

// LateReply is raised by a reply that came after the wait for it was over: A is the time since
// the last request, in nanoseconds.
var LateReply = finding.Code{ID: "NET-05", Severity: finding.Note, Fault: finding.Path,
	Seen:  "a reply more than 3 s after the last request that it can answer",
	Means: "most clients have stopped waiting by then, and show the server as offline though it answers",
	Do:    "look for the delay on the path or in the server, or raise the client's time-out",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "reply "...), e.A/1e6, 10)
		return append(dst, " ms after the last request"...)
	}}

// Elsewhere is raised by a reply from another address or port than the one that the
// client asked: Addr is its source, A the time since the request in nanoseconds.
var Elsewhere = finding.Code{ID: "NET-01", Severity: finding.Error, Fault: finding.Server,
	Seen:  "a reply to what a client asked, from another address or port than the one it asked",
	Means: "the server has several addresses and answers from the wrong one, or NAT changes the port; most clients drop such a reply, and firewalls do",
	Do:    "bind the server to the address that clients ask, or let the router translate replies back",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = e.Addr.AppendTo(append(dst, "a reply came from "...))
		dst = append(dst, ", which this client did not ask, "...)
		dst = strconv.AppendUint(dst, e.A/1e6, 10)
		return finding.AppendUnsure(append(dst, " ms after the request"...), e)
	}}

// Codes lists the findings of this package. Findings that belong to a protocol are declared
// by the protocol, see dissect.PairCodes.
var Codes = []*finding.Code{&CaptureDamaged, &Refused, &LateReply, &Elsewhere, &OtherGamePort, &OneAddress, &ForeignPort, &Misfit, &SentBack, &RefusedInWords, &RefusedForPace, &OpenAmplifier, &ObsoleteAmplifier, &ManyAnswers,
	&Cached, &Reframed, &Unrequested, &MonitorUnanswered}

// The signs in A of Cached.
const (
	CacheTTL      = 1 << iota // the TTL of answers is not that of challenges
	CacheFast                 // answers come before the server can have been asked
	CachePeriod               // the same bytes for a fixed time, again and again
	CacheOutlived             // an answer from before a change of the map
)

// Cached is raised where something answers in the place of a server: A is the signs, the TTL of
// an answer << 8, that of a challenge << 16, and for how many milliseconds bytes stay the same <<
// 32. B is the time of an answer << 32 and the shortest of a challenge, in microseconds.
var Cached = finding.Code{ID: "MBX-01", Severity: finding.Note, Fault: finding.Middlebox,
	Seen: "answers to requests for information differ from the server's challenges in at least two ways: their TTL, a time of answer " +
		"shorter than the path, the same bytes for a fixed time, a map that the server left before",
	Means: "a cache or a proxy in front of the server answers: players and map may be old, and an answer does not show that the server is up",
	Do:    "for the state of the server ask for what is not cached, as players, or ask on the server's side of the cache; keep its time to live short",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "answered in the server's place"...)
		if e.A&CacheTTL != 0 {
			dst = strconv.AppendUint(append(dst, ", TTL "...), e.A>>8&0xff, 10)
			dst = strconv.AppendUint(append(dst, " where challenges have "...), e.A>>16&0xff, 10)
		}
		if e.A&CacheFast != 0 {
			dst = digits.AppendElapsed(append(dst, ", after "...), int64(e.B>>32*1e3), " ")
			dst = digits.AppendElapsed(append(dst, " where a challenge takes "...), int64(e.B&0xffff_ffff*1e3), " ")
			dst = append(dst, " at least"...)
		}
		if e.A&CacheOutlived != 0 {
			dst = append(dst, ", with a map that the server had left"...)
		}
		if e.A&CachePeriod == 0 {
			return append(dst, ": how old its numbers are is not known"...)
		}
		period := int64(e.A >> 32 * 1e6)
		dst = digits.AppendElapsed(append(dst, ", the same bytes for "...), period, " ")
		return digits.AppendElapsed(append(dst, " each time: its numbers may be stale by "...), period, " ")
	}}

// What A of Reframed says the forms differ in.
const (
	ReframedFields = 1 + iota // the fields that follow: B is two numbers of the protocol, one << 32
	ReframedHeader            // the header of parts: B is two engines << 16 | sizes, one << 32
	ReframedSplit             // B is the bytes of a split answer << 32, and of one as long or longer in one datagram
)

// Reframed is raised where a server's answers come in two forms by turns.
var Reframed = finding.Code{ID: "MBX-02", Severity: finding.Note, Fault: finding.Middlebox,
	Seen:  "answers of one server to one kind of query come in two forms by turns, or split although others as long come whole",
	Means: "something on the way, as a filter or a proxy of the provider, writes answers of its own; clients that expect the game's form may fail",
	Do:    "compare with a capture at the server; ask the provider what answers queries in the server's place",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.A {
		case ReframedSplit:
			dst = strconv.AppendUint(append(dst, "an answer of "...), e.B>>32, 10)
			dst = strconv.AppendUint(append(dst, " bytes comes in parts, and one of "...), e.B&0xffff_ffff, 10)
			return append(dst, " bytes of the same kind in one datagram"...)
		case ReframedHeader:
			dst = strconv.AppendUint(append(dst, "answers come by turns in parts of "...), e.B>>32&0xffff, 10)
			dst = strconv.AppendUint(append(dst, " and of "...), e.B&0xffff, 10)
			return append(dst, " bytes, or with headers of two engines"...)
		}
		dst = strconv.AppendUint(append(dst, "answers come by turns with the optional fields 0x"...), e.B>>32, 16)
		return strconv.AppendUint(append(dst, " and 0x"...), e.B&0xffff_ffff, 16)
	}}

// Unrequested is raised where a server sends A replies within B nanoseconds to a host that asked
// nobody.
var Unrequested = finding.Code{ID: "LIE-01", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "at least 5 replies with information within a second, from one server to a host that asked no server in the 10 s before",
	Means: "replies that nobody requested make a server look near or full in some clients, or somebody asks in the host's name; they can be forged, too",
	Do:    "capture at the server: requests in the host's name there mean reflection, none that it sends by itself or that the replies are forged",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = strconv.AppendUint(append(dst, " replies with information within "...), e.B/1e6, 10)
		return finding.AppendUnsure(append(dst, " ms, to a host that asked nobody in the 10 s before"...), e)
	}}

// ManyAnswers is raised where a server sends A answers to one question.
var ManyAnswers = finding.Code{ID: "LIE-10", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "at least 10 answers to one question of a client",
	Means: "the server, or something before it, sends its answer again and again, so that one is there when the next question comes: browsers then show a ping that is far too low, and whoever forges an address gets as many answers sent there",
	Do:    "owner: take the module that does so off, as server lists remove servers for it; client: take the first answer to each question for its time, open a new socket for the next question, and drop what comes in between",
	Text: func(dst []byte, e *finding.Expert) []byte {
		return append(strconv.AppendUint(dst, e.A, 10), " answers to one question"...)
	}}

// MonitorUnanswered is raised where A polls in a row of one client stay without an answer, one
// every B nanoseconds, and the server answers others meanwhile.
var MonitorUnanswered = finding.Code{ID: "MON-01", Severity: finding.Warn, Fault: finding.Path,
	Seen:  "polls that come at a fixed time stay without an answer, and the server answers the same question of others between them",
	Means: "the client, as a monitor, takes a server for dead that works: a filter or a limit drops its requests, or they get lost",
	Do:    "do not restart the server for that; let the monitor's address pass, and have it wait longer; qsniff polls shows what became of its requests",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = digits.AppendElapsed(append(dst, " polls in a row without an answer, one every "...), int64(e.B), " ")
		return finding.AppendUnsure(append(dst, ", while the server answers others"...), e)
	}}

// OtherGamePort is raised by a reply from port A that names port B as the game's.
var OtherGamePort = finding.Code{ID: "NET-02", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a reply that names another port for the game than the one that it came from",
	Means: "queries and players use different ports, as many games have it (DayZ, Rust, ARK, Unturned); or a router translates the port, or the server names a wrong one",
	Do:    "query the port that answers, and show players the port in the reply; where the game has one port for both, look for address translation before the server",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "port "...), e.A, 10)
		dst = strconv.AppendUint(append(dst, " answers queries and names port "...), e.B, 10)
		return append(dst, " for the game"...)
	}}

// OneAddress is raised when all A answers of a server went to one private address, Addr, at B
// ports or more.
var OneAddress = finding.Code{ID: "NET-03", Severity: finding.Warn, Fault: finding.Middlebox,
	Seen:  "all queries that a server answered came from one private address, from several ports",
	Means: "if more than one client asks, a bridge of containers or a proxy before the server replaces their addresses: limits by address then take all clients for one, and bans hit all",
	Do:    "give the container the network of its host, or have the proxy keep the clients' addresses; if this is one program that asks from a new port each time, nothing is wrong",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "all "...), e.A, 10)
		dst = e.Addr.Addr().AppendTo(append(dst, " queries answered so far came from the private address "...))
		dst = strconv.AppendUint(append(dst, ", from at least "...), e.B, 10)
		return append(dst, " ports"...)
	}}

// ForeignPort is raised by a message of another protocol at a port B where one of ours usually
// is. A is the protocol's name, its first letter in the lowest byte.
var ForeignPort = finding.Code{ID: "CAP-02", Severity: finding.Note, Fault: finding.Capture,
	Seen:  "messages of another protocol at a port where query servers usually are",
	Means: "another program uses the port: what is there is not decoded, and counts as traffic of other protocols",
	Do:    "leave the port out with a capture filter, or name the right port of the server with -d",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "port "...), e.B, 10)
		dst = append(dst, ", where query servers usually are, has messages of "...)
		for v := e.A; v != 0; v >>= 8 {
			dst = append(dst, byte(v))
		}
		return dst
	}}

// Misfit is raised by a datagram whose UDP length does not fit its IP packet.
var Misfit = finding.Code{ID: "NET-09", Severity: finding.Error, Fault: finding.Client,
	Seen:  "a datagram whose length in the UDP header is 0 over IPv4, or above what its IP packet has",
	Means: "the receiver's system drops it (Linux does) and no program gets it: it is no request of an exchange, and its answer does not come",
	Do:    "look at the program that made the packet; a server's own socket sends no such datagrams, so it was made by hand, or something on the way changed it",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "the UDP length does not fit the IP packet: the receiver drops it"...)
	}}

// SentBack is raised by a datagram of B bytes that begins with all bytes of the request before it, which
// has A.
var SentBack = finding.Code{ID: "NET-10", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a datagram that begins with the bytes of the request before it",
	Means: "an echo service is at the port, or a server of another engine that puts the request before its reply (Cube 2, AssaultCube): it does not speak the protocol that it was asked in; an attacker who forges addresses gets as many bytes sent there",
	Do:    "ask another port, or in the protocol of that game; switch an echo service off",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the request of "...), e.A, 10)
		dst = append(dst, " bytes was sent back"...)
		if e.B > e.A {
			dst = strconv.AppendUint(append(dst, " with "...), e.B-e.A, 10)
			dst = append(dst, " bytes of another protocol after it"...)
		}
		dst = append(dst, ": "...)
		dst = strconv.AppendFloat(dst, float64(e.B)/float64(max(e.A, 1)), 'f', 2, 64)
		return append(dst, " times its bytes"...)
	}}

// RefusedInWords is raised by a text that a server sends in place of an answer. The detail is the text.
var RefusedInWords = finding.Code{ID: "NET-11", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "a text for the console, in place of the answer to a query",
	Means: "the server refuses this client, and says why: most often its address is banned, which nobody sees in a server browser, where the server only looks offline",
	Do:    "owner: remove the ban of the address if it is a monitor's (removeip ADDRESS, listip); client: show the text, and count the query as refused, not as lost",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "the server refused"...)
	}}

// RefusedForPace is RefusedInWords where the text says that the client asks too often.
var RefusedForPace = finding.Code{ID: "NET-12", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "a text for the console, in place of the answer to a query, that says that the client asks too often",
	Means: "the server limits how often an address may ask; several programs behind one address count as one",
	Do:    "client: ask less often, and wait after such a text; owner: raise the limit (sv_max_queries_sec) if the client is a monitor of yours",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "the server refused, as the client asks too often"...)
	}}

// OpenAmplifier is raised by answers to requests without a challenge, from addresses that had
// proven nothing: A is how many << 8 and the index of their kind, B a hundred times the bytes that
// went out for each byte of the requests.
var OpenAmplifier = finding.Code{ID: "DOS-A01", Severity: finding.Error, Fault: finding.Server,
	Seen:  "at least 20 full answers of one kind to at least 3 addresses that had brought no challenge back, with more bytes than the requests",
	Means: "whoever forges an address can have these answers sent there: the server can be used against others",
	Do:    "have the server demand a challenge for this kind of query, or a cache before it that does; qsniff floods has the rules that limit the answers until then",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A>>8, 10)
		dst = append(append(dst, " answers with "...), [...]string{"information", "players", "rules"}[min(e.A&0xff, queryRules)]...)
		return appendGain(dst, e.B)
	}}

// ObsoleteAmplifier is OpenAmplifier for answers to obsolete requests.
var ObsoleteAmplifier = finding.Code{ID: "DOS-A02", Severity: finding.Error, Fault: finding.Server,
	Seen:  "at least 20 answers to obsolete requests of at least 3 addresses, with more bytes than the requests",
	Means: "these requests cannot bring a challenge: whoever forges an address can have the answers sent there",
	Do:    "update the server or proxy, or drop such requests before it: clients of today do not send them",
	Text: func(dst []byte, e *finding.Expert) []byte {
		return appendGain(append(strconv.AppendUint(dst, e.A>>8, 10), " answers to obsolete requests"...), e.B)
	}}

// appendGain appends to whom answers went, and how many bytes for each one of the requests: a
// hundredth of gain.
func appendGain(dst []byte, gain uint64) []byte {
	dst = append(dst, " went to at least 3 addresses that had proven nothing, "...)
	dst = strconv.AppendFloat(dst, float64(gain)/100, 'f', 2, 64)
	return append(dst, " times the bytes of the requests"...)
}
