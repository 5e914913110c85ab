package live

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"golang.org/x/sys/unix"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/testpcap"
)

// each runs f with every backend.
func each(t *testing.T, f func(t *testing.T, b Backend)) {
	for _, b := range backends() {
		t.Run(b.String(), func(t *testing.T) { f(t, b) })
	}
}

// taken is a packet that was captured, with its own memory.
type taken struct {
	capture.Packet
	got time.Time
}

// readAll reads until the source ends, and returns why.
func readAll(s *Source) (all []taken, err error) {
	var b capture.Batch
	for {
		err := s.Read(&b)
		now := time.Now()
		for _, p := range b.Packets {
			p.Data = append([]byte(nil), p.Data...)
			all = append(all, taken{p, now})
		}
		if err != nil {
			return all, err
		}
	}
}

// payload is the UDP payload of a packet, nil if there is none.
func payload(p *capture.Packet) []byte {
	var n packet.Packet
	n.Decode(p.Link, p.Data, int(p.Wire))
	if n.Stop != packet.OK {
		return nil
	}
	return n.Payload
}

// numbered sends n datagrams that carry their number.
func numbered(t testing.TB, conn net.Conn, n int) {
	t.Helper()
	b := []byte{0xff, 0xff, 0xff, 0xff, 'T', 0, 0, 0, 0, 0, 0, 0, 0}
	for i := range n {
		binary.BigEndian.PutUint32(b[5:], uint32(i))
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
}

// inOrder checks that the n numbered datagrams came, each once and in order.
func inOrder(t *testing.T, all []taken, n int) {
	t.Helper()
	next := uint32(0)
	for i := range all {
		b := payload(&all[i].Packet)
		if len(b) != 13 || b[4] != 'T' {
			continue
		}
		if got := binary.BigEndian.Uint32(b[5:]); got != next {
			t.Fatalf("datagram number\ngot  %d\nwant %d", got, next)
		}
		next++
	}
	if int(next) != n {
		t.Errorf("datagrams\ngot  %d\nwant %d", next, n)
	}
}

// TestCable: what passes through a cable is captured, whole, once and in order, with
// the time of the clock.
func TestCable(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		const n = 5000
		here, there := cable(t)
		here.Listen(t, hereIP+":27015")
		s := open(t, here, Options{Interfaces: []string{hereName}, Backend: backend})
		conn := there.Dial(t, hereIP+":27015")
		before := time.Now().UnixNano()
		numbered(t, conn, n)
		s.Stop()
		all, err := readAll(s)
		if err != io.EOF {
			t.Errorf("error\ngot  %v\nwant %v", err, io.EOF)
		}
		inOrder(t, all, n)
		for i, p := range all {
			if p.No != uint64(i)+1 || p.Link != linkEthernet || p.Iface != 0 || int(p.Wire) != len(p.Data) {
				t.Fatalf("packet %d: number %d, link %d, interface %d, %d of %d bytes", i, p.No, p.Link, p.Iface, len(p.Data), p.Wire)
			}
			if p.Nanos < before-int64(time.Millisecond) || p.Nanos > time.Now().UnixNano() {
				t.Fatalf("packet %d: time %v", i, time.Unix(0, p.Nanos))
			}
		}
		if got := s.Stats(); got.Received != uint64(len(all)) || got.Dropped != 0 {
			t.Errorf("%d packets\ngot  %+v", len(all), got)
		}
		if in := s.Interfaces(); len(in) != 1 || in[0].Name != hereName || in[0].Link != linkEthernet {
			t.Errorf("interfaces: %+v", in)
		}
	})
}

