package packet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/base/checksum"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// TestLiveKernel sends datagrams whose UDP length is right, too long, too short and 0 to this system's
// kernel, and asks that those are misfits which it drops.
func TestLiveKernel(t *testing.T) {
	timing.SkipUnlessLive(t)
	ns := netns.New(t)
	ends := map[int][2]netip.Addr{
		4: {netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.1")},
		6: {netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::1")},
	}
	tun := ns.NewTun(t, "tun0", netip.PrefixFrom(ends[4][1], 24), netip.PrefixFrom(ends[6][1], 64))
	for version, e := range ends {
		var sock net.PacketConn
		var err error
		ns.Do(func() { sock, err = net.ListenPacket("udp", netip.AddrPortFrom(e[1], 27015).String()) })
		if err != nil {
			t.Fatal(err)
		}
		defer sock.Close()
		send := func(length int, payload string) []byte {
			b := udpPacket(version, e, length, payload)
			tun.Write(t, b)
			return b
		}
		// received returns what comes before a datagram that is known to be right.
		received := func() (got []string) {
			send(8+3, "end")
			buf := make([]byte, 100)
			for {
				_ = sock.SetReadDeadline(time.Now().Add(5 * time.Second))
				n, _, err := sock.ReadFrom(buf)
				if err != nil {
					t.Fatal(err)
				}
				if string(buf[:n]) == "end" {
					return got
				}
				got = append(got, string(buf[:n]))
			}
		}
		for _, length := range []int{0, 8, 10, 13, 14, 500, 65535} {
			var p Packet
			frame := send(length, "hello")
			p.Decode(LinkRaw, frame, len(frame))
			want := ""
			if p.Stop == OK && !p.Misfit {
				want = string(p.Payload)
			}
			list := received()
			got := strings.Join(list, " ")
			if got != want || (len(list) > 0) != (p.Stop == OK && !p.Misfit) {
				t.Errorf("IPv%d, UDP length %d: the kernel delivers\n got %d datagrams: %q\nwant %q (misfit %v, %v)", version, length, len(list), got, want, p.Misfit, p.Stop)
			}
		}
	}
}

// udpPacket returns an IP packet with a UDP datagram that claims a length. Over IPv6, which demands a
// checksum, it is right for that length.
func udpPacket(version int, ends [2]netip.Addr, length int, payload string) []byte {
	udp := binary.BigEndian.AppendUint16(nil, 40000)
	udp = binary.BigEndian.AppendUint16(udp, 27015)
	udp = binary.BigEndian.AppendUint16(udp, uint16(length))
	udp = append(append(udp, 0, 0), payload...)
	total := len(udp)
	if version == 6 {
		covered := total
		if length > 0 && length < total {
			covered = length
		}
		src, dst := ends[0].As16(), ends[1].As16()
		pseudo := append(append(append([]byte{}, src[:]...), dst[:]...), 0, 0, byte(covered>>8), byte(covered), 0, 0, 0, 17)
		binary.BigEndian.PutUint16(udp[6:], ^checksum.Fold(checksum.Add(0, append(pseudo, udp[:covered]...))))
		b := []byte{0x60, 0, 0, 0, byte(total >> 8), byte(total), 17, 64}
		return append(append(append(b, src[:]...), dst[:]...), udp...)
	}
	src, dst := ends[0].As4(), ends[1].As4()
	b := []byte{0x45, 0, byte((20 + total) >> 8), byte(20 + total), 0, 1, 0, 0, 64, 17, 0, 0}
	b = append(append(b, src[:]...), dst[:]...)
	binary.BigEndian.PutUint16(b[10:], ^checksum.Fold(checksum.Add(0, b)))
	return append(b, udp...)
}
