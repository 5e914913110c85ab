package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"github.com/dsnet/compress/bzip2"

	"qsniff/reassembly/wire"
)

// appendInfo appends an S2A_INFO_SRC with EDF B1, the most common form.
func (s *server) appendInfo(b []byte) []byte {
	b = append(b, "\xff\xff\xff\xffI\x11"...)
	b = appendName(b, s.index)
	b = append(append(append(b, 0), s.mapName...), "\x00tf\x00Team Fortress\x00"...)
	b = binary.LittleEndian.AppendUint16(b, 440)
	b = append(b, byte(len(s.roster)), byte(s.slots), 0, 'd', 'l', 0, 1)
	b = append(b, "9543365\x00\xb1"...)
	b = binary.LittleEndian.AppendUint16(b, serverPort)
	b = binary.LittleEndian.AppendUint64(b, 85568392920039424+uint64(s.index))
	b = append(append(b, s.features...), 0)
	return binary.LittleEndian.AppendUint64(b, 440)
}

func appendName(b []byte, index int) []byte {
	b = strconv.AppendInt(append(b, "Benchmark server "...), int64(index), 10)
	return strconv.AppendInt(append(b, " of "...), numServers, 10)
}

// appendDetailed appends an S2A_INFO_DETAILED with the mod block.
func (s *server) appendDetailed(b []byte) []byte {
	b = strconv.AppendInt(append(b, "\xff\xff\xff\xffm198.18.0."...), int64(s.index+1), 10)
	b = appendName(append(b, ":27015\x00"...), s.index)
	b = append(append(append(b, 0), s.mapName...), "\x00cstrike\x00Counter-Strike\x00"...)
	b = append(b, byte(len(s.roster)), byte(s.slots), 48, 'd', 'l', 0, 1)
	b = append(b, "www.counter-strike.net\x00\x00\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 184_000_000)
	return append(b, 0, 1, 1, 0)
}

// appendPlayers appends an S2A_PLAYER: how long each plays is other in each reply.
func (s *server) appendPlayers(b []byte, now int64) []byte {
	b = append(append(b, "\xff\xff\xff\xffD"...), byte(len(s.roster)))
	for _, p := range s.roster {
		b = append(append(append(b, 0), p.name...), 0)
		b = binary.LittleEndian.AppendUint32(b, p.score)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(time.Duration(now-p.joined).Seconds())))
	}
	return b
}

// appendRules appends an S2A_RULES.
func (w *world) appendRules(b []byte, s *server) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, "\xff\xff\xff\xffE"...), uint16(len(s.rules)))
	for _, r := range s.rules {
		b = append(append(b, r.name...), 0)
		b = append(b, r.value...)
		for range r.live {
			b = append(b, '0'+byte(w.rng.IntN(10)))
		}
		b = append(b, 0)
	}
	return b
}

// appendEye appends the full answer of an MTA server, of at most s.room bytes.
func (w *world) appendEye(b []byte, s *server, now int64) []byte {
	b = appendCounted(append(b, "EYE1"...), "mta")
	b = appendNumber(b, asePort-123) // the game's own port
	at := len(b)
	b = appendName(append(b, 0), s.index)
	b[at] = byte(len(b) - at)
	for _, field := range []string{"freeroam", s.mapName, "1.6", "0"} {
		b = appendCounted(b, field)
	}
	b = appendNumber(appendNumber(b, int64(len(s.roster))), int64(s.slots))
	b = append(appendCounted(appendCounted(b, "Website"), "example.org"), 1) // end of rules
	for _, p := range s.roster {
		if len(b)+len(p.name)+longestRest > s.room {
			break
		}
		// Name, team, skin, score, ping, time.
		b = appendCounted(append(b, 0x3f), p.name)
		b = appendCounted(appendCounted(b, ""), "")
		b = appendNumber(appendNumber(b, int64(p.score)), 10+w.rng.Int64N(200))
		b = appendNumber(b, (now-p.joined)/int64(time.Second))
	}
	return b
}

// longestRest is room for what follows the name of an ASE player.
const longestRest = 32

// appendCounted appends a text after its length, which counts itself.
func appendCounted(b []byte, text string) []byte {
	return append(append(b, byte(len(text)+1)), text...)
}

// appendNumber is appendCounted for a number.
func appendNumber(b []byte, n int64) []byte {
	at := len(b)
	b = strconv.AppendInt(append(b, 0), n, 10)
	b[at] = byte(len(b) - at)
	return b
}

// appendPart appends part n of msg with the header of the server's engine.
func (s *server) appendPart(b, msg []byte, n int) []byte {
	size := partSize[s.engine]
	id, total := s.splitID&(wire.Compressed-1), s.countParts(msg)
	if s.engine == oldSource && isPacked(msg) {
		id |= wire.Compressed
	}
	b = binary.LittleEndian.AppendUint32(append(b, "\xfe\xff\xff\xff"...), id)
	switch s.engine {
	case goldSource:
		b = append(b, byte(n<<4+total))
	case source:
		b = append(b, byte(total), byte(n))
		b = binary.LittleEndian.AppendUint16(b, uint16(size))
	default:
		b = append(b, byte(total), byte(n))
	}
	return append(b, msg[n*size:min((n+1)*size, len(msg))]...)
}

func (s *server) countParts(msg []byte) int {
	size := partSize[s.engine]
	return (len(msg) + size - 1) / size
}

// isPacked reports whether pack made msg.
func isPacked(msg []byte) bool { return string(msg[:4]) != "\xff\xff\xff\xff" }

// packer compresses messages as old engines do. It is used again: a compressor takes
// memory for a whole block.
type packer struct {
	to  sliceWriter
	zip *bzip2.Writer
}

type sliceWriter []byte

func (w *sliceWriter) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

func newPacker() *packer {
	p := &packer{}
	var err error
	if p.zip, err = bzip2.NewWriter(&p.to, &bzip2.WriterConfig{Level: bzip2.BestCompression}); err != nil {
		panic(err) // the level is valid
	}
	return p
}

// pack appends size and checksum of msg, and msg compressed.
func (p *packer) pack(b, msg []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(msg)))
	p.to = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(msg))
	err := p.zip.Reset(&p.to)
	if err == nil {
		_, err = p.zip.Write(msg)
	}
	if err == nil {
		err = p.zip.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("compressing into memory: %v", err))
	}
	return p.to
}
