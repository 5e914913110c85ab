package sensor

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/track"
)

// FuzzSensor: whatever comes, and however clocks go, messages can be encoded and parsed (see put),
// have consecutive numbers, and a window has no more of them than limits allow.
func FuzzSensor(f *testing.F) {
	var seed []byte
	for i := range 200 {
		seed = append(seed, byte(i%7), byte(i), byte(i*3), byte(i/8), byte(i*5))
	}
	f.Add(seed)
	f.Add([]byte{9, 0, 0, 0, 255, 0, 1, 1, 1, 1, 8, 255, 255, 255, 255, 0, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 500)]
		h := newHost(t, serversOf(2), nil)
		servers := serversOf(4)
		for ; len(data) >= 5; data = data[5:] {
			client := address(0xcb007100 | uint32(data[1]))
			server := servers[data[2]%4]
			n := binary.LittleEndian.Uint16(data[3:])
			switch data[0] % 10 {
			case 0, 1:
				h.visit(client, server)
			case 2:
				for range n % 300 {
					h.packet(track.IsRequest, address(uint32(n)*2654435761), n, server, "A2S_INFO", uint32(data[1]))
					n++
				}
			case 3:
				h.packet(track.IsReply, client, n, netip.AddrPortFrom(client.Addr(), n), "S2A_RULES", 0)
			case 4, 5, 6:
				h.pass(time.Duration(n) * time.Millisecond)
			case 7:
				h.pass(time.Duration(n) * time.Minute)
			case 8: // the clock is set, to any time
				h.now = int64(uint64(n) << 48)
			case 9:
				if n > math.MaxUint16-3 { // the detector's time ends meanwhile
					h.age = max(h.age, 100*365*24*int64(time.Hour))
				}
				h.packet(track.IsRequest, client, n, server, "A2S_PLAYER", 0)
			}
		}
		h.end()
		counts, size := map[fleet.Kind]int{}, 0
		for i, m := range h.got {
			head := fleet.HeadOf(m)
			if head.Seq != uint64(i+1) {
				t.Fatalf("message %d has number %d", i+1, head.Seq)
			}
			data, _ := fleet.Encode(m)
			size += len(data)
			if counts[head.Kind]++; head.Kind != fleet.KindHost {
				continue
			}
			if size > windowBytes || counts[fleet.KindServer] > fleet.MaxServers || counts[fleet.KindIncident] > incidentsEach+updatesEach || counts[fleet.KindFinding] > findingsEach {
				t.Errorf("a window has %v, %d bytes", counts, size)
			}
			clear(counts)
			size = 0
		}
	})
}
