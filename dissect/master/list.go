package master

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// The lengths of an entry: an address and its big-endian port.
const (
	entryV4 = 6
	entryV6 = 18
)

const (
	tagLen = 4 // of the tag in a reply
	keyLen = 6 // mark, key, reserved byte

	keyMark = 0x7F
)

// readBatch reads the body of A2M_GET_SERVERS_BATCH: a tag of three bytes, of which
// replies have four.
func readBatch(cur *dissect.Cursor) {
	if cur.LeftOnWire() == tagLen {
		cur.U32(&defNext)
		return
	}
	cur.U24(&defNext)
}

// readPage reads the body of M2A_SERVER_BATCH, and returns the address from which the list goes on.
func readPage(c *dissect.Context, cur *dissect.Cursor) (page dissect.Page) {
	if cur.U8(&defForm) == formTag {
		if next := cur.U32(&defNext); next == 0 {
			cur.Note("the list ends here")
		} else {
			cur.Note("tag of the next page")
		}
		readServers(cur, entryV4)
		return page
	}
	if cur.Cut() && cur.Left() == 0 {
		return page // a key or a list: unknown in this capture
	}
	if hasKey(cur.Peek(keyLen)) {
		cur.U8(&defKeyMark)
		cur.U32(&defListKey)
		cur.U8(&defReserved)
	}
	size := entryLen(isV6(c), cur.LeftOnWire())
	at := cur.Fields()
	n, last, ended := readServers(cur, size)
	if !cur.OK() || cur.Cut() || ended {
		return page
	}
	if n < fullPage {
		cur.ExpertAt(&codeChain, finding.Chat, at, uint64(n), 0)
	}
	if len(last) == entryV4 {
		page.At = uint64(binary.BigEndian.Uint32(last))<<16 | uint64(binary.BigEndian.Uint16(last[4:]))
	}
	return page
}

// hasKey reports whether a list begins with Xash3D's key. 7F also begins the
// loopback addresses that a master on one machine lists: 127.0.x.x is taken for
// one of these.
func hasKey(b []byte) bool {
	return len(b) > 0 && b[0] == keyMark && !bytes.HasPrefix(b, []byte{keyMark, 0})
}

// entryLen returns the length of an entry: that of the master's own address family,
// but the short one where only short ones fill a list of n bytes.
func entryLen(v6 bool, n int) int {
	if v6 && (n%entryV6 == 0 || n%entryV4 != 0) {
		return entryV6
	}
	return entryV4
}

// readServers reads entries of size bytes to the end of the message, and returns how
// many there were and whether the end mark was among them. Port 0 is the mark;
// masters send it with an address of zeros. Clients stop there, so what follows
// is not seen by them.
func readServers(cur *dissect.Cursor, size int) (n int, last []byte, ended bool) {
	cur.Push(&defServers, cur.LeftOnWire()/size)
	for ; cur.OK() && cur.Left() > 0; n++ {
		b := cur.Addr(&defServer, size)
		last = b
		if len(b) == size && b[size-2] == 0 && b[size-1] == 0 {
			cur.Note("end of the list")
			ended = true
		}
	}
	cur.Pop()
	return n, last, ended
}
