package tcpstream

import "time"

// Limits bounds what one Assembler keeps. A member that is zero takes its
// default; one that is too small to be of use is raised.
//
// What has to make room: of connections the least recently used, first those that
// never brought a byte, then those that have ended, then the ignored ones, then
// the others; of bytes all that the connection keeps that was silent longest.
type Limits struct {
	Conns    int           // connections, ended ones included
	Bytes    int           // memory for bytes that wait, all connections together
	DirBytes int           // bytes that wait in one direction; at most DefaultDirBytes
	Idle     time.Duration // packet time until a silent connection is forgotten
	HalfOpen time.Duration // the same of one that has only SYNs, or was refused
}

const (
	// DefaultConns times 16 assemblers is 16,384 connections in about 6 MiB. A server
	// has a handful of remote consoles; the rest is room for what is in the
	// capture by the way until it is known to be of no interest.
	DefaultConns = 1024

	// DefaultBytes times 16 assemblers is 8 MiB: four directions with all they
	// may have, or 512 with less than a kilobyte, which is what is left of a
	// command whose second half is under way.
	DefaultBytes = 512 << 10

	// DefaultDirBytes is one message of 65,540 bytes, the longest that a remote
	// console sends, and about as much after a hole.
	DefaultDirBytes = maxBuffer

	// DefaultIdle is longer than consoles stay silent that poll a server, which
	// they do every few seconds to minutes.
	DefaultIdle = 10 * time.Minute

	// DefaultHalfOpen: Linux sends a SYN again after 1, 3, 7, 15 and 31 s; who
	// has not answered by then does not want to.
	DefaultHalfOpen = 30 * time.Second
)

const (
	// minBuffer is the unit of memory: most segments that are kept are one
	// command or the end of one. A one-byte segment of an attacker costs this.
	minBuffer = 1 << 10

	// maxOrder is how often the unit is doubled to get the largest buffer.
	maxOrder  = 7
	maxBuffer = minBuffer << maxOrder

	// minBytes is two of the largest buffers: growing to one needs it and one
	// of half its size.
	minBytes = 2 * maxBuffer

	// piecesPerUnit is how many frames can be told apart in a unit of memory:
	// segments of 128 bytes and more. The last piece stands for all further ones.
	piecesPerUnit = 8

	// maxRuns is how many stretches after different holes a direction keeps.
	// The selective acknowledgements of one segment name four (RFC 2018), and
	// the first hole is lost when there are more than these.
	maxRuns = 16

	// window is how far from the expected number a segment may be: the largest
	// that windows can be scaled to (RFC 7323 section 2.3).
	window = 1 << 30

	// resetWindow is the same for a reset, which does more harm. Receivers
	// believe it within their window (RFC 9293 section 3.10.7.4), and Linux does
	// not let that grow beyond 6 MiB (tcp_rmem).
	resetWindow = 8 << 20

	// lateSYN is how many bytes of a direction may be captured before its SYN: a
	// window that was not scaled, as after a SYN it never is.
	lateSYN = 64 << 10
)

const (
	// holeWait is how long a hole waits for its bytes. Linux sends lost bytes
	// again after 200 ms to about a second, and twice as late the next time.
	holeWait = int64(3 * time.Second)

	// ackWait is the same when the other end has acknowledged what is missing:
	// then only the capture lacks it, or has the directions in the wrong order.
	ackWait = int64(250 * time.Millisecond)

	// timersEvery is how often holes and ages are looked at between ticks.
	timersEvery = int64(250 * time.Millisecond)

	// reuseIdle is how long a connection must be silent for a SYN to be believed
	// at once: the time for which a closed one may not come back on Linux
	// (TCP_TIMEWAIT_LEN).
	reuseIdle = int64(time.Minute)

	// linger is how long an ended connection is remembered, so that late copies
	// of its segments begin no new one.
	linger = int64(30 * time.Second)
)

func (l Limits) withDefaults() Limits {
	def := func(v *int, d, least int) {
		if *v == 0 {
			*v = d
		}
		*v = max(*v, least)
	}
	def(&l.Conns, DefaultConns, 1)
	def(&l.Bytes, DefaultBytes, minBytes)
	def(&l.DirBytes, DefaultDirBytes, minBuffer)
	l.DirBytes = min(l.DirBytes, maxBuffer)
	if l.Idle <= 0 {
		l.Idle = DefaultIdle
	}
	if l.HalfOpen <= 0 {
		l.HalfOpen = DefaultHalfOpen
	}
	return l
}
