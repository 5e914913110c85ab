package jsonl

import (
	"bytes"
	"strconv"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// AppendDialogue appends an exchange or a connection as a line. Its messages and records
// are in it, as the objects that Append and AppendRecord make.
func (r *Renderer) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	dst = appendDialogueHead(dst, d)
	dst = appendTurns(append(dst, `,"messages":[`...), d, false)
	dst = append(dst, ']')
	for i := range d.Turns {
		if d.Turns[i].IsRecord {
			dst = appendTurns(append(dst, `,"records":[`...), d, true)
			dst = append(dst, ']')
			break
		}
	}
	return append(dst, '}', '\n')
}

// appendDialogueHead begins an object with what a dialogue is, between whom, and how it ended.
func appendDialogueHead(dst []byte, d *render.Dialogue) []byte {
	dst = append(dst, opening...)
	if d.IsStream {
		dst = append(dst, `,"record":"connection","id":`...)
	} else {
		dst = append(dst, `,"record":"exchange","id":`...)
	}
	dst = strconv.AppendUint(dst, d.ID, 10)
	dst = jsonw.Time(append(dst, `,"time":`...), d.First)
	if d.IsStream {
		dst = append(dst, `,"transport":"tcp"`...)
	} else {
		dst = append(dst, `,"transport":"udp"`...)
	}
	if d.Server.IsValid() {
		dst = append(d.Server.AppendTo(append(dst, `,"server":"`...)), '"')
	}
	if d.Client.IsValid() {
		dst = append(d.Client.AppendTo(append(dst, `,"client":"`...)), '"')
	}
	if d.Signs != 0 {
		dst = appendClient(append(dst, `,"client_name":"`...), d.Signs, `","client_confidence":"`)
	}
	dst = appendSubject(dst, d)
	return appendResult(dst, d)
}

// appendSubject appends the protocol, and the message type of an exchange.
func appendSubject(dst []byte, d *render.Dialogue) []byte {
	if d.Proto == nil {
		return dst
	}
	dst = append(append(append(dst, `,"protocol":"`...), d.Proto.Name...), '"')
	if d.IsStream || d.Type == nil {
		return dst
	}
	return append(append(append(dst, `,"message":"`...), d.Type.Name...), '"')
}

// appendResult appends how the dialogue ended.
func appendResult(dst []byte, d *render.Dialogue) []byte {
	if !d.IsStream {
		dst = append(append(append(dst, `,"outcome":"`...), d.Outcome.String()...), '"')
	}
	dst = appendMillis(dst, `,"rtt_ms":`, d.RTT)
	dst = appendMillis(dst, `,"challenge_ms":`, d.ChallengeRTT)
	dst = appendMillis(dst, `,"duration_ms":`, d.Last-d.First)
	dst = strconv.AppendUint(append(dst, `,"requests":`...), uint64(d.Requests), 10)
	if d.Challenges > 0 {
		dst = strconv.AppendUint(append(dst, `,"challenges":`...), uint64(d.Challenges), 10)
	}
	dst = strconv.AppendUint(append(dst, `,"replies":`...), uint64(d.Replies), 10)
	dst = strconv.AppendUint(append(dst, `,"packets":`...), uint64(d.Packets), 10)
	if d.HasEarlier {
		dst = append(dst, `,"continues":true`...)
	}
	if d.IsUnfinished {
		dst = append(dst, `,"open":true`...)
	}
	if d.Omitted > 0 {
		dst = strconv.AppendInt(append(dst, `,"omitted_messages":`...), int64(d.Omitted), 10)
	}
	return dst
}

// appendMillis appends a time as a member in milliseconds; nothing if nanos is negative.
func appendMillis(dst []byte, key string, nanos int64) []byte {
	if nanos < 0 {
		return dst
	}
	return digits.AppendMillis(append(dst, key...), nanos)
}

// appendTurns appends the turns that are records, or else those that are messages.
func appendTurns(dst []byte, d *render.Dialogue, records bool) []byte {
	first := true
	for i := range d.Turns {
		t := &d.Turns[i]
		if t.IsRecord != records {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, bytes.TrimSuffix(t.Text, []byte{'\n'})...)
	}
	return dst
}

// Exchanges writes a dialogue as a line like AppendDialogue, with the ids of its findings in place
// of its messages.
type Exchanges struct{ render.Headline }

// AppendDialogue appends a line.
func (x Exchanges) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if !x.Shows(d) {
		return dst
	}
	dst = append(appendDialogueHead(dst, d), `,"findings":[`...)
	return append(x.AppendFindings(dst, d, ",", `"`), "]}\n"...)
}
