package a2s

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

var (
	codeRetryPayload = finding.Code{ID: "A2S-C02", Severity: finding.Error, Fault: finding.Client,
		Seen:   "A2S_INFO with a challenge but without the text \"Source Engine Query\"",
		Means:  "the retry lost its payload: A2S_INFO wants the text and the challenge after it; only A2S_PLAYER and A2S_RULES carry the challenge alone",
		Owner:  "nothing: engines are right to ignore this request",
		Client: "append the four challenge bytes to the first request and send that",
		Ref:    "Valve developer wiki, Server queries",
		Format: "A2S_INFO {a?without its text \"Source Engine Query\"|with the challenge before its text|with the challenge in place of the text's NUL}, at byte {b}: it wants the text, its NUL and then the challenge"}
	codeBadChallenge = finding.Code{ID: "A2S-C05", Severity: finding.Error, Fault: finding.Client,
		Seen:   "a request whose challenge is not 4 bytes",
		Means:  "the client formats the challenge wrongly, often as text, or sends the whole reply back; servers that check challenges do not accept it",
		Owner:  "nothing: no setting makes a challenge of another length valid",
		Client: "send the four bytes that follow 0x41 in the server's reply, and no more",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "challenge of "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = e.Place.AppendAt(append(dst, digits.Noun(e.A, " byte", " bytes")...))
			if e.B != 0 {
				dst = append(dst, ", the text \""...)
				for v := e.B; v != 0; v >>= 8 {
					dst = append(dst, byte(v))
				}
				if e.A > 8 {
					dst = append(dst, "..."...)
				}
				dst = append(dst, '"')
			}
			return append(dst, ", 4 are expected"...)
		}}
	codePadded = finding.Code{ID: "A2S-C11", Severity: finding.Note, Fault: finding.Client,
		Seen:   "a request padded with zeros",
		Means:  "the scheme against amplification that Steam tried in November 2020, or a proxy's; some filters drop it",
		Owner:  "look whether a filter before the server drops requests of this length",
		Client: "send requests without padding: A2S_INFO of 25 bytes or 29, the others of 9",
		Format: "request padded with {a} zero bytes from byte {byte} on"}
	codeCount = finding.Code{ID: "A2S-S07", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "the declared count differs from the entries in the reply",
		Means:  "the engine cut the list at its buffer's end, or counts players who are still joining; one or two missing players are usual",
		Owner:  "nothing where one or two players are missing; otherwise look for a plugin that writes the count, or a cache that cuts replies",
		Client: "trust the entries, not the count: read them until the reply ends",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(e.Place.Append(dst), " says "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, ", the reply holds "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			if e.B == 1 {
				return append(dst, " whole entry"...)
			}
			return append(dst, " whole entries"...)
		}}
	codeWrongLetter = finding.Code{ID: "A2S-S09", Severity: finding.Error, Fault: finding.Server,
		Seen:   "a reply with the letter of S2A_RULES that holds four bytes, as a challenge has",
		Means:  "clients read it as what its letter says and fail: a modified server or a cache in front of it mixes its replies up",
		Owner:  "look for plugins and caches that answer queries: one mixes its replies up",
		Client: "ask once more, as such servers are often right the second time",
		Format: "the letter 0x45 of S2A_RULES, and from byte {byte} on four bytes, as a challenge has: no rule fits in them"}
	codeGarbage = finding.Code{ID: "A2S-S10", Severity: finding.Error, Fault: finding.Server,
		Seen:   "an answer of zeros, or one whose header FF FF FF FF is there twice",
		Means:  "a plugin, proxy or cache writes replies wrongly: clients that look at the first bytes drop them",
		Owner:  "look for what answers queries in place of the engine",
		Client: "skip a second header; drop zeros, which hold nothing, and ask again",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == garbageDoubled {
				return e.Place.AppendAt(append(dst, "the header FF FF FF FF is there twice, again"...))
			}
			dst = strconv.AppendUint(dst, e.B, 10)
			return append(dst, " bytes of zero in place of an answer, from the first on"...)
		}}
	codeBinary = finding.Code{ID: "A2S-S11", Severity: finding.Note, Fault: finding.Server,
		Seen:   "rules whose names are binary page numbers, or whose text is not UTF-8",
		Means:  "Arma 3 and DayZ put escaped binary data into the rules; a client that treats them as text breaks it",
		Owner:  "nothing: the game writes its rules like this",
		Client: "read names and values as bytes, and decode as text only what is text",
		Format: "{a} {a:rule carries|rules carry} binary data in place of text, the first at byte {b}"}
	codeLimit = finding.Code{ID: "A2S-S12", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "players or slots at 255, keywords with more than a byte holds, or (a note) more players than slots",
		Means:  "the counts are one byte and wrap; the true ones may stand in the keywords; where only the slots are exceeded the server may as well count who waits, holds a reserved slot or is a bot",
		Owner:  "nothing: the counts have one byte each; a game with more players writes the true ones into the keywords",
		Client: "read the keywords (Rust: cp and mp); else show the counts as they are, and compute no share of free slots from them",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.A&0xff, 10)
			dst = append(dst, " players of "...)
			dst = strconv.AppendUint(dst, e.B&0xff, 10)
			dst = append(e.Place.Append(append(dst, " ("...)), ')')
			if max(e.A, e.B) < byteLimit {
				return append(dst, ": more than slots; who waits may be counted, or a one-byte count wrapped"...)
			}
			dst = append(dst, ": one-byte counts at their limit, or wrapped"...)
			if e.A>>8|e.B>>8 == 0 {
				return dst
			}
			dst = append(dst, "; the keywords say "...)
			dst = strconv.AppendUint(dst, keywordCount(e.A), 10)
			dst = append(dst, " of "...)
			dst = strconv.AppendUint(dst, keywordCount(e.B), 10)
			return dst
		}}
	codePages = finding.Code{ID: "A2S-S14", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "pages of binary rules are missing, or contradict each other",
		Means:  "the server dropped rules to make the reply fit, or numbers its pages wrongly; the lists of mods and keys are not complete",
		Owner:  "load fewer mods, or shorten the rules, until all pages fit",
		Client: "read the pages up to the gap, and say that the list is not complete",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == e.B {
				return append(e.Place.Append(append(dst, "a page of the binary rules in "...)), " is there twice, or counted differently: the first of each was read"...)
			}
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, " of "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			dst = append(dst, " binary pages can be read: page "...)
			dst = strconv.AppendUint(dst, e.A+1, 10)
			return e.Place.Append(append(dst, " is missing or cut in "...))
		}}
	codeDamage = finding.Code{ID: "A2S-S15", Severity: finding.Error, Fault: finding.Server,
		Seen:   "the data in the binary pages of the rules contradicts itself",
		Means:  "a length or a count in it leads beyond its end: no client can read the rest",
		Owner:  "look for a proxy or cache that rewrites rules; else tell the maker of the game",
		Client: "keep the values before that byte, and believe no length that leads beyond the end",
		Format: "binary rules can be read up to byte {a} of {b}, {field}: the next value leads beyond the end"}
	codeEDF = finding.Code{ID: "A2S-S13", Severity: finding.Error, Fault: finding.Server,
		Seen:   "the extra data flags announce a field that is cut, or bytes follow that no flag announces",
		Means:  "the reply was built or cached wrongly, often one byte short",
		Owner:  "look for a cache or plugin that answers in place of the engine, and show its author the bytes named here",
		Client: "read the fields in the order of the flags up to the one that is cut, keep what came before it, and skip bytes after the last one",
		Text: func(dst []byte, e *finding.Expert) []byte {
			x, ok := announcedBy(e)
			if !ok {
				dst = strconv.AppendUint(dst, e.B, 10)
				dst = append(dst, digits.Noun(e.B, " byte", " bytes")...)
				return appendFlags(append(dst, " after the fields that "...), e, " announces")
			}
			dst = append(appendFlags(dst, e, " announces "), x.def.Name...)
			if x.size == 0 {
				dst = append(dst, ", a text"...)
			} else {
				dst = strconv.AppendUint(append(dst, ", "...), uint64(x.size), 10)
				dst = append(dst, " bytes"...)
			}
			dst = strconv.AppendUint(append(dst, " from byte "...), e.B, 10)
			return strconv.AppendUint(append(dst, " on; the reply has "...), uint64(e.Place.Ends), 10)
		}}
)

