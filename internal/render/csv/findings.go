package csv

import (
	"net/netip"
	"strconv"

	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

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
	dst = append(quoteCell(appendText(dst, r.AppendText(nil)), lo), ',')
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
