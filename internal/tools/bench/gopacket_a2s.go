package main

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"net/netip"
	"time"
)

type (
	challengeFields struct {
		Challenge int32 `json:"challenge"`
	}
	infoFields struct {
		Protocol   uint8  `json:"protocol"`
		Name       string `json:"name"`
		Map        string `json:"map"`
		Folder     string `json:"folder"`
		Game       string `json:"game"`
		AppID      uint16 `json:"app_id"`
		Players    uint8  `json:"players"`
		MaxPlayers uint8  `json:"max_players"`
		Bots       uint8  `json:"bots"`
		Type       string `json:"server_type"`
		System     string `json:"environment"`
		Visibility uint8  `json:"visibility"`
		VAC        uint8  `json:"vac"`
		Version    string `json:"version"`
		EDF        uint8  `json:"edf,omitempty"`
		Port       uint16 `json:"port,omitempty"`
		SteamID    uint64 `json:"steam_id,omitempty,string"`
		TVPort     uint16 `json:"tv_port,omitempty"`
		TVName     string `json:"tv_name,omitempty"`
		Keywords   string `json:"keywords,omitempty"`
		GameID     uint64 `json:"game_id,omitempty,string"`
	}
	playerFields struct {
		Index    uint8   `json:"index"`
		Name     string  `json:"name"`
		Score    int32   `json:"score"`
		Duration float32 `json:"duration"`
	}
	playersFields struct {
		Count   uint8          `json:"count"`
		Players []playerFields `json:"players"`
	}
	ruleFields struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	rulesFields struct {
		Count uint16       `json:"count"`
		Rules []ruleFields `json:"rules"`
	}
)

// bytesLeft reads a message; what is not there reads as zero.
type bytesLeft []byte

func (b *bytesLeft) next(n int) []byte {
	var zero [8]byte
	if len(*b) < n {
		*b = nil
		return zero[:n]
	}
	v := (*b)[:n]
	*b = (*b)[n:]
	return v
}

func (b *bytesLeft) u8() uint8   { return b.next(1)[0] }
func (b *bytesLeft) u16() uint16 { return binary.LittleEndian.Uint16(b.next(2)) }
func (b *bytesLeft) u32() uint32 { return binary.LittleEndian.Uint32(b.next(4)) }
func (b *bytesLeft) u64() uint64 { return binary.LittleEndian.Uint64(b.next(8)) }

func (b *bytesLeft) text() string {
	s, rest, _ := bytes.Cut(*b, []byte{0})
	*b = rest
	return string(s)
}

// readMessage decodes a message; name is empty where it is none of these.
func readMessage(msg []byte) (name string, fields any) {
	if len(msg) < 5 || !bytes.HasPrefix(msg, []byte("\xff\xff\xff\xff")) {
		return "", nil
	}
	b := bytesLeft(msg[5:])
	switch msg[4] {
	case 'T':
		if b.text() != "Source Engine Query" {
			return "", nil
		}
		return "A2S_INFO", readChallenge(b)
	case 'U':
		return "A2S_PLAYER", readChallenge(b)
	case 'V':
		return "A2S_RULES", readChallenge(b)
	case 'A':
		return "S2C_CHALLENGE", readChallenge(b)
	case 'I':
		return "S2A_INFO_SRC", readInfo(b)
	case 'D':
		return "S2A_PLAYER", readPlayers(b)
	case 'E':
		return "S2A_RULES", readRules(b)
	}
	return "", nil
}

func readChallenge(b bytesLeft) any {
	if len(b) < 4 {
		return struct{}{}
	}
	return challengeFields{int32(b.u32())}
}

