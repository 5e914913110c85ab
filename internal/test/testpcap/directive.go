package testpcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"qsniff/reassembly/wire"
)

// obeyDirective obeys one @ line, given as its words.
func (p *parser) obeyDirective(words []string) error {
	if len(words) < 2 {
		return errors.New("a directive is a word and its arguments")
	}
	name, args := words[0], words[1:]
	var err error
	switch name {
	case "link", "format", "snaplen", "tunnel":
		if len(p.capture.Packets) > 0 {
			err = errors.New("must stand before the first packet")
			break
		}
		err = p.obeyFileDirective(name, args)
	case "split":
		p.split, err = parseSplit(args)
	case "icmp":
		p.icmp, err = parseICMP(args)
	case "isn", "open", "close":
		err = p.obeyTCPDirective(name, args)
	default:
		err = p.obeySetting(name, args)
	}
	if err != nil {
		return fmt.Errorf("@ %s: %w", name, err)
	}
	return nil
}

func (p *parser) obeyFileDirective(name string, args []string) error {
	c := p.capture
	switch name {
	case "link":
		link, err := parseLink(args)
		link.Tunnels = c.Link.Tunnels
		c.Link, c.Format.Link = link, link.Type
		return err
	case "tunnel":
		tunnel, err := parseTunnel(args)
		if err == nil && len(c.Link.Tunnels) > 0 && !tunnelKinds[tunnel.Kind].ends {
			err = fmt.Errorf("%s must be the outermost", tunnel.Kind)
		}
		c.Link.Tunnels = append(c.Link.Tunnels, tunnel)
		return err
	case "snaplen":
		n, err := parseNumber(args[0], 1, defaultSnap)
		c.Format.SnapLen = uint32(n)
		return err
	}
	for _, word := range args {
		switch word {
		case "micro", "nano":
			c.Format.Nano = word == "nano"
		case "little", "big":
			c.Format.BigEndian = word == "big"
		default:
			return fmt.Errorf("%q is none of micro, nano, little, big", word)
		}
	}
	return nil
}

var linkNames = map[string]uint16{
	"null": LinkNull, "ethernet": LinkEthernet, "vlan": LinkEthernet,
	"raw": LinkRaw, "sll": LinkSLL, "sll2": LinkSLL2,
}

func parseLink(args []string) (Link, error) {
	kind, ok := linkNames[args[0]]
	if !ok {
		return Link{}, fmt.Errorf("%q is not a link type", args[0])
	}
	link := Link{Type: kind}
	if tags := args[1:]; (args[0] == "vlan") != (len(tags) > 0) {
		return Link{}, errors.New("vlan and only vlan has tags")
	}
	for _, arg := range args[1:] {
		id, err := parseNumber(arg, 0, 4095) // 12 bits, IEEE 802.1Q
		if err != nil {
			return Link{}, err
		}
		link.VLANs = append(link.VLANs, uint16(id))
	}
	return link, nil
}

// obeySetting obeys the directives of one argument that may stand anywhere.
func (p *parser) obeySetting(name string, args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments, want 1", len(args))
	}
	arg := args[0]
	switch name {
	case "client":
		p.client, err = netip.ParseAddrPort(arg)
	case "server":
		p.server, err = netip.ParseAddrPort(arg)
	case "step":
		p.clock.step, err = parseDuration(arg)
	case "wait":
		p.clock.wait, err = parseDuration(arg)
	case "mtu":
		var n uint64
		n, err = parseNumber(arg, minMTU, 65_535)
		p.mtu = int(n)
	case "ttl":
		var n uint64
		n, err = parseNumber(arg, 0, 255)
		p.ttl = uint8(n)
	case "fragments":
		p.fragments, err = parseNumbers(arg)
	case "transport":
		err = p.setTransport(arg)
	case "mss", "acks", "segments", "seek":
		err = p.obeyTCPSetting(name, arg)
	default:
		return errors.New("no such directive")
	}
	return err
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s runs backwards", s)
	}
	return d, err
}

// parseNumber parses a decimal or 0x number between low and high.
func parseNumber(s string, low, high uint64) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if n < low || n > high {
		return 0, fmt.Errorf("%d is outside %d to %d", n, low, high)
	}
	return n, nil
}

// parseNumbers parses N,N,N.
func parseNumbers(s string) ([]int, error) {
	var out []int
	for word := range strings.SplitSeq(s, ",") {
		n, err := parseNumber(word, 0, 65_535)
		if err != nil {
			return nil, err
		}
		out = append(out, int(n))
	}
	return out, nil
}

// splitting is a parsed @ split.
type splitting struct {
	engine     wire.Engine
	id         uint32
	size       int
	compressed bool
	order      []int
	declared   *uint32 // replaces the decompressed size
	crc        *uint32 // replaces the CRC-32
}

func parseSplit(args []string) (*splitting, error) {
	s := &splitting{}
	switch args[0] {
	case "goldsource":
		s.engine = wire.GoldSource
	case "source":
		s.engine = wire.Source
	case "source-old":
		s.engine = wire.SourceOld
	default:
		return nil, fmt.Errorf("%q is none of goldsource, source, source-old", args[0])
	}
	for _, arg := range args[1:] {
		if err := s.parseOption(arg); err != nil {
			return nil, err
		}
	}
	if s.size == 0 {
		return nil, errors.New("size is missing")
	}
	if (s.declared != nil || s.crc != nil) && !s.compressed {
		return nil, errors.New("declared and crc belong to compressed")
	}
	if s.compressed && s.engine == wire.GoldSource {
		return nil, errors.New("goldsource has no compressed form")
	}
	return s, nil
}

func (s *splitting) parseOption(arg string) (err error) {
	name, value, _ := strings.Cut(arg, "=")
	var n uint64
	switch name {
	case "id":
		n, err = parseNumber(value, 0, 0xffff_ffff)
		s.id = uint32(n)
	case "size":
		n, err = parseNumber(value, 8, 65_535) // the prefix of a compressed message fits into part 0
		s.size = int(n)
	case "declared":
		n, err = parseNumber(value, 0, 0xffff_ffff)
		s.declared = new(uint32(n))
	case "crc":
		n, err = parseNumber(value, 0, 0xffff_ffff)
		s.crc = new(uint32(n))
	case "order":
		s.order, err = parseNumbers(value)
	case "compressed":
		s.compressed = true
	default:
		return fmt.Errorf("%q is not an option", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// cutParts cuts msg and picks the parts to be sent.
func (s *splitting) cutParts(msg []byte) ([][]byte, error) {
	limit := maxSourceParts
	var parts [][]byte
	if s.engine == wire.GoldSource {
		limit = maxGoldSourceParts
		parts = SplitGoldSource(msg, s.id, s.size)
	} else {
		parts = SplitSource(msg, s.id, s.size, s.engine == wire.Source, s.compressed)
	}
	if len(parts) > limit {
		return nil, fmt.Errorf("%d parts above the limit of %d", len(parts), limit)
	}
	prefix := parts[0][s.engine.HeaderLen():]
	if s.declared != nil {
		binary.LittleEndian.PutUint32(prefix, *s.declared)
	}
	if s.crc != nil {
		binary.LittleEndian.PutUint32(prefix[4:], *s.crc)
	}
	return pick(parts, s.order, "part")
}

const (
	// limit: maxGoldSourceParts is what the low nibble of byte 8 can count.
	maxGoldSourceParts = 15

	// limit: maxSourceParts is what byte 8 of a Source header can count.
	maxSourceParts = 255
)
