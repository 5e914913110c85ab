package other

import (
	"testing"

	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// classOf is the class that a segment with so many bytes to a port has at a host that nothing is known of.
func classOf(what track.PacketType, port uint16, bytes uint32) int {
	t := New(1)
	t.Know([]uint16{27015}, nil)
	s := track.Sighting{What: what, Flags: track.Connection, SrcPort: 40000, DstPort: port, Bytes: bytes}
	return t.classify(&known{}, &s)
}

// TestBulk: segments full of data to a console's port are a class of their own; commands, and what comes
// to other ports, are none of it.
func TestBulk(t *testing.T) {
	for _, tt := range []struct {
		port  uint16
		bytes uint32
		want  bool
	}{{27015, 1400, true}, {27015, bulkBytes, true}, {27015, bulkBytes - 1, false}, {27015, 0, false}, {22, 1400, false}, {443, 1400, false}} {
		if got := classOf(track.IsAcked, tt.port, tt.bytes) == bulkClass; got != tt.want {
			t.Errorf("port %d, %d bytes: %v", tt.port, tt.bytes, got)
		}
	}
	if classOf(track.IsOpened, 27015, 1400) != synClass {
		t.Error("a SYN with data is no SYN")
	}
}

// TestService: connections to one port that is none of the web are many at a tenth of what they are elsewhere.
func TestService(t *testing.T) {
	for _, tt := range []struct {
		ports []uint16
		want  bool
	}{{[]uint16{25565}, true}, {[]uint16{443}, false}, {[]uint16{8080}, false}, {[]uint16{25565, 22, 80, 25}, false}} {
		s := Spell{view: &view{Senders: measure.NewSenders(topSources)}}
		for i := range 400 {
			s.view.ports.Add(uint32(tt.ports[i%len(tt.ports)]))
		}
		if s.isAtService() != tt.want {
			t.Errorf("%v: %v", tt.ports, !tt.want)
		}
	}
	if (&Spell{}).isAtService() {
		t.Error("the port is unknown")
	}
}