// TestLongPackets: of packets so long that a batch has no room for the next one none is lost or
// changed.
func TestLongPackets(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		const n = 40
		here, _ := cable(t)
		here.RunIP(t, "link set lo up")
		here.Listen(t, "127.0.0.1:27015")
		s := open(t, here, Options{Interfaces: []string{"lo"}, Backend: backend})
		conn, sent := here.Dial(t, "127.0.0.1:27015"), make([][]byte, n)
		for i := range sent {
			sent[i] = bytes.Repeat([]byte{byte(i + 1)}, 60_000+i)
			if _, err := conn.Write(sent[i]); err != nil {
				t.Fatal(err)
			}
		}
		s.Stop()
		var b capture.Batch
		got, wasFull := [][]byte{}, false
		for err := error(nil); err == nil; {
			err = s.Read(&b)
			for i := range b.Packets {
				if x := payload(&b.Packets[i]); len(x) >= 60_000 {
					got = append(got, bytes.Clone(x))
				}
			}
			wasFull = wasFull || cap(b.Buf)-len(b.Buf) < 60_000
		}
		if !wasFull {
			t.Error("no batch was full: this shows nothing")
		}
		if !slices.EqualFunc(got, sent, bytes.Equal) {
			t.Errorf("%d packets, which are not the %d that were sent", len(got), n)
		}
	})
}

// TestSame: both backends deliver the same of whatever the captures of the repository
// hold, with the automatic filter and without.
func TestSame(t *testing.T) {
	if len(backends()) < 2 {
		t.Skip("this build has one backend")
	}
	names, _ := filepath.Glob(filepath.Join(pcapfiles, "*", "*.pcap"))
	var frames [][]byte
	for _, name := range names {
		for _, p := range packets(t, name) {
			const longest = 1514 // that the cable takes
			if p.Link == linkEthernet && len(p.Data) >= 14 && len(p.Data) <= longest && len(frames) < 4000 {
				frames = append(frames, p.Data)
			}
		}
	}
	for _, filter := range []*AutoFilter{nil, usual} {
		here, there := cable(t)
		here.RunIP(t, "addr flush dev "+hereName) // so that nobody answers
		here.RunIP(t, "link set "+hereName+" arp off")
		var sources []*Source
		for _, b := range backends() {
			sources = append(sources, open(t, here, Options{Interfaces: []string{hereName}, Backend: b, AutoFilter: filter}))
		}
		there.SendFrames(t, thereName, frames...)
		var got [][]taken
		for _, s := range sources {
			s.Stop()
			all, _ := readAll(s)
			got = append(got, all)
		}
		if len(got[0]) != len(got[1]) || filter == nil && len(got[0]) != len(frames) || len(got[0]) < 1000 {
			t.Fatalf("packets\ngot  %d and %d\nsent %d", len(got[0]), len(got[1]), len(frames))
		}
		for i, a := range got[0] {
			b := got[1][i]
			if !bytes.Equal(a.Data, b.Data) || a.Wire != b.Wire || a.Link != b.Link || a.Nanos != b.Nanos || a.No != b.No {
				t.Fatalf("packet %d\ngot  %+v\nand  %+v", i, a.Packet, b.Packet)
			}
			if filter == nil && !bytes.Equal(a.Data, frames[i]) {
				t.Fatalf("packet %d\ngot  % x\nsent % x", i, a.Data, frames[i])
			}
		}
		t.Logf("%d packets of %d", len(got[0]), len(frames))
	}
}

// TestPacketSource: gopacket decodes what is captured, read packet by packet, with a copy
// of each and without.
func TestPacketSource(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		const n = 2000
		ns := netns.New(t)
		ns.RunIP(t, "link set lo up")
		ns.Listen(t, "127.0.0.1:27015")
		s := open(t, ns, Options{Interfaces: []string{"lo"}, Backend: backend})
		numbered(t, ns.Dial(t, "127.0.0.1:27015"), n)
		in := capture.NewPacketData(s)
		next := 0
		check := func(b []byte) {
			if len(b) != 13 || binary.BigEndian.Uint32(b[5:]) != uint32(next) {
				t.Fatalf("datagram %d: % x", next, b)
			}
			next++
		}
		var (
			eth   layers.Ethernet
			ip    layers.IPv4
			udp   layers.UDP
			data  gopacket.Payload
			found []gopacket.LayerType
		)
		parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &ip, &udp, &data)
		for next < n/2 {
			frame, _, err := in.ZeroCopyReadPacketData()
			if err != nil || parser.DecodeLayers(frame, &found) != nil {
				t.Fatal(err)
			}
			check(data)
		}
		s.Stop()
		for p := range gopacket.NewPacketSource(in, layers.LayerTypeEthernet).Packets() {
			check(p.Layer(layers.LayerTypeUDP).LayerPayload())
		}
		if next != n {
			t.Errorf("datagrams\ngot  %d\nwant %d", next, n)
		}
	})
}

