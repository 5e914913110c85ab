package a2s

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

var (
	codeRetryPayload = finding.Code{ID: "A2S-C02", Severity: finding.Error, Fault: finding.Client,
		Seen:  "A2S_INFO with a challenge but without the text \"Source Engine Query\"",
		Means: "the retry lost its payload: A2S_INFO wants the text and the challenge after it; only A2S_PLAYER and A2S_RULES carry the challenge alone",
		Do:    "append the four challenge bytes to the first request and send that",
		Ref:   "Valve developer wiki, Server queries",
		Text: func(dst []byte, _ *finding.Expert) []byte {
			return append(dst, "A2S_INFO without its text \"Source Engine Query\", or with the challenge in the wrong place: it belongs after the text's NUL"...)
		}}
	codeBadChallenge = finding.Code{ID: "A2S-C05", Severity: finding.Error, Fault: finding.Client,
		Seen:  "a request whose challenge is not 4 bytes",
		Means: "the client formats the challenge wrongly, often as text, or sends the whole reply back; servers that check challenges do not accept it",
		Do:    "send the challenge as the four bytes that the server sent",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "challenge of "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			if e.A == 1 {
				dst = append(dst, " byte"...)
			} else {
				dst = append(dst, " bytes"...)
			}
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
		Seen:  "a request padded with zeros",
		Means: "the scheme against amplification that Steam tried in November 2020, or a proxy's; some filters drop it",
		Do:    "send requests without padding",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "request padded with "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			return append(dst, " zero bytes"...)
		}}
	codeCount = finding.Code{ID: "A2S-S07", Severity: finding.Warn, Fault: finding.Server,
		Seen:  "the declared count differs from the entries in the reply",
		Means: "the engine cut the list at its buffer's end, or counts players who are still joining; one or two missing players are usual",
		Do:    "trust the entries, not the count",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "count says "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, ", the reply holds "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			if e.B == 1 {
				return append(dst, " whole entry"...)
			}
			return append(dst, " whole entries"...)
		}}
	codeWrongLetter = finding.Code{ID: "A2S-S09", Severity: finding.Error, Fault: finding.Server,
		Seen:  "a reply with the letter of S2A_RULES that holds four bytes, as a challenge has",
		Means: "clients read it as what its letter says and fail: a modified server or a cache in front of it mixes its replies up",
		Do:    "ask once more, as some servers are right the second time; look for plugins and caches that answer queries",
		Text: func(dst []byte, _ *finding.Expert) []byte {
			return append(dst, "the letter of S2A_RULES and four bytes, as a challenge has: no rule fits in them"...)
		}}
	codeGarbage = finding.Code{ID: "A2S-S10", Severity: finding.Error, Fault: finding.Server,
		Seen:  "an answer of zeros, or one whose header FF FF FF FF is there twice",
		Means: "a plugin, proxy or cache writes replies wrongly: clients that look at the first bytes drop them",
		Do:    "look for what answers queries in place of the engine; a second header can be skipped, zeros tell nothing",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == garbageDoubled {
				return append(dst, "the header FF FF FF FF is there twice"...)
			}
			dst = strconv.AppendUint(dst, e.B, 10)
			return append(dst, " bytes of zero in place of an answer"...)
		}}
	codeBinary = finding.Code{ID: "A2S-S11", Severity: finding.Note, Fault: finding.Server,
		Seen:  "rules whose names are binary page numbers, or whose text is not UTF-8",
		Means: "Arma 3 and DayZ put escaped binary data into the rules; a client that treats them as text breaks it",
		Do:    "read names and values as bytes",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.A, 10)
			if e.A == 1 {
				return append(dst, " rule carries binary data in place of text"...)
			}
			return append(dst, " rules carry binary data in place of text"...)
		}}
	codeLimit = finding.Code{ID: "A2S-S12", Severity: finding.Warn, Fault: finding.Server,
		Seen:  "players or slots at 255, keywords with more than a byte holds, or (a note) more players than slots",
		Means: "the counts are one byte and wrap; the true ones may stand in the keywords; where only the slots are exceeded the server may as well count who waits, holds a reserved slot or is a bot",
		Do:    "read the keywords (Rust: cp and mp); else show the counts as they are, and compute no share of free slots from them",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.A&0xff, 10)
			dst = append(dst, " players of "...)
			dst = strconv.AppendUint(dst, e.B&0xff, 10)
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
		Seen:  "pages of binary rules are missing, or contradict each other",
		Means: "the server dropped rules to make the reply fit, or numbers its pages wrongly; the lists of mods and keys are not complete",
		Do:    "read the pages up to the gap; ask the server's owner for fewer or shorter rules",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == e.B {
				return append(dst, "a page of the binary rules is there twice, or counted differently: the first of each was read"...)
			}
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, " of "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			dst = append(dst, " binary pages can be read: page "...)
			dst = strconv.AppendUint(dst, e.A+1, 10)
			return append(dst, " is missing or cut"...)
		}}
	codeDamage = finding.Code{ID: "A2S-S15", Severity: finding.Error, Fault: finding.Server,
		Seen:  "the data in the binary pages of the rules contradicts itself",
		Means: "a length or a count in it leads beyond its end: no client can read the rest",
		Do:    "look for a proxy or cache that rewrites rules; else tell the maker of the game",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "binary rules can be read up to byte "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, " of "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			return append(dst, ": the next value leads beyond the end"...)
		}}
	codeEDF = finding.Code{ID: "A2S-S13", Severity: finding.Error, Fault: finding.Server,
		Seen:  "the extra data flags announce a field that is cut, or bytes follow that no flag announces",
		Means: "the reply was built or cached wrongly, often one byte short",
		Do:    "look for a cache or plugin in front of the engine",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.B > 0 {
				dst = strconv.AppendUint(dst, e.B, 10)
				return append(append(dst, digits.Noun(e.B, " byte", " bytes")...), " after the fields that the extra data flags announce"...)
			}
			return append(dst, "the extra data flags announce a field that is not there"...)
		}}
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