func readInfo(b bytesLeft) infoFields {
	f := infoFields{Protocol: b.u8(), Name: b.text(), Map: b.text(), Folder: b.text(), Game: b.text(), AppID: b.u16(),
		Players: b.u8(), MaxPlayers: b.u8(), Bots: b.u8(), Type: string(b.next(1)), System: string(b.next(1)),
		Visibility: b.u8(), VAC: b.u8(), Version: b.text(), EDF: b.u8()}
	if f.EDF&0x80 != 0 {
		f.Port = b.u16()
	}
	if f.EDF&0x10 != 0 {
		f.SteamID = b.u64()
	}
	if f.EDF&0x40 != 0 {
		f.TVPort, f.TVName = b.u16(), b.text()
	}
	if f.EDF&0x20 != 0 {
		f.Keywords = b.text()
	}
	if f.EDF&0x01 != 0 {
		f.GameID = b.u64()
	}
	return f
}

func readPlayers(b bytesLeft) playersFields {
	f := playersFields{Count: b.u8()}
	for range f.Count {
		if len(b) == 0 {
			break
		}
		f.Players = append(f.Players, playerFields{b.u8(), b.text(), int32(b.u32()), math.Float32frombits(b.u32())})
	}
	return f
}

func readRules(b bytesLeft) rulesFields {
	f := rulesFields{Count: b.u16()}
	for range f.Count {
		if len(b) == 0 {
			break
		}
		f.Rules = append(f.Rules, ruleFields{b.text(), b.text()})
	}
	return f
}

// splitKey names a split message.
type splitKey struct {
	src, dst netip.AddrPort
	id       uint32
}

// splitSet is the parts of a message so far, as they came.
type splitSet struct {
	began time.Time
	parts [][]byte
}

type splits map[splitKey]*splitSet

// The most sets that are kept, and for how long.
const (
	maxSets = 4096
	maxAge  = 5 * time.Second
)

// join returns the message that a datagram is or completes, or nil.
func (s splits) join(b []byte, src, dst netip.AddrPort, now time.Time) []byte {
	if len(b) < 10 || !bytes.HasPrefix(b, []byte("\xfe\xff\xff\xff")) {
		return b
	}
	k := splitKey{src, dst, binary.LittleEndian.Uint32(b[4:])}
	set := s[k]
	if set == nil {
		if len(s) >= maxSets {
			for k, old := range s {
				if now.Sub(old.began) > maxAge {
					delete(s, k)
				}
			}
		}
		set = &splitSet{began: now}
		s[k] = set
	}
	set.parts = append(set.parts, bytes.Clone(b))
	msg := set.assemble(k.id>>31 != 0)
	if msg != nil {
		delete(s, k)
	}
	return msg
}

// assemble returns the message once all parts are there. The first part shows which
// engine's header they have.
func (s *splitSet) assemble(packed bool) []byte {
	for _, p := range s.parts {
		switch isFirst := func(at int) bool {
			return len(p) >= at+4 && (!packed && string(p[at:at+4]) == "\xff\xff\xff\xff" || packed && len(p) > at+10 && string(p[at+8:at+11]) == "BZh")
		}; {
		case p[9] == 0 && isFirst(12):
			return s.order(12, int(p[8]), packed, func(p []byte) int { return int(p[9]) })
		case p[9] == 0 && isFirst(10):
			return s.order(10, int(p[8]), packed, func(p []byte) int { return int(p[9]) })
		case p[8]>>4 == 0 && isFirst(9):
			return s.order(9, int(p[8]&15), packed, func(p []byte) int { return int(p[8] >> 4) })
		}
	}
	return nil
}

// order joins the parts in the order of their numbers.
func (s *splitSet) order(header, total int, packed bool, number func([]byte) int) []byte {
	parts := make([][]byte, total)
	for _, p := range s.parts {
		if n := number(p); n < total && len(p) >= header {
			parts[n] = p[header:]
		}
	}
	var msg []byte
	for _, p := range parts {
		if p == nil {
			return nil
		}
		msg = append(msg, p...)
	}
	if packed {
		return unpack(msg)
	}
	return msg
}

// unpack decompresses a message, whose size and checksum come first.
func unpack(b []byte) []byte {
	const most = 1 << 16
	size, sum := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	msg, err := io.ReadAll(io.LimitReader(bzip2.NewReader(bytes.NewReader(b[8:])), most))
	if err != nil || len(msg) != int(size) || crc32.ChecksumIEEE(msg) != sum {
		return nil
	}
	return msg
}
