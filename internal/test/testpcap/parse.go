package testpcap

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
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

// Parse reads the source of a golden capture. Errors say name and line.
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
	if p.split != nil || p.icmp != nil || p.fragments != nil || p.clock.wait != 0 || p.tcp.pending() {
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
		done, err := p.repeat(line)
		if !done {
			return err
		}
		b := p.block
		p.block = nil
		return p.run(b)
	}
	if line[0] == ' ' || line[0] == '\t' {
		return p.hex(line)
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
		return p.directive(words)
	case '>', '<', '!':
		p.kind, p.line = line[0], at
		return p.hex(line[1:])
	}
	return fmt.Errorf("%q begins no line; want one of # @ > < ! or a space", line[0])
}

func (p *parser) hex(line string) error {
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
		return p.frame(payload)
	}
	if !p.client.IsValid() || !p.server.IsValid() {
		return errors.New("payload before @ client and @ server")
	}
	if !p.tcp.on {
		return p.message(payload, kind == '>')
	}
	if kind == '>' {
		return p.write(payload, clientSide)
	}
	return p.write(payload, serverSide)
}

// message sends b in a datagram, or in several if it is split.
func (p *parser) message(b []byte, toServer bool) error {
	p.clock.message()
	payloads, err := p.splitPayload(b)
	if err != nil {
		return err
	}
	sent := 0
	for _, b := range payloads {
		if sent, err = p.datagram(b, toServer, sent); err != nil {
			return err
		}
	}
	p.fragments, p.icmp = nil, nil
	return nil
}

// frame adds a frame as it stands.
func (p *parser) frame(b []byte) error {
	if p.split != nil || p.icmp != nil || p.fragments != nil {
		return errors.New("a whole frame cannot be split, fragmented or refused")
	}
	if p.tcp.segments != nil || p.tcp.seek != 0 {
		return errors.New("a whole frame is not cut into segments")
	}
	p.clock.message()
	p.capture.Packets = append(p.capture.Packets, Packet{p.clock.packet(0), b})
	return nil
}

func (p *parser) splitPayload(b []byte) ([][]byte, error) {
	if p.split == nil {
		return [][]byte{b}, nil
	}
	s := p.split
	p.split = nil
	return s.parts(b)
}

// packet adds one IP packet after the capture's link header.
func (p *parser) packet(ip []byte, toServer bool, sent int) error {
	frame, err := p.capture.Link.frame(ip, toServer)
	if err == nil {
		p.capture.Packets = append(p.capture.Packets, Packet{p.clock.packet(sent), frame})
	}
	return err
}

// datagram adds the packets of one datagram; sent counts those of the payload.
func (p *parser) datagram(b []byte, toServer bool, sent int) (int, error) {
	p.id++
	d := Datagram{Src: p.server, Dst: p.client, TTL: p.ttl, ID: p.id, Payload: b}
	if toServer {
		d.Src, d.Dst = p.client, p.server
	}
	all, err := d.IP(p.mtu)
	if err != nil {
		return sent, err
	}
	packets, err := inOrder(all, p.fragments, "fragment")
	if err != nil {
		return sent, err
	}
	for _, packet := range packets {
		if err := p.packet(packet, toServer, sent); err != nil {
			return sent, err
		}
		sent++
	}
	if p.icmp != nil {
		refusal, err := p.icmp.about(all[0], d)
		if err != nil {
			return sent, err
		}
		if err := p.packet(refusal, !toServer, sent); err != nil {
			return sent, err
		}
		sent++
	}
	if covers(p.fragments, len(all)) {
		p.capture.Whole = append(p.capture.Whole, d)
	}
	return sent, nil
}
