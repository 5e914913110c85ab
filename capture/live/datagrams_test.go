package live

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/timing"
)

// openSocket opens a source that is a socket at a free port, and a connection to it.
func openSocket(t *testing.T, host string, snap int) (*Source, net.Conn, netip.AddrPort) {
	t.Helper()
	free, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("this machine has no %s: %v", host, err)
	}
	at := free.LocalAddr().(*net.UDPAddr).AddrPort()
	free.Close()
	s, err := Open(Options{Interfaces: []string{DatagramPrefix + at.String()}, Snap: snap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c, at
}

// TestDatagrams: what comes to a socket is packets with headers that fit, in order, with the time at which they came.
func TestDatagrams(t *testing.T) {
	if err := AFPacket.checkAvailable(); err != nil {
		t.Skip(err)
	}
	for _, tc := range []struct {
		host    string
		headers int
	}{{"127.0.0.1", 28}, {"::1", 48}} {
		s, c, at := openSocket(t, tc.host, 0)
		before := time.Now()
		sent := [][]byte{{}, []byte("one"), bytes.Repeat([]byte{7}, 1400), bytes.Repeat([]byte{9}, 60000)}
		for _, data := range sent {
			if _, err := c.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		var b capture.Batch
		var got []capture.Packet
		for end := time.Now().Add(timing.Patience); len(got) < len(sent) && time.Now().Before(end); {
			if err := s.Read(&b); err != nil {
				t.Fatal(err)
			}
			for _, p := range b.Packets {
				p.Data = bytes.Clone(p.Data)
				got = append(got, p)
			}
		}
		if len(got) != len(sent) {
			t.Fatalf("%s: %d packets came, want %d", tc.host, len(got), len(sent))
		}
		from := c.LocalAddr().(*net.UDPAddr).AddrPort()
		for i, p := range got {
			if int(p.Wire) != tc.headers+len(sent[i]) || len(p.Data) != int(p.Wire) || !bytes.Equal(p.Data[tc.headers:], sent[i]) || p.Link != linkRaw {
				t.Fatalf("%s: packet %d has %d of %d bytes, link %d", tc.host, i, len(p.Data), p.Wire, p.Link)
			}
			udp := p.Data[tc.headers-8:]
			src, dst := p.Data[12:16], p.Data[16:20]
			if tc.headers == 48 {
				src, dst = p.Data[8:24], p.Data[24:40]
			}
			if !bytes.Equal(src, from.Addr().AsSlice()) || !bytes.Equal(dst, at.Addr().AsSlice()) || binary.BigEndian.Uint16(udp) != from.Port() ||
				binary.BigEndian.Uint16(udp[2:]) != tzspPort || int(binary.BigEndian.Uint16(udp[4:])) != 8+len(sent[i]) {
				t.Errorf("%s: packet %d has other headers: %x", tc.host, i, p.Data[:tc.headers])
			}
			if age := time.Unix(0, p.Nanos).Sub(before); age < -time.Second || age > timing.Patience {
				t.Errorf("%s: packet %d came %v after it was sent", tc.host, i, age)
			}
		}
		if tc.headers == 28 && headerSum(got[1].Data[:20]) != 0xffff {
			t.Errorf("the checksum of %x is wrong", got[1].Data[:20])
		}
	}
}

func headerSum(h []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	return uint16(sum&0xffff + sum>>16)
}

// TestDatagramNames: a name is one address with a port, and a port has one owner.
func TestDatagramNames(t *testing.T) {
	for name, want := range map[string]bool{"tzsp:127.0.0.1:37008": true, "tzsp::37008": true, "tzsp:[::1]:1": true,
		"tzsp:": false, "tzsp:37008": false, "tzsp:127.0.0.1": false, "tzsp:127.0.0.1:0": false, "tzsp:host.example:37008": false, "tzsp:127.0.0.1:99999": false} {
		if err := CheckInterface(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := AFPacket.checkAvailable(); err != nil {
		t.Skip(err)
	}
	_, _, at := openSocket(t, "127.0.0.1", 0)
	if s, err := Open(Options{Interfaces: []string{DatagramPrefix + at.String()}}); err == nil {
		s.Close()
		t.Error("two have one port")
	}
}
