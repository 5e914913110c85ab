package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// record is what the decoder on gopacket writes of a message, in the words of qsniff.
type record struct {
	Time    time.Time      `json:"time"`
	Src     netip.AddrPort `json:"src"`
	Dst     netip.AddrPort `json:"dst"`
	Message string         `json:"message"`
	Fields  any            `json:"fields"`
}

// dump is a decoder of A2S as one writes it on gopacket: a DecodingLayerParser, which is
// the fast way, without a copy of packets; defragmentation, and encoding/json. It writes a
// line for each message.
type dump struct {
	eth     layers.Ethernet
	ip      layers.IPv4
	udp     layers.UDP
	payload gopacket.Payload
	frags   *ip4defrag.IPv4Defragmenter
	splits  splits
	out     *json.Encoder
}

// dumpFile decodes a file to standard output.
func dumpFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return dumpCapture(f, os.Stdout)
}

// dumpCapture decodes a capture of Ethernet.
func dumpCapture(in io.Reader, out io.Writer) error {
	r, err := pcapgo.NewReader(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	d := &dump{frags: ip4defrag.NewIPv4Defragmenter(), splits: splits{}, out: json.NewEncoder(buffered)}
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &d.eth, &d.ip, &d.udp, &d.payload)
	parser.IgnoreUnsupported = true
	var found []gopacket.LayerType
	for {
		frame, info, err := r.ZeroCopyReadPacketData()
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}
		if parser.DecodeLayers(frame, &found) != nil || len(found) < 2 {
			continue // not for us
		}
		if err := d.packet(found, info.Timestamp); err != nil {
			return err
		}
	}
}

// packet handles a packet whose layers are decoded.
func (d *dump) packet(found []gopacket.LayerType, now time.Time) error {
	if len(found) < 3 {
		ip := d.ip // which is kept, and so is what it carries
		ip.Payload = bytes.Clone(ip.Payload)
		whole, err := d.frags.DefragIPv4WithTimestamp(&ip, now)
		if err != nil || whole == nil || whole.Protocol != layers.IPProtocolUDP ||
			d.udp.DecodeFromBytes(whole.Payload, gopacket.NilDecodeFeedback) != nil {
			return nil
		}
	} else if found[2] != layers.LayerTypeUDP {
		return nil
	}
	src, _ := netip.AddrFromSlice(d.ip.SrcIP)
	dst, _ := netip.AddrFromSlice(d.ip.DstIP)
	x := record{Time: now, Src: netip.AddrPortFrom(src, uint16(d.udp.SrcPort)), Dst: netip.AddrPortFrom(dst, uint16(d.udp.DstPort))}
	msg := d.splits.join(d.udp.Payload, x.Src, x.Dst, now)
	if x.Message, x.Fields = readMessage(msg); x.Message == "" {
		return nil
	}
	return d.out.Encode(&x)
}
