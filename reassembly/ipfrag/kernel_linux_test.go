package ipfrag

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// kernelProto is a protocol number for experiments (RFC 3692): without a checksum, so that the bytes of
// copies may differ.
const kernelProto = 253

// kernelPeer sends fragments to the kernel of a namespace, and receives what it joins of them.
type kernelPeer struct {
	tun  *netns.Tun
	sock map[uint8]net.PacketConn
}

var kernelEnds = map[uint8][2]netip.Addr{
	4: {netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.1")},
	6: {netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::1")},
}

func newKernelPeer(t *testing.T) *kernelPeer {
	timing.SkipUnlessLive(t)
	ns := netns.New(t)
	k := &kernelPeer{sock: map[uint8]net.PacketConn{}}
	k.tun = ns.NewTun(t, "tun0",
		netip.PrefixFrom(kernelEnds[4][1], 24), netip.PrefixFrom(kernelEnds[6][1], 64))
	for version, network := range map[uint8]string{4: "ip4:253", 6: "ip6:253"} {
		var err error
		ns.Do(func() { k.sock[version], err = net.ListenPacket(network, kernelEnds[version][1].String()) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.sock[version].Close() })
	}
	return k
}

// kernelFragment is one fragment: its bytes are all the same letter.
type kernelFragment struct {
	off, length int
	more        bool
	letter      byte
}

func (f kernelFragment) String() string {
	s := fmt.Sprintf("%c[%d,%d)", f.letter, f.off, f.off+f.length)
	if !f.more {
		s += "."
	}
	return s
}

func (f kernelFragment) data() []byte { return []byte(strings.Repeat(string(f.letter), f.length)) }

// packet returns the IP packet of the fragment.
func (f kernelFragment) newPacket(version uint8, id uint32) []byte {
	field := uint16(f.off)
	var b []byte
	if version == 4 {
		field = uint16(f.off / 8)
		if f.more {
			field |= 0x2000
		}
		b = make([]byte, 20, 20+f.length)
		b[0], b[8], b[9] = 0x45, 64, kernelProto
		binary.BigEndian.PutUint16(b[2:], uint16(20+f.length))
		binary.BigEndian.PutUint16(b[4:], uint16(id))
		binary.BigEndian.PutUint16(b[6:], field)
		copy(b[12:], kernelEnds[4][0].AsSlice())
		copy(b[16:], kernelEnds[4][1].AsSlice())
		binary.BigEndian.PutUint16(b[10:], ^checksum.Fold(checksum.Add(0, b)))
	} else {
		if f.more {
			field |= 1
		}
		b = make([]byte, 48, 48+f.length)
		b[0], b[6], b[7] = 0x60, 44, 64
		binary.BigEndian.PutUint16(b[4:], uint16(8+f.length))
		copy(b[8:], kernelEnds[6][0].AsSlice())
		copy(b[24:], kernelEnds[6][1].AsSlice())
		b[40] = kernelProto
		binary.BigEndian.PutUint16(b[42:], field)
		binary.BigEndian.PutUint32(b[44:], id)
	}
	return append(b, f.data()...)
}

// join returns the datagrams that the kernel makes of the fragments. A whole packet after them shows
// that it has seen all.
func (k *kernelPeer) join(t *testing.T, version uint8, id uint32, list []kernelFragment) (got []string) {
	t.Helper()
	for _, f := range list {
		k.tun.Write(t, f.newPacket(version, id))
	}
	end := kernelFragment{length: 8, letter: '!'}
	k.tun.Write(t, end.newPacket(version, id+1))
	buf := make([]byte, 1<<16)
	for {
		_ = k.sock[version].SetReadDeadline(time.Now().Add(5 * time.Second))
		n, _, err := k.sock[version].ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		if string(buf[:n]) == string(end.data()) {
			return got
		}
		got = append(got, string(buf[:n]))
	}
}

// joinByTable returns the same of a Table.
func joinByTable(version uint8, id uint32, list []kernelFragment) (got []string) {
	tab := newTable(0)
	for i, f := range list {
		p := &packet.Packet{
			Src:   netip.AddrPortFrom(kernelEnds[version][0], 0),
			Dst:   netip.AddrPortFrom(kernelEnds[version][1], 0),
			Proto: kernelProto, TTL: 64, Payload: f.data(), Wire: f.length,
			Frag: packet.Frag{Set: true, More: f.more, Off: uint32(f.off), ID: id},
		}
		if d := tab.Add(p, uint64(i+1), int64(i+1)); d != nil {
			got = append(got, string(d.Data))
		}
	}
	return got
}

// TestLiveKernel sends random fragments that overlap to this system's kernel, and asks that a Table joins
// the same datagrams with the same bytes.
func TestLiveKernel(t *testing.T) {
	k := newKernelPeer(t)
	for version := uint8(4); version <= 6; version += 2 {
		t.Run(fmt.Sprint("IPv", version), func(t *testing.T) {
			joined, failed := 0, 0
			for seed := range uint64(3000) {
				id := uint32(2*seed + 1)
				list := randomFragments(rand.New(rand.NewPCG(seed, uint64(version))))
				want := k.join(t, version, id, list)
				got := joinByTable(version, id, list)
				joined += len(want)
				if strings.Join(got, " ") != strings.Join(want, " ") {
					if failed++; failed < 12 {
						t.Errorf("seed %d: %v\n got %q\nwant %q", seed, list, got, want)
					}
				}
			}
			if joined < 300 {
				t.Errorf("joined\n got %d datagrams\nwant 300 at least, or the test shows little", joined)
			}
			t.Logf("%d datagrams, %d of 3000 differ", joined, failed)
		})
	}
}

// randomFragments cuts a datagram of up to 64 bytes, and adds fragments that overlap.
func randomFragments(r *rand.Rand) (list []kernelFragment) {
	total := 8 * (2 + r.IntN(6))
	if r.IntN(3) == 0 {
		total += 1 + r.IntN(7)
	}
	letter := byte('A')
	add := func(off, end int, more bool) {
		list = append(list, kernelFragment{off, end - off, more, letter})
		letter++
	}
	for round := range 1 + r.IntN(2) {
		for off := 0; off < total; {
			end := min(off+8*(1+r.IntN(3)), total)
			if round > 0 && r.IntN(3) == 0 {
				off = end
				continue
			}
			if off == 0 && end == total {
				end = 8
			}
			add(off, end, end < total)
			off = end
		}
	}
	for range r.IntN(4) {
		off := 8 * r.IntN(total/8)
		switch r.IntN(8) {
		case 0:
			add(off, off+8*(1+r.IntN(4)), true)
		case 1:
			if off > 0 {
				add(off, off+1+r.IntN(20), false)
			}
		default:
			if end := min(off+8*(1+r.IntN(3)), total); end > off && (off > 0 || end < total) {
				add(off, end, end < total)
			}
		}
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}