// A of A2S-C02, B is where it is so: what is wrong with the request.
const (
	retryWithoutText = iota
	retryTextLast
	retryWithoutNUL
)

// A of A2S-S10: what is wrong with the reply.
const (
	garbageZeros = iota
	garbageDoubled
)

// keywordCount is what the keywords count where that is more than a byte holds: it
// stands after the byte in a value of codeLimit. Otherwise it is the byte.
func keywordCount(v uint64) uint64 {
	if v>>8 != 0 {
		return v >> 8
	}
	return v
}

var codes = []*finding.Code{&codeIgnored, &codeForeign, &codeSwapped, &codeRotates, &codeUnheeded, &codeShared,
	&codeUnused, &codeVain, &codeEager, &codeMixed, &codeDemanded,
	&codeTwoForms, &codePartial, &codeRuleless, &codeRetryPayload, &codeBadChallenge, &codePadded,
	&codeCount, &codeWrongLetter, &codeGarbage, &codeBinary, &codePages, &codeDamage, &codeLimit, &codeEDF}

// codeUnused is raised by a challenge that a client need not have asked for: A is the one that
// it had, B the time since the server accepted that, in nanoseconds.
var codeUnused = finding.Code{ID: "A2S-C06", Severity: finding.Note, Fault: finding.Client,
	Seen:   "a request for players or rules asks for a challenge, less than 30 s after the server accepted one from the same socket",
	Means:  "each such query takes a round trip more than it needs: servers give a challenge to an address, and it is good for all queries",
	Owner:  "nothing: a server gives a challenge to each request that lacks one",
	Client: "keep the last challenge of each server and send it at once; if the server answers with another, send that",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendMillis(append(dst, "asks for a challenge "...), e.B)
		dst = appendChallenge(append(dst, " after the server accepted "...), e.A)
		return append(dst, " from this socket"...)
	}}

