package a2s

import (
	"strconv"

	"qsniff/finding"
)

var (
	codeRetryPayload = finding.Code{ID: "A2S-C02", Severity: finding.Error, Fault: finding.Client,
		Seen:  "A2S_INFO with a challenge but without the text \"Source Engine Query\"",
		Means: "the retry lost its payload: A2S_INFO wants the text and the challenge behind it; only A2S_PLAYER and A2S_RULES carry the challenge alone",
		Do:    "append the four challenge bytes to the first request and send that",
		Ref:   "Valve developer wiki, Server queries",
		Text: func(dst []byte, _ *finding.Expert) []byte {
			return append(dst, "A2S_INFO without its text \"Source Engine Query\", or with the challenge in the wrong place: it belongs behind the text's NUL"...)
		}}
	codeBadChallenge = finding.Code{ID: "A2S-C05", Severity: finding.Error, Fault: finding.Client,
		Seen:  "a request whose challenge is not 4 bytes",
		Means: "the client formats the challenge wrongly, often as text; no server will accept it",
		Do:    "send the challenge as the four bytes that the server sent",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "challenge of "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			return append(dst, " bytes, 4 are expected"...)
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
	codeBinary = finding.Code{ID: "A2S-S11", Severity: finding.Note, Fault: finding.Server,
		Seen:  "rules whose names are binary page numbers, or whose text is not UTF-8",
		Means: "Arma 3 and DayZ put escaped binary data into the rules; a client that treats them as text breaks it",
		Do:    "read names and values as bytes",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.A, 10)
			return append(dst, " rules carry binary data in place of text"...)
		}}
	codeLimit = finding.Code{ID: "A2S-S12", Severity: finding.Warn, Fault: finding.Server,
		Seen:  "players or slots at 255, or fewer slots than players",
		Means: "the counts are one byte and wrap; the true ones may stand in the keywords",
		Do:    "read the keywords (Rust: cp and mp), or do not trust these counts",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, " players of "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			return append(dst, ": one-byte counts at their limit, or wrapped"...)
		}}
	codeEDF = finding.Code{ID: "A2S-S13", Severity: finding.Error, Fault: finding.Server,
		Seen:  "the extra data flags announce a field that is cut, or bytes follow that no flag announces",
		Means: "the reply was built or cached wrongly, often one byte short",
		Do:    "look for a cache or plugin in front of the engine",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.B > 0 {
				dst = strconv.AppendUint(dst, e.B, 10)
				return append(dst, " bytes behind the fields that the extra data flags announce"...)
			}
			return append(dst, "the extra data flags announce a field that is not there"...)
		}}
)

var codes = []*finding.Code{&codeRetryPayload, &codeBadChallenge, &codePadded,
	&codeCount, &codeBinary, &codeLimit, &codeEDF}
