package extract

import (
	"bytes"
	"errors"
	"io"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/reassembly/ipfrag"
)

// Payloads are the UDP payloads of frames. That of a fragmented datagram is at the frame that
// completed it.
type Payloads struct {
	byFrame map[uint64][]byte
	wanted  map[uint64]struct{}
	held    int
	// Lost counts payloads for which there was no room.
	Lost uint64
}

// ReadPayloads reads a capture to its end, or to the damage at which the first run ended, and
// returns the payloads of the frames of exchanges.
func ReadPayloads(src capture.Source, exchanges []Exchange) (*Payloads, error) {
	p := &Payloads{byFrame: map[uint64][]byte{}, wanted: map[uint64]struct{}{}}
	for i := range exchanges {
		x := &exchanges[i]
		for _, frames := range [...][]uint64{x.First, x.Challenge, x.Request, x.Reply} {
			for _, frame := range frames {
				p.wanted[frame] = struct{}{}
			}
		}
	}
	frags := ipfrag.New(fragmentBytes)
	var b capture.Batch
	for {
		err := src.Read(&b)
		for i := range b.Packets {
			p.add(frags, &b.Packets[i])
		}
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
}

// add adds the payload of a packet, if it is wanted.
func (p *Payloads) add(frags *ipfrag.Table, c *capture.Packet) {
	if _, ok := p.wanted[c.No]; !ok {
		return
	}
	var x packet.Packet
	x.Decode(c.Link, c.Data, int(c.Wire))
	if x.Stop == packet.OK && x.Frag.Set {
		d := frags.Add(&x, c.No, c.Nanos)
		if d == nil {
			return
		}
		d.Decode(&x)
	}
	switch {
	case x.Stop != packet.OK:
	case p.held+len(x.Payload) > maxHeld:
		p.Lost++
	default:
		p.held += len(x.Payload)
		p.byFrame[c.No] = bytes.Clone(x.Payload)
	}
}

// of returns the payloads of frames, in their order.
func (p *Payloads) of(frames []uint64) (list [][]byte) {
	for _, frame := range frames {
		if b, ok := p.byFrame[frame]; ok {
			list = append(list, b)
		}
	}
	return list
}