// codeVain is raised when a client asks again for what its server never sends: A requests of all
// clients stayed without an answer; B is ofRules if they are for rules, and else 0.
var codeVain = finding.Code{ID: "A2S-C08", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "a client asks again for players or rules, which the server has sent to nobody in this capture, while it answers requests for information",
	Means:  "each refresh waits until the client's time-out for a reply that this server does not send, and the server may be shown as offline",
	Owner:  "switch the part on if clients should see it (host_players_show, host_rules_show), and let its replies pass filters",
	Client: "make that part optional: show the information as it comes, and do not ask such a server for the rest each time",
	Text: func(dst []byte, e *finding.Expert) []byte {
		what := "players"
		if e.B == ofRules {
			what = "rules"
		}
		dst = append(append(dst, "waits in vain for "...), what...)
		dst = strconv.AppendUint(append(dst, ": the server answered none of "...), e.A, 10)
		return finding.AppendUnsure(append(dst, " such requests of anybody, and does answer requests for information"...), e)
	}}

// codeEager is raised by a request that comes too soon after an equal one: A is the time between
// them, B the time that 5 % of the answers exceed, both in nanoseconds; B is 0 if the least time
// decided, and dissect.ThirdRequest if the request is the third of a second.
var codeEager = finding.Code{ID: "A2S-C09", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "a request is repeated before most answers of this server come, or three times within a second, without a reply in between",
	Means:  "the copies count in the limits of the engine, which takes them for a flood and answers less; nothing is won, as the answer is on its way",
	Owner:  "look what delays the answers, if they take long; otherwise nothing, as a limit is right to count the copies",
	Client: "wait a second or more before each repetition, longer each time, and repeat two or three times at most",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.B {
		case 0:
			dst = appendMillis(append(dst, "repeated after "...), e.A)
		case dissect.ThirdRequest:
			dst = append(dst, "the third equal request within a second"...)
		default:
			dst = appendMillis(append(dst, "repeated after "...), e.A)
			dst = appendMillis(append(dst, ", while 5 % of the answers of this server take more than "...), e.B)
		}
		return finding.AppendUnsure(append(dst, ", without a reply in between"...), e)
	}}

// codeMixed is raised by a request that brings back an older challenge after a newer one, both
// given for one query: A is the older one, B the newer.
var codeMixed = finding.Code{ID: "A2S-C10", Severity: finding.Error, Fault: finding.Client,
	Seen:   "two equal queries of one socket wait at a time, the server sends a challenge to each, and they come back in the opposite order",
	Means:  "several queries to one server share a socket, and each takes the reply that comes next, whose ever it is: answers reach the wrong query or none",
	Owner:  "nothing: each answer goes to the socket that asked",
	Client: "use a socket for each query, or give each reply to the query that its kind and challenge belong to",
	Format: "challenge {a.int} was given before {b.int} and comes back after it: two equal queries share a socket"}

