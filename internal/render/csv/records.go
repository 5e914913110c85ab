package csv

import (
	"net/netip"
	"strconv"

	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// exchangesHeader names the columns of exchanges.
const exchangesHeader = "exchange,time,client,server,transport,protocol,message,outcome,rtt_ms,challenge_ms,duration_ms,requests,challenges,replies,packets,findings\r\n"

// Exchanges writes a dialogue as a line of a table. The outcome of a connection is "connection".
type Exchanges struct{ render.Headline }

// AppendHeader appends the line of column names.
func (Exchanges) AppendHeader(dst []byte) []byte { return append(dst, exchangesHeader...) }

// AppendDialogue appends a line.
func (x Exchanges) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if !x.Shows(d) {
		return dst
	}
	var utc Renderer
	dst = append(strconv.AppendUint(dst, d.ID, 10), ',')
	dst = append(utc.appendTime(dst, d.First, 0, nil), ',')
	dst = append(appendEnd(dst, d.Client), ',')
	dst = append(appendEnd(dst, d.Server), ',')
	transport, outcome, protocol, message := "udp", d.Outcome.String(), "", ""
	if d.Proto != nil {
		protocol = d.Proto.Name
	}
	if d.IsStream {
		transport, outcome = "tcp", "connection"
	} else if d.Type != nil {
		message = d.Type.Name
	}
	for _, word := range [...]string{transport, protocol, message, outcome} {
		dst = append(append(dst, word...), ',')
	}
	for _, nanos := range [...]int64{d.RTT, d.ChallengeRTT, d.Last - d.First} {
		if nanos >= 0 {
			dst = digits.AppendMillis(dst, nanos)
		}
		dst = append(dst, ',')
	}
	for _, n := range [...]uint32{d.Requests, d.Challenges, d.Replies, d.Packets} {
		dst = append(strconv.AppendUint(dst, uint64(n), 10), ',')
	}
	return append(x.AppendFindings(dst, d, ";", ""), "\r\n"...)
}

// findingsHeader names the columns of findings.
const findingsHeader = "severity,id,fault,count,first,last,server,client,frames,text,frame\r\n"

// AppendFindings appends a table of findings, a line for each with its repeats.
func AppendFindings(dst []byte, f *render.Findings) []byte {
	dst = append(dst, findingsHeader...)
	for i := range f.Repeats {
		dst = appendRepeats(dst, &f.Repeats[i])
	}
	return dst
}

func appendRepeats(dst []byte, r *stats.Repeats) []byte {
	var utc Renderer
	dst = append(append(dst, r.Expert.Severity.String()...), ',')
	dst = append(append(dst, r.Expert.Code.ID...), ',')
	dst = append(append(dst, r.Expert.Code.Fault.String()...), ',')
	dst = append(strconv.AppendUint(dst, r.Count, 10), ',')
	dst = append(utc.appendTime(dst, r.First, 0, nil), ',')
	dst = append(utc.appendTime(dst, r.Last, 0, nil), ',')
	dst = append(appendEnd(dst, r.Server), ',')
	dst = append(appendClient(dst, r.Client), ',')
	for i, frame := range r.Frames {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = strconv.AppendUint(dst, frame, 10)
	}
	dst = append(dst, ',')
	lo := len(dst)
	dst = append(quoteCell(appendText(dst, r.AppendText(nil)), lo, ','), ',')
	if r.Frame > 0 { // the packet of the column first
		dst = strconv.AppendUint(dst, r.Frame, 10)
	}
	return append(dst, "\r\n"...)
}

// appendClient appends a client, without a port where it has several.
func appendClient(dst []byte, client netip.AddrPort) []byte {
	if client.Port() == 0 && client.IsValid() {
		return client.Addr().AppendTo(dst)
	}
	return appendEnd(dst, client)
}
