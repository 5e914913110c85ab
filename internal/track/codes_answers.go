package track

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

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
