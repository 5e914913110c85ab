package a2s

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// shipEntry is the size of one player's deaths and money.
const shipEntry = 8

// maxJoining is how many players may be missing from a list before that is more
// than players who were still connecting when the server wrote it.
const maxJoining = 2

// readPlayers reads the body of S2A_PLAYER.
func readPlayers(c *dissect.Context, cur *dissect.Cursor) {
	count := int(cur.U8(&defPlayerCount))
	if !cur.OK() {
		return
	}
	at := cur.Fields() - 1
	tail := shipTail(c, cur, count)
	cur.Push(&defPlayerList, count)
	n := 0
	for ; cur.OK() && cur.Left() > tail; n++ {
		if n == count && (cur.Cut() || !isWholePlayers(cur.Peek(cur.Left()))) {
			break
		}
		cur.Push(&defPlayer, n)
		cur.U8(&defIndex)
		cur.CString(&defPlayerName)
		cur.I32(&defScore)
		cur.F32(&defDuration)
		cur.Pop()
	}
	whole := n
	if !cur.OK() {
		whole--
	}
	cur.Pop()
	if whole != count && !cur.Cut() && !cur.Limited() {
		s := codeCount.Severity
		if whole < count && count-whole <= maxJoining && cur.OK() {
			s = finding.Note
		}
		cur.ExpertAt(&codeCount, s, at, uint64(count), uint64(whole))
	}
	if tail > 0 && cur.OK() {
		readShip(cur, whole)
	}
}

// shipTail returns how many bytes at the end are The Ship's block of deaths and
// money: 8 for each player after exactly count players. When the game is known to be The
// Ship, it is whatever is after them, or 8 for each player after fewer, where the count is
// too high: what the players that are missing would take is more than that.
func shipTail(c *dissect.Context, cur *dissect.Cursor, count int) int {
	b := cur.Peek(cur.Left())
	flow := &c.FromServer
	isShip := flow.HasApp && flow.AppID == appTheShip
	off := 0
	for i := range count {
		if isShip && i > 0 && cur.LeftOnWire()-off == shipEntry*i {
			return len(b) - off
		}
		n := playerLen(b[off:])
		if n == 0 {
			return 0
		}
		off += n
	}
	if isShip || !flow.HasApp && cur.LeftOnWire()-off == shipEntry*count {
		return len(b) - off
	}
	return 0
}

// playerLen returns the length of the entry at the start of b, 0 if it is not whole.
func playerLen(b []byte) int {
	const before, after = 1, 8 // index; score and duration
	if len(b) < before {
		return 0
	}
	i := bytes.IndexByte(b[before:], 0)
	if i < 0 || len(b) < before+i+1+after {
		return 0
	}
	return before + i + 1 + after
}

// isWholePlayers reports whether b, after the last counted entry, is whole entries
// to its end: the count is one byte and wraps.
func isWholePlayers(b []byte) bool {
	for len(b) > 0 {
		n := playerLen(b)
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// readShip reads The Ship's block.
func readShip(cur *dissect.Cursor, count int) {
	cur.Push(&defShipList, count)
	for i := 0; i < count && cur.OK() && cur.Left() > 0; i++ {
		cur.Push(&defShipPlayer, i)
		cur.I32(&defDeaths)
		cur.I32(&defMoney)
		cur.Pop()
	}
	cur.Pop()
}
