package contradict

import (
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// inTags in B of Counts: the other count is that of the tags.
const inTags = 1 << 63

// Counts is raised where a server counts A players, and lists B, or has B in its tags.
var Counts = finding.Code{ID: "LIE-03", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "the count of players and the list of players, or the tags, differ by more than 2, three times in a row",
	Means: "one of both is not what is played: players are made up or hidden, by a plugin, a setting or something in between",
	Do:    "do not add such counts up; who runs the server looks which plugin or proxy writes the count",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B&inTags != 0 {
			return strconv.AppendUint(append(dst, " players by the count, and by the tags "...), e.B&^inTags, 10)
		}
		return strconv.AppendUint(append(dst, " players by the count, and in the list "...), e.B, 10)
	}}

// Unlisted is Counts where the list has one entry or none: A players are counted, B listed.
var Unlisted = finding.Code{ID: "LIE-09", Severity: finding.Note, Fault: finding.Server,
	Seen:  "players are counted, and the list of players is empty or has one entry, three times in a row",
	Means: "the server does not tell who plays, as some games and settings have it, or nobody plays",
	Do:    "do not take the list for complete, nor the count for proven",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return strconv.AppendUint(append(dst, " players by the count, and in the list "...), e.B, 10)
	}}

// Still is raised where the times of A players have not moved for B nanoseconds.
var Still = finding.Code{ID: "LIE-04", Severity: finding.Note, Fault: finding.Server,
	Seen:  "lists of players with the same times for minutes",
	Means: "the list is not made anew: a cache repeats an old one, or the players in it are not there",
	Do:    "compare with the game's own list of players; look whether something answers in the server's place",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the times of all "...), e.A, 10)
		return digits.AppendElapsed(append(dst, " players stand still for "...), int64(e.B), " ")
	}}

// Joint is raised where A players have all been there for B nanoseconds.
var Joint = finding.Code{ID: "LIE-05", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a list of 8 players or more who all came within 2 seconds, 10 minutes ago or longer, on a server that counts them as no bots",
	Means: "people do not come like that: they are bots that the server does not count as such, or its times begin with the map or a restart",
	Do:    "compare with another time of day; do not count them as people for certain",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "all "...), e.A, 10)
		return digits.AppendElapsed(append(dst, " players came at the same moment, before "...), int64(e.B), " ")
	}}

// Ghosts is raised where A entries of a list have no name, and all of them B nanoseconds or more.
var Ghosts = finding.Code{ID: "LIE-11", Severity: finding.Note, Fault: finding.Server,
	Seen:  "entries without a name in lists of players, three times in a row, that are older than everybody with a name and never leave",
	Means: "players who are gone, whose entries the server did not remove, as Squad's does after a lost connection: the list, and often the count, are too high until the server restarts",
	Do:    "owner: restart the server while it is empty; client: leave out entries without a name whose time is longer than that of all others, and show the count of the others",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, digits.Noun(e.A, " entry has no name, for ", " entries have no name, for ")...)
		return append(digits.AppendElapsed(dst, int64(e.B), " "), " or more, longer than anybody with a name"...)
	}}

// OneID is raised where servers at B addresses have one id; Addr is another one of them.
var OneID = finding.Code{ID: "LIE-06", Severity: finding.Note, Fault: finding.Server,
	Seen:  "servers at several addresses with one SteamID, or another id that each server has for itself",
	Means: "one server is reached at many addresses, as over a provider's network, or a list of servers has it several times",
	Do:    "count them as one server in lists and statistics",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "one id at "...), e.B, 10)
		return e.Addr.AppendTo(append(dst, " addresses or more, also at "...))
	}}

// Same is raised where a server counted A players for B nanoseconds, and never more or fewer.
var Same = finding.Code{ID: "LIE-07", Severity: finding.Note, Fault: finding.Server,
	Seen:  "the same count of 8 players or more for two hours, on a server that is not full",
	Means: "nobody came or left: a cache repeats an old answer, the players are bots that are not counted as such, or made up; rarely they idle",
	Do:    "compare with the list of players and its times",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, " players, neither more nor fewer, for "...), digits.Span(time.Duration(e.B))...)
	}}

// OneList is raised where servers at B addresses list the same A players; Addr is another one of them.
var OneList = finding.Code{ID: "LIE-08", Severity: finding.Note, Fault: finding.Server,
	Seen:  "servers at several addresses list the same players within a minute, 4 or more, and count them as no bots",
	Means: "nobody plays at several places: one server is reached at many addresses, or the list is copied",
	Do:    "count them as one server in lists and statistics",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the same "...), e.A, 10)
		dst = strconv.AppendUint(append(dst, " players at "...), e.B, 10)
		return e.Addr.AppendTo(append(dst, " addresses or more, also at "...))
	}}

// Codes lists the findings of this package.
var Codes = []*finding.Code{&Counts, &Still, &Joint, &OneID, &Same, &OneList, &Unlisted, &Ghosts}
