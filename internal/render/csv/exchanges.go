package csv

import (
	"strconv"

	"qsniff/internal/base/digits"
	"qsniff/internal/render"
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
