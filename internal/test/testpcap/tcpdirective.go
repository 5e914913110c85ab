package testpcap

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// obeyTCPDirective obeys a directive that opens or closes a connection, or sets its initial
// sequence numbers.
func (p *parser) obeyTCPDirective(name string, args []string) error {
	if !p.tcp.isOn {
		return errors.New("belongs to @ transport tcp")
	}
	switch name {
	case "isn":
		return p.tcp.parseISN(args)
	case "open":
		if len(args) != 1 || !slices.Contains([]string{"handshake", "syn", "none"}, args[0]) {
			return fmt.Errorf("%q is none of handshake, syn, none", strings.Join(args, " "))
		}
		return p.openConnection(args[0])
	}
	if len(args) != 2 || !slices.Contains([]string{"fin", "rst"}, args[0]) || !slices.Contains([]string{"client", "server"}, args[1]) {
		return fmt.Errorf("%q is not fin or rst, then client or server", strings.Join(args, " "))
	}
	from := clientSide
	if args[1] == "server" {
		from = serverSide
	}
	return p.closeConnection(args[0], from)
}

// obeyTCPSetting obeys the directives of one argument about how writes become segments.
func (p *parser) obeyTCPSetting(name, arg string) (err error) {
	if !p.tcp.isOn {
		return errors.New("belongs to @ transport tcp")
	}
	switch name {
	case "mss":
		var n uint64
		n, err = parseNumber(arg, 1, maxSegment)
		p.tcp.mss = int(n)
	case "acks":
		if !slices.Contains([]string{"on", "off"}, arg) {
			return fmt.Errorf("%q is not on or off", arg)
		}
		p.tcp.noAcks = arg == "off"
	case "segments":
		p.tcp.segments, err = parseNumbers(arg)
	case "seek":
		p.tcp.seek, err = parseDistance(arg)
	}
	return err
}

func (p *parser) setTransport(arg string) error {
	if !slices.Contains([]string{"tcp", "udp"}, arg) {
		return fmt.Errorf("%q is not tcp or udp", arg)
	}
	if p.tcp.isPending() {
		return errors.New("the directives before it have no write")
	}
	p.tcp.isOn = arg == "tcp"
	return nil
}

// isPending reports whether a directive about the next write or connection has not been
// used yet.
func (t *tcp) isPending() bool { return t.isn != nil || t.segments != nil || t.seek != 0 }

// parseISN parses client=N and server=N, both.
func (t *tcp) parseISN(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d arguments, want 2: client=N and server=N", len(args))
	}
	var isn [2]uint32
	for i, name := range []string{"client", "server"} {
		value, ok := strings.CutPrefix(args[i], name+"=")
		if !ok {
			return fmt.Errorf("%q is not %s=N", args[i], name)
		}
		n, err := parseNumber(value, 0, math.MaxUint32)
		if err != nil {
			return err
		}
		isn[i] = uint32(n)
	}
	t.isn = &isn
	return nil
}

// parseDistance parses -N or +N, of 31 bits: sequence numbers wrap at 32.
func parseDistance(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n == 0 || s[0] != '-' && s[0] != '+' {
		return 0, fmt.Errorf("%q is not -N or +N", s)
	}
	return n, nil
}