// appendMillis appends a time in nanoseconds as milliseconds.
func appendMillis(dst []byte, nanos uint64) []byte {
	return append(digits.AppendMillis(dst, int64(nanos)), " ms"...)
}

// pairCodes are the findings that several messages of this protocol show together.
// The exchanges and the servers that they belong to are kept elsewhere.
var pairCodes = dissect.PairCodes{
	Ignored: &codeIgnored, Foreign: &codeForeign, Swapped: &codeSwapped, Rotates: &codeRotates,
	Unheeded: &codeUnheeded, Shared: &codeShared, TwoForms: &codeTwoForms,
	Partial: &codePartial, Ruleless: &codeRuleless,
	Unused: &codeUnused, Vain: &codeVain, Eager: &codeEager, Mixed: &codeMixed, Demanded: &codeDemanded, WrongPort: &dissect.WrongPort,
}

// ofRules is B of codePartial and codeVain where they are about rules.
const ofRules = 1

// codeIgnored is raised by a request without the challenge that the client was given:
// A is the challenge, B the time since in nanoseconds. In A << 32 is how many in a row the client did
// not bring back, if that is what shows it.
var codeIgnored = finding.Code{ID: "A2S-C01", Severity: finding.Error, Fault: finding.Client,
	Seen:   "a client that was given a challenge sends the plain request again, at once or each time it asks",
	Means:  "the client does not know that a request can be answered with a challenge, or never reads it: the server works, and will not answer it; or its requests with the challenge are lost before the place of this capture. Who asks in the name of that address, and slowly, looks the same: only a challenge that comes back shows who asks; more than sixteen such a minute at one server are taken for that, or for a scan, and not reported",
	Owner:  "nothing: its challenge keeps forged addresses out, and the client has to return it",
	Client: "read the 0x41 reply and send its four bytes with the next request: after the text of A2S_INFO, in place of FF FF FF FF for players and rules; update a panel or monitor that does not",
	Ref:    "Valve developer wiki, Server queries",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if n := e.A >> 32; n > 0 {
			dst = strconv.AppendUint(dst, n, 10)
			dst = strconv.AppendUint(append(dst, " challenges in a row not brought back: plain request again "...), e.B/1e6, 10)
			return finding.AppendUnsure(append(dst, " ms after the last of them"...), e)
		}
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = strconv.AppendUint(append(dst, " ignored: plain request "...), e.B/1e6, 10)
		return append(dst, " ms after it"...)
	}}

// codeForeign is raised by a request with a challenge that the server did not give to
// this client: A is the one that it gave, B the one sent.
var codeForeign = finding.Code{ID: "A2S-C03", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "a request with another challenge than the one that its client was just given",
	Means:  "a stale cache, damage on the way through the client's code, or a challenge of another server; the server will not answer it",
	Owner:  "nothing while it is one client; if it is many, look for a proxy that mixes their challenges up",
	Client: "send back the challenge of the last 0x41 reply from the same server to the same socket",
	Format: "challenge {b.int} was not given to this client, {a.int} was"}

// codeSwapped is raised by a request whose challenge is the one given with its bytes in
// the opposite order: A is the one given, B the one sent.
var codeSwapped = finding.Code{ID: "A2S-C04", Severity: finding.Error, Fault: finding.Client,
	Seen:   "the challenge comes back with its bytes in the opposite order",
	Means:  "the client reads it as a number in one byte order and writes it in the other",
	Owner:  "nothing: the four bytes left the server in the right order",
	Client: "copy the four bytes as they came; they mean nothing to a client",
	Format: "challenge {a.int} sent back in the opposite byte order: {b.int}"}

// codeRotates is raised by a challenge that answers the right challenge: A is the one
// brought back, B the new one.
var codeRotates = finding.Code{ID: "A2S-S03", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "a request with the right challenge is answered with a different challenge",
	Means:  "challenges live very short, several engines share the address, or a proxy has its own",
	Owner:  "make challenges last longer than a round trip, and have one program give them out",
	Client: "send the new challenge back, for a bounded number of rounds",
	Format: "challenge {a.int} came back and is answered with another: {b.int}"}

