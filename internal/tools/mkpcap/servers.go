package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"qsniff/internal/test/testpcap"
)

// The servers, by kind. Source servers are the first.
const (
	firstOld        = 150 // Source without the size field, compressed rules
	firstGoldSource = 160
	firstASE        = 180
	firstMaster     = 198
	numServers      = 200
)

// Ports other than serverPort.
const (
	asePort    = 22126 // MTA's: 123 above that of the game
	masterPort = 27011
)

// longestReply is the longest datagram that Ethernet carries in one packet.
const longestReply = 1472

// Part sizes of the engines, in bytes.
const (
	sourcePart     = 1248
	goldSourcePart = 1391
)

// server is a server and its replies, ready to be sent.
type server struct {
	endpoint
	goldSource bool
	script     []step              // of its RCON session, its ASE query or its list
	replies    [rules + 1][][]byte // datagrams, by kind; the ids of parts are put in when sent
}

var maps = []string{"de_dust2", "cs_office", "cp_badlands", "pl_upward", "crossfire", "surf_ski"}

func newServers(seed uint64) []server {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]server, numServers)
	for i := range out {
		s := &out[i]
		s.endpoint = endpoint{serverNet + 1 + uint32(i), serverPort}
		s.replies[players] = [][]byte{playersMessage(rng)}
		switch {
		case i >= firstMaster:
			s.port = masterPort
			s.script = masterScript()
		case i >= firstASE:
			// Every third one fills its datagram.
			room := longestReply
			if i%3 != 0 {
				room = 200 + rng.IntN(1000)
			}
			s.port = asePort
			s.script = aseScript(rng, i, room)
		case i >= firstGoldSource:
			s.goldSource = true
			s.replies[info] = [][]byte{detailedMessage(i, rng)}
			s.replies[rules] = testpcap.SplitGoldSource(rulesMessage(rng, 80+rng.IntN(40), 1), 0, goldSourcePart)
		case i >= firstOld:
			// Half of the replies fit into one part, as all recorded ones do.
			count := 60 + i%2*140
			s.replies[info] = [][]byte{infoMessage(i, rng)}
			s.replies[rules] = testpcap.SplitSource(rulesMessage(rng, count, 8), 0, sourcePart, false, true)
		default:
			s.replies[info] = [][]byte{infoMessage(i, rng)}
			s.replies[rules] = testpcap.SplitSource(rulesMessage(rng, 70+rng.IntN(60), 1), 0, sourcePart, true, false)
			s.script = rconScript(rng, i)
		}
	}
	return out
}

// infoMessage is an S2A_INFO_SRC with EDF B1, the most common form.
func infoMessage(i int, rng *rand.Rand) []byte {
	b := []byte("\xff\xff\xff\xffI\x11")
	b = fmt.Appendf(b, "Benchmark server %d of %d\x00%s\x00tf\x00Team Fortress\x00", i, numServers, maps[i%len(maps)])
	b = binary.LittleEndian.AppendUint16(b, 440)
	b = append(b, byte(rng.IntN(33)), 32, 0, 'd', 'l', 0, 1)
	b = append(b, "9543365\x00\xb1"...)
	b = binary.LittleEndian.AppendUint16(b, serverPort)
	b = binary.LittleEndian.AppendUint64(b, 85568392920039424+uint64(i))
	b = append(b, "cp,increased_maxplayers,nocrits\x00"...)
	return binary.LittleEndian.AppendUint64(b, 440)
}

// detailedMessage is an S2A_INFO_DETAILED with the mod block.
func detailedMessage(i int, rng *rand.Rand) []byte {
	b := []byte("\xff\xff\xff\xffm")
	b = fmt.Appendf(b, "198.18.0.%d:27015\x00Benchmark server %d\x00%s\x00cstrike\x00Counter-Strike\x00", i+1, i, maps[i%len(maps)])
	b = append(b, byte(rng.IntN(17)), 16, 48, 'd', 'l', 0, 1)
	b = append(b, "www.counter-strike.net\x00\x00\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 184_000_000)
	return append(b, 0, 1, 1, 0)
}

func playersMessage(rng *rand.Rand) []byte {
	n := 1 + rng.IntN(24)
	b := append([]byte("\xff\xff\xff\xffD"), byte(n))
	for i := range n {
		b = fmt.Appendf(append(b, 0), "player %d\x00", rng.IntN(1000)+i)
		b = binary.LittleEndian.AppendUint32(b, rng.Uint32N(60))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(rng.IntN(7200))))
	}
	return b
}

// rulesMessage returns a reply with count rules. Their values have digits random digits:
// more than one where the message must not compress well.
func rulesMessage(rng *rand.Rand, count, digits int) []byte {
	b := []byte("\xff\xff\xff\xffE")
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	for i := range count {
		b = fmt.Appendf(b, "sm_option_%d_enabled\x00", i)
		for range digits {
			b = fmt.Appendf(b, "%d", rng.IntN(10))
		}
		b = append(b, 0)
	}
	return b
}
