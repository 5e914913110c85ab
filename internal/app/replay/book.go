package replay

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"slices"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/reassembly/ipfrag"
)

// Book is what one server of a capture was asked and what it replied.
type Book struct {
	Server netip.AddrPort
	Asked  uint64 // requests in the capture

	kinds  map[kindKey]*kind
	first  map[*dissect.Type]*kind // of each type: the first kind, and in the end the first that was answered
	counts map[*dissect.Type]int   // of kinds
	protos []*dissect.Proto
}

// kindKey is what requests of one kind have in common: the type and, without the number that
// they bring back, their bytes.
type kindKey struct {
	typ   *dissect.Type
	isTCP bool
	text  string
}

// keyOf returns the key of a request with these bytes. NULs at the end of a datagram do not count: some clients end a
// command with one, others with none.
func keyOf(typ *dissect.Type, isTCP bool, text []byte) kindKey {
	if !isTCP {
		text = bytes.TrimRight(text, "\x00")
	}
	return kindKey{typ, isTCP, string(text)}
}

// kind is requests that are the same but for the number that they bring back.
type kind struct {
	proto *dissect.Proto
	typ   *dissect.Type
	isTCP bool

	request   uint64 // number of the request whose replies are the answer; 0: none was answered
	answer    []part
	challenge *part  // what the server demanded; nil: nothing
	isPlain   bool   // the answered request brought no number
	refuses   bool   // the answer refuses a login
	cut       uint64 // number of the last request whose answer is not whole in the capture; 0: none
}

// part is a message of a reply.
type part struct {
	typ       *dissect.Type
	frames    []uint64 // of a datagram's: the packets that it came in
	datagrams [][]byte // of these, or the one message over TCP
	number    uint64
	numberAt  span // where number is to be replaced in the only datagram; none: nowhere
}

// anyBytes are the questions whose answer does not depend on what the request has besides
// its type: clients pad them, and ask them in forms of their own.
const anyBytes = dissect.Public &^ dissect.AskServers

// newBook returns an empty Book.
func newBook(server netip.AddrPort) *Book {
	return &Book{Server: server, kinds: make(map[kindKey]*kind), first: make(map[*dissect.Type]*kind), counts: make(map[*dissect.Type]int)}
}

// find returns the kind of a request, or nil.
func (b *Book) find(typ *dissect.Type, isTCP bool, text []byte) *kind {
	k := b.kinds[keyOf(typ, isTCP, text)]
	if k != nil && len(k.answer) > 0 {
		return k
	}
	if x := b.first[typ]; x != nil && len(x.answer) > 0 && typ.Asks.Has(anyBytes) && x.isTCP == isTCP {
		return x
	}
	if k != nil && k.challenge != nil {
		return k
	}
	return nil
}

// chooseFirst makes b.first, of each type, the kind that was answered first.
func (b *Book) chooseFirst() {
	for _, k := range b.kinds {
		if x := b.first[k.typ]; len(k.answer) > 0 && (len(x.answer) == 0 || k.request < x.request) {
			b.first[k.typ] = k
		}
	}
}

// demands reports whether the server demanded a number for requests of k: it replied with
// one, or answered only a request that had one.
func (k *kind) demands() bool {
	return !k.isTCP && (k.challenge != nil || k.request != 0 && !k.isPlain && k.typ.Number != nil)
}

// challengeFor returns the challenge that requests of k are answered with: that of the
// capture, or that of another kind, or one as the protocol declares it; nil if there is none.
func (b *Book) challengeFor(k *kind) *part {
	if k.challenge != nil {
		return k.challenge
	}
	for _, x := range b.kinds {
		if x.challenge != nil && x.challenge.typ.Asks.Has(k.typ.Asks) {
			return x.challenge
		}
	}
	for _, p := range b.protos {
		for _, t := range p.Types {
			if t.GivesToken() && t.Asks.Has(k.typ.Asks) && t.Token.FromEnd == t.Token.Len && len(t.Wire) > 0 {
				head := t.Wire[0].Value
				data := append(slices.Clone(head), make([]byte, t.Token.Len)...)
				return &part{typ: t, datagrams: [][]byte{data}, numberAt: span{len(head), len(data)}}
			}
		}
	}
	return nil
}

// Kinds returns how many different requests have an answer, and how many have none that is
// whole in the capture.
func (b *Book) Kinds() (answered, cut int) {
	for _, k := range b.kinds {
		switch {
		case len(k.answer) > 0:
			answered++
		case k.cut != 0:
			cut++
		}
	}
	return answered, cut
}

// refusal returns a recorded refusal of a login, or nil.
func (b *Book) refusal() *kind {
	for _, k := range b.kinds {
		if k.refuses && len(k.answer) > 0 {
			return k
		}
	}
	return nil
}

// streamProto returns the protocol in which the server was asked over TCP, or nil.
func (b *Book) streamProto() *dissect.Proto {
	for _, k := range b.kinds {
		if k.isTCP {
			return k.proto
		}
	}
	return nil
}

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

const (
	// limit: maxReplies is how many bytes of replies over TCP, and of datagrams, are kept.
	maxReplies = 64 << 20

	// limit: fragmentBytes is the memory for fragments of IP.
	fragmentBytes = 4 << 20
)
