package testpcap

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// parser holds the state between the lines of a source.
type parser struct {
	capture        *Capture
	clock          clock
	client, server netip.AddrPort
	mtu            int
	ttl            uint8
	id             uint32 // of the datagram built last; each has its own
	split          *splitting
	icmp           *icmpError
	fragments      []int
	tcp            tcp
	block          *block // that is being read, nil if none is

	kind  byte // of the open payload: '>', '<', '!', or 0 if none is open
	line  int  // where it began
	bytes []byte
}

// Parse reads the source of a golden capture. Errors begin with its name and the line.
func Parse(name string, text []byte) (*Capture, error) {
	p := &parser{
		capture: &Capture{
			Name:   name,
			Format: Format{Link: LinkEthernet, SnapLen: defaultSnap},
			Link:   Link{Type: LinkEthernet},
		},
		clock: clock{now: Start, step: defaultStep},
		mtu:   defaultMTU,
		ttl:   defaultTTL,
		tcp:   tcp{connections: map[ends]*connection{}},
	}
	at := 0
	for line := range strings.Lines(string(text)) {
		at++
		if err := p.parseLine(at, strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, at, err)
		}
	}
	if at == 0 {
		return nil, fmt.Errorf("%s: empty", name)
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", name, p.line, err)
	}
	if p.block != nil {
		return nil, fmt.Errorf("%s: line %d: @ repeat without @ done", name, p.block.at)
	}
	if p.split != nil || p.icmp != nil || p.fragments != nil || p.clock.wait != 0 || p.tcp.isPending() {
		return nil, fmt.Errorf("%s: line %d: directive without a payload after it", name, at)
	}
	return p.capture, nil
}

func (p *parser) parseLine(at int, line string) error {
	for i := 0; i < len(line); i++ {
		if (line[i] < ' ' && line[i] != '\t') || line[i] > '~' {
			return fmt.Errorf("column %d: byte 0x%02x is not printable ASCII", i+1, line[i])
		}
	}
	if at == 1 && !strings.HasPrefix(line, "#") {
		return errors.New("the first line is a comment that says what the capture is")
	}
	if strings.TrimSpace(line) == "" || line[0] == '#' {
		return nil
	}
	if p.block != nil {
		done, err := p.addToBlock(line)
		if !done {
			return err
		}
		b := p.block
		p.block = nil
		return p.runBlock(b)
	}
	if line[0] == ' ' || line[0] == '\t' {
		return p.addHex(line)
	}
	if err := p.finish(); err != nil {
		return fmt.Errorf("payload of line %d: %w", p.line, err)
	}
	switch line[0] {
	case '@':
		words := strings.Fields(line[1:])
		if len(words) > 0 && words[0] == "repeat" {
			var err error
			if p.block, err = parseRepeat(at, words[1:]); err != nil {
				return fmt.Errorf("@ repeat: %w", err)
			}
			return nil
		}
		return p.obeyDirective(words)
	case '>', '<', '!':
		p.kind, p.line = line[0], at
		return p.addHex(line[1:])
	}
	return fmt.Errorf("%q begins no line; want one of # @ > < ! or a space", line[0])
}

func (p *parser) addHex(line string) error {
	var err error
	if p.kind == 0 && strings.TrimSpace(line)[0] != ';' {
		return errors.New("bytes before a payload began")
	}
	p.bytes, err = appendHex(p.bytes, line)
	return err
}

// finish turns the open payload, if there is one, into packets.
func (p *parser) finish() error {
	kind, payload := p.kind, p.bytes
	if kind == 0 {
		return nil
	}
	p.kind, p.bytes = 0, nil
	if kind == '!' {
		return p.addFrame(payload)
	}
	if !p.client.IsValid() || !p.server.IsValid() {
		return errors.New("payload before @ client and @ server")
	}
	if !p.tcp.isOn {
		return p.addMessage(payload, kind == '>')
	}
	if kind == '>' {
		return p.addWrite(payload, clientSide)
	}
	return p.addWrite(payload, serverSide)
}

// addMessage adds b as one datagram, or as several if it is split.
func (p *parser) addMessage(b []byte, toServer bool) error {
	p.clock.startMessage()
	payloads, err := p.splitPayload(b)
	if err != nil {
		return err
	}
	sent := 0
	for _, b := range payloads {
		if sent, err = p.addDatagram(b, toServer, sent); err != nil {
			return err
		}
	}
	p.fragments, p.icmp = nil, nil
	return nil
}

// addFrame adds a whole frame.
func (p *parser) addFrame(b []byte) error {
	if p.split != nil || p.icmp != nil || p.fragments != nil {
		return errors.New("a whole frame cannot be split, fragmented or refused")
	}
	if p.tcp.segments != nil || p.tcp.seek != 0 {
		return errors.New("a whole frame is not cut into segments")
	}
	p.clock.startMessage()
	p.capture.Packets = append(p.capture.Packets, Packet{p.clock.nextPacket(0), b})
	return nil
}

func (p *parser) splitPayload(b []byte) ([][]byte, error) {
	if p.split == nil {
		return [][]byte{b}, nil
	}
	s := p.split
	p.split = nil
	return s.cutParts(b)
}

// addPacket adds one IP packet after the capture's link header.
func (p *parser) addPacket(ip []byte, toServer bool, sent int) error {
	frame, err := p.capture.Link.tryFrame(ip, toServer)
	if err == nil {
		p.capture.Packets = append(p.capture.Packets, Packet{p.clock.nextPacket(sent), frame})
	}
	return err
}

// addDatagram adds the packets of one datagram. sent is the number of packets of the
// payload before it; the result counts these packets, too.
func (p *parser) addDatagram(b []byte, toServer bool, sent int) (int, error) {
	p.id++
	d := Datagram{Src: p.server, Dst: p.client, TTL: p.ttl, ID: p.id, Payload: b}
	if toServer {
		d.Src, d.Dst = p.client, p.server
	}
	all, err := d.IP(p.mtu)
	if err != nil {
		return sent, err
	}
	packets, err := pick(all, p.fragments, "fragment")
	if err != nil {
		return sent, err
	}
	for _, packet := range packets {
		if err := p.addPacket(packet, toServer, sent); err != nil {
			return sent, err
		}
		sent++
	}
	if p.icmp != nil {
		refusal, err := p.icmp.answer(all[0], d)
		if err != nil {
			return sent, err
		}
		if err := p.addPacket(refusal, !toServer, sent); err != nil {
			return sent, err
		}
		sent++
	}
	if hasAll(p.fragments, len(all)) {
		p.capture.Whole = append(p.capture.Whole, d)
	}
	return sent, nil
}

const (
	defaultMTU  = 1500
	defaultTTL  = 64
	defaultSnap = 262_144 // limit: tcpdump's own default
	defaultStep = 20 * time.Millisecond
)

// limit: Start is the time of the first packet of every capture built here:
// 2023-11-14T22:13:20Z, which is 1,700,000,000 seconds of Unix time.
const Start = int64(1_700_000_000) * int64(time.Second)