// TestLoopbackOnce: loopback hands every packet to a capture twice.
func TestLoopbackOnce(t *testing.T) {
	for _, name := range []string{"lo", Any} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				ns := netns.New(t)
				ns.RunIP(t, "link set lo up")
				ns.Listen(t, "127.0.0.1:27015")
				s := open(t, ns, Options{Interfaces: []string{name}, Backend: backend})
				numbered(t, ns.Dial(t, "127.0.0.1:27015"), 100)
				s.Stop()
				all, _ := readAll(s)
				inOrder(t, all, 100)
			})
		})
	}
}

// TestVLAN: the tag that the kernel takes off is put back, on the interface and on
// "any". The kernel takes it off frames that arrive, where the card has not.
func TestVLAN(t *testing.T) {
	for _, name := range []string{hereName, Any} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				here, there := cable(t)
				tags := []uint16{42, 43}
				if name == Any {
					tags = tags[:1] // of a second one Linux does not tell where the link header is missing
				}
				s := open(t, here, Options{Interfaces: []string{name}, Backend: backend, AutoFilter: usual})
				frame := datagram([]byte("\xff\xff\xff\xffT"), 27015).Frame(testpcap.Link{Type: linkEthernet, VLANs: tags})
				there.SendFrames(t, thereName, frame)
				s.Stop()
				all, _ := readAll(s)
				if len(all) != 1 {
					t.Fatalf("packets\ngot  %d\nwant 1", len(all))
				}
				p := all[0]
				want := frame
				if name == Any && backend == Libpcap { // whose older cooked header is followed by the tag
					if p.Link != linkSLL {
						t.Errorf("link\ngot  %d\nwant %d", p.Link, linkSLL)
					}
					if got := payload(&p.Packet); len(got) != 5 {
						t.Errorf("payload: % x", got)
					}
					return
				}
				if name == Any {
					want = frame[macsLen:]
					if got := binary.BigEndian.Uint16(p.Data); got != etherVLAN {
						t.Errorf("protocol\ngot  %#x\nwant %#x", got, etherVLAN)
					}
					p.Data = append(p.Data[:2:2], p.Data[sll2Len:]...)
				}
				if !bytes.Equal(p.Data, want) {
					t.Errorf("frame\ngot  % x\nwant % x", p.Data, want)
				}
			})
		})
	}
}

// TestDeviceWithoutHeader: packets of a tun device begin with the IP header.
func TestDeviceWithoutHeader(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		ns := netns.New(t)
		device := ns.OpenTun(t, "tun0")
		ns.RunIP(t, "addr add 198.18.0.1/24 dev tun0")
		ns.RunIP(t, "link set tun0 up")
		s := open(t, ns, Options{Interfaces: []string{"tun0"}, Backend: backend, AutoFilter: usual})
		numbered(t, ns.Dial(t, "198.18.0.9:27015"), 10)
		unix.Close(device)
		all, _ := readAll(s)
		inOrder(t, all, 10)
		for _, p := range all {
			if p.Link != linkRaw || p.Data[0]>>4 != 4 {
				t.Fatalf("link %d: % x", p.Link, p.Data)
			}
		}
	})
}

// TestSnap cuts packets and keeps their length.
func TestSnap(t *testing.T) {
	for _, name := range []string{hereName, Any} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				here, there := cable(t)
				s := open(t, here, Options{Interfaces: []string{name}, Backend: backend, Snap: 60})
				conn := there.Dial(t, hereIP+":27015")
				if _, err := conn.Write(make([]byte, 1000)); err != nil {
					t.Fatal(err)
				}
				s.Stop()
				all, _ := readAll(s)
				if len(all) == 0 {
					t.Fatal("nothing captured")
				}
				want := 14 + 20 + 8 + 1000
				switch {
				case name == Any && backend == Libpcap:
					want += 16 - 14 // the older cooked header
				case name == Any:
					want += sll2Len - 14
				}
				if p := all[0]; len(p.Data) != 60 || int(p.Wire) != want {
					t.Errorf("bytes\ngot  %d of %d\nwant 60 of %d", len(p.Data), p.Wire, want)
				}
			})
		})
	}
}

