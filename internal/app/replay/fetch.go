package replay

import (
	"errors"
	"io"
	"slices"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/reassembly/ipfrag"
)

// errTooLong is the error that the replies of a server are longer than what is kept.
var errTooLong = errors.New("the replies are longer than 64 MiB together")

// Fetch takes the datagrams of the replies from src, the capture that was collected from,
// and drops the messages of replies of which no datagram is there any more.
func (b *Book) Fetch(src capture.Source) error {
	wanted := make(map[uint64][]byte)
	for _, k := range b.kinds {
		for i := range k.answer {
			for _, frame := range k.answer[i].frames {
				wanted[frame] = nil
			}
		}
	}
	if err := fetchDatagrams(src, wanted); err != nil {
		return err
	}
	for _, k := range b.kinds {
		for i := range k.answer {
			k.answer[i].fill(wanted)
		}
		k.answer = slices.DeleteFunc(k.answer, func(x part) bool { return len(x.datagrams) == 0 })
	}
	return nil
}

// fill adds the datagrams that came in the frames of x, in order. A datagram that came in
// fragments is at the frame of the last one.
func (x *part) fill(wanted map[uint64][]byte) {
	if x.datagrams != nil {
		return
	}
	for _, frame := range x.frames {
		if b := wanted[frame]; b != nil {
			x.datagrams = append(x.datagrams, b)
		}
	}
}

// fetchDatagrams reads src and sets the payloads of the datagrams that the wanted frames
// completed.
func fetchDatagrams(src capture.Source, wanted map[uint64][]byte) error {
	var batch capture.Batch
	var p packet.Packet
	fragments := ipfrag.New(fragmentBytes)
	size := 0
	for {
		batch.Reset()
		err := src.Read(&batch)
		for i := range batch.Packets {
			raw := &batch.Packets[i]
			p = packet.Packet{}
			p.Decode(raw.Link, raw.Data, int(raw.Wire))
			if p.Stop == packet.OK && p.Frag.Set {
				d := fragments.Add(&p, raw.No, raw.Nanos)
				if d == nil {
					continue
				}
				p = packet.Packet{}
				d.Decode(&p)
			}
			if _, ok := wanted[raw.No]; !ok || p.Stop != packet.OK {
				continue
			}
			if size += len(p.Payload); size > maxReplies {
				return errTooLong
			}
			wanted[raw.No] = slices.Clone(p.Payload)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