// codeUnheeded is raised when A exchanges in a row with one valid challenge ended
// without an answer, and the server answered others meanwhile.
var codeUnheeded = finding.Code{ID: "A2S-S02", Severity: finding.Error, Fault: finding.Server,
	Seen:   "requests with a valid challenge stay without an answer, while the server answers others, or gives this client further challenges",
	Means:  "the server, or a filter in front of it, drops the request with the challenge, which is longer than the one without",
	Owner:  "let requests of 29 bytes for A2S_INFO and of 9 for the others pass; look which filter before the server drops them",
	Client: "ask once more with a new challenge; then show the server as alive without details, since its challenges come",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, " times no answer to the valid challenge within 3 s, while the server "...)
		if e.B == dissect.UnheededAlone {
			return finding.AppendUnsure(append(dst, "goes on giving challenges"...), e)
		}
		return finding.AppendUnsure(append(dst, "answers others"...), e)
	}}

// codeShared is raised when a server gives many addresses one challenge: A is the
// challenge, B how often it was given << 32 and of how many challenges.
var codeShared = finding.Code{ID: "A2S-S04", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "one challenge is given to many addresses",
	Means:  "who knows it can ask with forged addresses: it proves nothing, and the server can be used against others",
	Owner:  "update the plugin, cache or server that gives the challenges; its authors derive them from the client's address and a secret that changes",
	Client: "nothing: a challenge that others know, too, is sent back like any other",
	Format: "challenge {a.int} is given to all: {b.high} of {b.low} challenges"}

// codePartial is raised when A valid requests for players, or for rules where players
// are not answered either, stay without an answer; B is ofRules for the latter.
var codePartial = finding.Code{ID: "A2S-S05", Severity: finding.Note, Fault: finding.Server,
	Seen:   "valid requests for players or rules stay without an answer, from several addresses, and the server answers requests for information",
	Means:  "the server does not tell them (host_players_show, host_rules_show, or a rule of its engine), or the reply is too long for the path",
	Owner:  "look for replies that IP fragments, and at the settings for players and rules (host_players_show, host_rules_show)",
	Client: "make that part optional, and do not call the server offline",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B == ofRules {
			dst = append(dst, " valid requests for rules"...)
		} else {
			dst = append(dst, " valid requests for players"...)
		}
		return finding.AppendUnsure(append(dst, " without an answer, while the server answers requests for information"...), e)
	}}

// codeRuleless is codePartial where only the rules are missing: A is how many valid
// requests stay without an answer.
var codeRuleless = finding.Code{ID: "A2S-S06", Severity: finding.Note, Fault: finding.Server,
	Seen:   "valid requests for rules stay without an answer, from several addresses, and the server answers requests for information",
	Means:  "rules are often too long: some engines drop what does not fit one packet",
	Owner:  "shorten the rules until they fit one packet",
	Client: "show the server without its rules; do not wait for them before showing the rest",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return finding.AppendUnsure(append(dst, " valid requests for rules without an answer, while the server answers requests for information"...), e)
	}}

// codeDemanded is raised by the first challenge of a server in place of information.
var codeDemanded = finding.Code{ID: "A2S-S01", Severity: finding.Chat, Fault: finding.Server,
	Seen:   "a request for information is answered with a challenge",
	Means:  "the server sends information only to who proves to be at its address, so that it cannot be used against others; old clients cannot read that",
	Owner:  "nothing: so the server cannot be used against others",
	Client: "send the request once more with the challenge at its end",
	Ref:    "Valve developer wiki, Server queries",
	Format: "this server demands a challenge for information"}

// codeTwoForms is raised by the second of two replies to one request for information.
var codeTwoForms = finding.Code{ID: "A2S-S08", Severity: finding.Note, Fault: finding.Server,
	Seen:   "one request for information, replies in two forms",
	Means:  "the server speaks to old and new clients at once, as with dproto or ReUnion",
	Owner:  "switch the old form off in the module (dproto, ReUnion), unless old clients should see the server",
	Client: "take the last reply with the letter I, and do not fail at the other",
	Format: "a further form of the answer to the same request"}

// appendChallenge appends a challenge as renderers show it.
func appendChallenge(dst []byte, v uint64) []byte {
	return strconv.AppendInt(dst, int64(int32(v)), 10)
}
