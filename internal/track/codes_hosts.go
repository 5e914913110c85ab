package track

import (
	"strconv"

	"qsniff/dissect/finding"
)

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
