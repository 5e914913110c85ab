package tcpstream

import "time"

// Limits bounds what one Assembler keeps. A member that is zero takes its
// default; one that is too small to be of use is raised.
//
// When Conns is reached, the least recently used connection is evicted: of those that
// never brought a byte if there are any, else of those that have ended, then of the
// ignored ones, then of the others. When Bytes is reached, the connection that has been
// silent longest of those that keep bytes gives up all of them.
type Limits struct {
	Conns    int           // connections, ended ones included
	Bytes    int           // memory for bytes that wait, all connections together
	DirBytes int           // bytes that wait in one direction; at most DefaultDirBytes
	Idle     time.Duration // packet time after which a silent connection expires
	HalfOpen time.Duration // the same of one that has only SYNs, or was refused
}

const (
	// DefaultConns times 16 assemblers is 16,384 connections in about 6 MiB. A server
	// has a handful of remote consoles; the rest is room for other connections in the
	// capture until the sink ignores them.
	DefaultConns = 1024

	// DefaultBytes times 16 assemblers is 32 MiB, taken by need: usual captures need some kilobytes. One holds
	// one direction with all it may have and another one while it grows, or 2,048 with less than a kilobyte each, such as
	// the first half of a command.
	DefaultBytes = 2 << 20

	// connsAtFirst is for how many connections memory is allocated at first, 5 KiB. Then it
	// is doubled, by connsAtOnce at most: a table fills in 18 allocations. Doubled to the end,
	// it had up to a megabyte that nobody used.
	connsAtFirst = 16
	connsAtOnce  = 64

	// DefaultDirBytes is twice the longest message of a remote console that was reported, of less than 512,000
	// bytes.
	DefaultDirBytes = maxBuffer

	// DefaultIdle is longer than consoles stay silent that poll a server, which
	// they do every few seconds to minutes.
	DefaultIdle = 10 * time.Minute

	// DefaultHalfOpen: Linux sends a SYN again after 1, 3, 7, 15 and 31 s; an end
	// that has not answered by then will not.
	DefaultHalfOpen = 30 * time.Second
)

const (
	// minBuffer is the unit of memory in bytes: most segments that are kept are one
	// command or the end of one. An attacker's segment of one byte costs one unit.
	minBuffer = 1 << 10

	// maxOrder is how often the unit is doubled to get the largest buffer.
	maxOrder  = 10
	maxBuffer = minBuffer << maxOrder

	// minBlocks is how many of the largest buffers there is room for at least: growing to one needs it and one
	// of half its size.
	minBlocks = 2

	// piecesPerUnit is how many frames are listed for a unit of memory, enough for
	// segments of 128 bytes and more. The last piece stands for all further ones.
	piecesPerUnit = 8

	// maxRuns is how many runs, each after a hole, a direction keeps: chosen as four
	// times what the selective acknowledgements of one segment can name (RFC 2018).
	// When there are more, the first hole is skipped.
	maxRuns = 16

	// window is how far from the expected number a segment may be, in bytes: the
	// largest that windows can be scaled to (RFC 7323 section 2.3).
	window = 1 << 30

	// resetWindow is the same for a reset, which does more harm if it is forged.
	// Receivers accept one within their window (RFC 9293 section 3.10.7.4), and
	// Linux does not let that grow beyond 6 MiB (tcp_rmem).
	resetWindow = 8 << 20

	// lateSYN is how many bytes of a direction may be captured before its SYN: the
	// largest window without scaling, which the window of a SYN never has.
	lateSYN = 64 << 10
)

const (
	// holeWait is how long a hole waits for its bytes. Linux sends lost bytes
	// again after 200 ms to about a second, and twice as late the next time.
	holeWait = int64(3 * time.Second)

	// ackWait is the same when the other end has acknowledged the missing bytes: then
	// only the capture lacks them, or it has the directions in the wrong order.
	// Chosen: far more than two directions that were captured apart are misplaced by.
	ackWait = int64(250 * time.Millisecond)

	// timersEvery is how often holes and silent connections are looked for between
	// ticks: chosen as the shortest of the waits.
	timersEvery = int64(250 * time.Millisecond)

	// reuseIdle is how long a connection must be silent for a SYN to replace it at
	// once: the time for which Linux does not reuse the ends of a closed one
	// (TCP_TIMEWAIT_LEN).
	reuseIdle = int64(time.Minute)

	// linger is how long an ended connection stays in the table, so that late copies
	// of its segments begin no new one. Chosen: as long as HalfOpen.
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
	def(&l.DirBytes, DefaultDirBytes, minBuffer)
	l.DirBytes = min(l.DirBytes, maxBuffer)
	def(&l.Bytes, DefaultBytes, minBlocks*minBuffer<<orderFor(l.DirBytes))
	if l.Idle <= 0 {
		l.Idle = DefaultIdle
	}
	if l.HalfOpen <= 0 {
		l.HalfOpen = DefaultHalfOpen
	}
	return l
}
