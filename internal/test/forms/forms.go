// Package forms derives captures from one piece of traffic: the same packets as they are captured on
// one interface, on all of a host, before and after a translation of addresses, several times, and in
// several files. A test reads each form, and expects the same messages of all. It is not part of the
// program.
//
//	traffic (Base)  ->  frames (Capture: where each packet is seen, and when)  ->  files (Pcapng)
package forms

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"qsniff/internal/test/testpcap"
)

// Packet is a datagram as its sender sent it.
type Packet struct {
	testpcap.Datagram
	Nanos  int64 // Unix time
	IsBack bool  // from the server
}

// Server is the server of Base.
var Server = netip.MustParseAddrPort("203.0.113.86:27015")

// Base returns exchanges, a second apart, of A2S_INFO with a challenge, each of another client,
// and in their midst a flood of so many equal requests of 50 sources, 5,000 a second.
func Base(exchanges, flood int) []Packet {
	var all []Packet
	id := uint32(100)
	add := func(nanos int64, client netip.AddrPort, isBack bool, payload string) {
		d := testpcap.Datagram{Src: client, Dst: Server, TTL: 52, ID: id, Payload: []byte(payload)}
		if isBack {
			d.Src, d.Dst, d.TTL = Server, client, 64
		}
		id++
		all = append(all, Packet{d, nanos, isBack})
	}
	const ms = 1_000_000
	for i := range exchanges {
		at := testpcap.Start + int64(i)*1000*ms
		client := Client(i)
		challenge := string(binary.LittleEndian.AppendUint32(nil, uint32(i)*7919+5))
		add(at, client, false, Request)
		add(at+10*ms, client, true, "\xff\xff\xff\xffA"+challenge)
		add(at+30*ms, client, false, Request+challenge)
		add(at+40*ms, client, true, Reply)
	}
	for i := range flood {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 50)}), 27005)
		add(testpcap.Start+int64(exchanges)*500*ms+int64(i)*ms/5, client, false, Request)
	}
	slices.SortStableFunc(all, func(a, b Packet) int { return int(a.Nanos - b.Nanos) })
	return all
}

// Client is the client of an exchange of Base.
func Client(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), uint16(30000+i%1000))
}

// Request and Reply are the messages of Base.
const (
	Request = "\xff\xff\xff\xffTSource Engine Query\x00"
	Reply   = "\xff\xff\xff\xffI\x11Name\x00de_dust2\x00cstrike\x00Counter-Strike\x00\x0a\x00\x05\x20\x00dl\x00\x011.1.2.7\x00"
)

// WithID returns packets with other identifications in their IP headers.
func WithID(all []Packet, id func(i int) uint32) []Packet {
	all = slices.Clone(all)
	for i := range all {
		all[i].ID = id(i)
	}
	return all
}

// Hop is where a packet is captured on its way.
type Hop struct {
	Delay   int64  // in nanoseconds, since the first hop
	Iface   uint32 // number in the file, or index in the header of the any device
	IsSent  bool   // by the host, for the any device
	Inside  bool   // the server has its address of the container
	Forward uint8  // how often the host has forwarded the packet: that much less is its time to live
}

// Frame is a captured packet.
type Frame struct {
	Nanos int64
	Iface uint32
	Data  []byte
}

// Capture returns the frames of traffic on a host, by time: each packet at each hop of its direction.
// inside is the address of the server in its container. With cooked headers the file has one interface.
func Capture(all []Packet, link int, in, out []Hop, inside netip.AddrPort) (frames []Frame) {
	for _, p := range all {
		hops := in
		if p.IsBack {
			hops = out
		}
		for _, h := range hops {
			d := p.Datagram
			d.TTL -= h.Forward
			switch {
			case h.Inside && p.IsBack:
				d.Src = inside
			case h.Inside:
				d.Dst = inside
			}
			f := Frame{Nanos: p.Nanos + h.Delay, Iface: h.Iface, Data: d.Frame(testpcap.Link{Type: uint16(link)})}
			switch link {
			case testpcap.LinkSLL: // no interface, but the sender's address: inside it is the bridge's or the container's
				f.Data[1], f.Data[11], f.Iface = 0, byte(h.Iface), 0
				if h.Inside {
					f.Data[11] = 9
				}
				if h.IsSent {
					f.Data[1] = 4
				}
			case testpcap.LinkSLL2:
				binary.BigEndian.PutUint32(f.Data[4:], h.Iface)
				f.Data[10], f.Iface = 0, 0
				if h.IsSent {
					f.Data[10] = 4
				}
			}
			frames = append(frames, f)
		}
	}
	slices.SortStableFunc(frames, func(a, b Frame) int { return int(a.Nanos - b.Nanos) })
	return frames
}

// OneInterface is the way of packets to and from a server on the host itself.
var OneInterface = [2][]Hop{{{Iface: 2}}, {{Iface: 2, IsSent: true}}}

// Container is the way of packets through the host to and from the container Inside: its network
// card, the bridge, and the interface of the container.
var Container = [2][]Hop{
	{{Iface: 2}, {Delay: 20_000, Iface: 4, IsSent: true, Inside: true, Forward: 1}, {Delay: 30_000, Iface: 9, IsSent: true, Inside: true, Forward: 1}},
	{{Iface: 9, Inside: true}, {Delay: 10_000, Iface: 4, Inside: true}, {Delay: 30_000, Iface: 2, IsSent: true, Forward: 1}},
}

// Inside is an address of a container.
var Inside = netip.MustParseAddrPort("172.17.0.2:27015")

// Times returns hops that capture each packet so many times at one place, apart by delay nanoseconds.
func Times(n int, delay int64) (hops []Hop) {
	for i := range n {
		hops = append(hops, Hop{Delay: int64(i) * delay})
	}
	return hops
}

// Cut returns frames in n parts that follow each other, as the files of a ring.
func Cut(frames []Frame, n int) (parts [][]Frame) {
	for i := range n {
		parts = append(parts, frames[i*len(frames)/n:(i+1)*len(frames)/n])
	}
	return parts
}

// Pcapng returns a file of frames with so many interfaces.
func Pcapng(frames []Frame, link, interfaces int) []byte {
	little := binary.LittleEndian
	block := func(b []byte, kind uint32, body []byte) []byte {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		b = little.AppendUint32(little.AppendUint32(b, kind), uint32(len(body)+12))
		return little.AppendUint32(append(b, body...), uint32(len(body)+12))
	}
	b := block(nil, 0x0a0d0d0a, []byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	for range interfaces { // nanoseconds
		b = block(b, 1, append([]byte{byte(link), byte(link >> 8), 0, 0, 0, 0, 4, 0}, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0))
	}
	for _, f := range frames {
		body := little.AppendUint32(nil, f.Iface)
		body = little.AppendUint32(little.AppendUint32(body, uint32(uint64(f.Nanos)>>32)), uint32(f.Nanos))
		body = little.AppendUint32(little.AppendUint32(body, uint32(len(f.Data))), uint32(len(f.Data)))
		b = block(b, 6, append(body, f.Data...))
	}
	return b
}