// TestSeveral: packets of two interfaces come by time, each with its number.
func TestSeveral(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		here, there := cable(t)
		here.RunIP(t, "link set lo up")
		here.Listen(t, "127.0.0.1:27015")
		here.Listen(t, hereIP+":1")
		s := open(t, here, Options{Interfaces: []string{"lo", hereName}, Backend: backend})
		far, near := there.Dial(t, hereIP+":1"), here.Dial(t, "127.0.0.1:27015")
		for range 200 {
			for _, c := range []net.Conn{far, near} {
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Stop()
		all, _ := readAll(s)
		seen, turns := [2]int{}, 0
		for i, p := range all {
			if len(payload(&p.Packet)) != 1 {
				continue
			}
			seen[p.Iface]++
			if i > 0 && all[i-1].Iface != p.Iface {
				turns++
			}
		}
		if seen != [2]int{200, 200} {
			t.Errorf("packets of both interfaces\ngot  %v\nwant 200 each", seen)
		}
		if turns < 300 {
			t.Errorf("the interfaces take turns %d times, want about 400", turns)
		}
	})
}

// The ends of the cable between two namespaces.
const (
	hereName, thereName = "here0", "there0"
	hereIP, thereIP     = "198.18.0.1", "198.18.0.2"
)

// cable makes two namespaces joined by a cable.
func cable(t testing.TB) (here, there *netns.Namespace) {
	t.Helper()
	return netns.NewCable(t, netns.End{Name: hereName, IP: hereIP}, netns.End{Name: thereName, IP: thereIP})
}

// open begins a capture in the namespace. It is closed with t.
func open(t testing.TB, ns *netns.Namespace, o Options) *Source {
	t.Helper()
	s, err := try(ns, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func try(ns *netns.Namespace, o Options) (s *Source, err error) {
	ns.Do(func() { s, err = Open(o) })
	return s, err
}

// backends are those that this build has.
func backends() (all []Backend) {
	if HasAFPacket {
		all = append(all, AFPacket)
	}
	if HasLibpcap {
		all = append(all, Libpcap)
	}
	return all
}

// TestOffload: a sniffer sees datagrams that a program sent with UDP_SEGMENT as one packet, at both
// ends of a cable. The kernel's ring has their size, and nothing more stands before the packet. On Any,
// whose packets have no header of their device, the kernel has no place for it.
func TestOffload(t *testing.T) {
	if !isKernel(6, 2) {
		t.Skip("this kernel has no word for merged datagrams")
	}
	here, there := cable(t)
	const size, n = 13, 20
	for _, at := range []string{hereName, Any} {
		t.Run(at, func(t *testing.T) {
			s := open(t, here, Options{Interfaces: []string{at}, Backend: AFPacket})
			remote := open(t, there, Options{Interfaces: []string{thereName}, Backend: AFPacket})
			there.Listen(t, thereIP+":27015")
			conn := here.Dial(t, thereIP+":27015").(*net.UDPConn)
			raw, err := conn.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size) })
			if err != nil {
				t.Skip("no UDP_SEGMENT here: ", err)
			}
			whole := bytes.Repeat([]byte("\xff\xff\xff\xffT12345678"), n)
			if _, err := conn.Write(whole); err != nil {
				t.Fatal(err)
			}
			raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, 0) })
			if _, err := conn.Write(whole[:2*size]); err != nil {
				t.Fatal(err)
			}
			for i, s := range []*Source{s, remote} {
				segment := uint16(size)
				if i == 0 && at == Any {
					segment = 0
				}
				s.Stop()
				all, _ := readAll(s)
				var sizes []uint16
				for j := range all {
					if b := payload(&all[j].Packet); bytes.HasPrefix(whole, b) && len(b) >= size {
						sizes = append(sizes, uint16(len(b)), all[j].Segment)
					}
				}
				if len(sizes) != 4 || sizes[0] != size*n || sizes[1] != segment || sizes[2] != 2*size || sizes[3] != 0 {
					t.Errorf("payloads and their segments: got %v, want %v", sizes, []uint16{size * n, segment, 2 * size, 0})
				}
			}
		})
	}
}
