package testpcap

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/dsnet/compress/bzip2"

	"qsniff/reassembly/wire"
)

var splitMark = []byte{0xfe, 0xff, 0xff, 0xff}

// SplitGoldSource cuts msg into datagrams with the 9-byte header: id, then the
// part's number in the high nibble and the number of parts in the low one. Each
// part but the last carries size bytes; ReHLDS uses 1,391. The header cannot
// count more than 15 parts: a msg that needs more is the caller's mistake and
// wraps, as it does in the engine.
func SplitGoldSource(msg []byte, id uint32, size int) [][]byte {
	pieces := chunks(msg, size)
	out := make([][]byte, 0, len(pieces))
	for n, piece := range pieces {
		b := binary.LittleEndian.AppendUint32(bytes.Clone(splitMark), id)
		b = append(b, byte(n<<4+len(pieces)))
		out = append(out, append(b, piece...))
	}
	return out
}

// SplitSource cuts msg into datagrams with the 10-byte header of old engines
// or, withSizeField, the 12-byte header. With compressed the whole message is
// compressed with bzip2 first, the id's top bit is set, and the first part's
// payload starts with decompressed size and CRC-32; the prefix counts towards
// size, so that no datagram is longer than header and size. Default sizes are
// 1,248, and 1,188 on CS:GO and Left 4 Dead.
func SplitSource(msg []byte, id uint32, size int, withSizeField, compressed bool) [][]byte {
	if compressed {
		id |= wire.Compressed
		prefix := binary.LittleEndian.AppendUint32(nil, uint32(len(msg)))
		prefix = binary.LittleEndian.AppendUint32(prefix, crc32.ChecksumIEEE(msg))
		msg = append(prefix, Bzip2(msg)...)
	}
	pieces := chunks(msg, size)
	out := make([][]byte, 0, len(pieces))
	for n, piece := range pieces {
		b := binary.LittleEndian.AppendUint32(bytes.Clone(splitMark), id)
		b = append(b, byte(len(pieces)), byte(n))
		if withSizeField {
			b = binary.LittleEndian.AppendUint16(b, uint16(size))
		}
		out = append(out, append(b, piece...))
	}
	return out
}

// Bzip2 compresses msg at level 9, the level in every recorded reply.
func Bzip2(msg []byte) []byte {
	var buf bytes.Buffer
	w, err := bzip2.NewWriter(&buf, &bzip2.WriterConfig{Level: bzip2.BestCompression})
	if err == nil {
		_, err = w.Write(msg)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a valid level and a buffer cannot fail
	}
	return buf.Bytes()
}

// chunks divides b into runs of size bytes; an empty b is one empty run.
func chunks(b []byte, size int) [][]byte {
	out := [][]byte{}
	for len(b) > size {
		out = append(out, b[:size])
		b = b[size:]
	}
	return append(out, b)
}
