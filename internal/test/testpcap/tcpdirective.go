package testpcap

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// tcpDirective obeys a directive that opens or closes a connection, or says how.
func (p *parser) tcpDirective(name string, args []string) error {
	if !p.tcp.on {
		return errors.New("belongs to @ transport tcp")
	}
	switch name {
	case "isn":
		return p.tcp.parseISN(args)
	case "open":
		if len(args) != 1 || !slices.Contains([]string{"handshake", "syn", "none"}, args[0]) {
			return fmt.Errorf("%q is none of handshake, syn, none", strings.Join(args, " "))
		}
		return p.open(args[0])
	}
	if len(args) != 2 || !slices.Contains([]string{"fin", "rst"}, args[0]) || !slices.Contains([]string{"client", "server"}, args[1]) {
		return fmt.Errorf("%q is not fin or rst, then client or server", strings.Join(args, " "))
	}
	from := clientSide
	if args[1] == "server" {
		from = serverSide
	}
	return p.close(args[0], from)
}

// tcpSetting obeys the directives of one argument that say how writes become
// segments.
func (p *parser) tcpSetting(name, arg string) (err error) {
	if !p.tcp.on {
		return errors.New("belongs to @ transport tcp")
	}
	switch name {
	case "mss":
		var n uint64
		n, err = number(arg, 1, maxSegment)
		p.tcp.mss = int(n)
	case "acks":
		if !slices.Contains([]string{"on", "off"}, arg) {
			return fmt.Errorf("%q is not on or off", arg)
		}
		p.tcp.noAcks = arg == "off"
	case "segments":
		p.tcp.segments, err = numbers(arg)
	case "seek":
		p.tcp.seek, err = distance(arg)
	}
	return err
}

func (p *parser) setTransport(arg string) error {
	if !slices.Contains([]string{"tcp", "udp"}, arg) {
		return fmt.Errorf("%q is not tcp or udp", arg)
	}
	if p.tcp.pending() {
		return errors.New("the directives before it have no write")
	}
	p.tcp.on = arg == "tcp"
	return nil
}

// pending reports whether something was said about a write or a connection that
// did not come.
func (t *tcp) pending() bool { return t.isn != nil || t.segments != nil || t.seek != 0 }

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
		n, err := number(value, 0, math.MaxUint32)
		if err != nil {
			return err
		}
		isn[i] = uint32(n)
	}
	t.isn = &isn
	return nil
}

// distance parses -N or +N, as far as sequence numbers tell before from after.
func distance(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n == 0 || s[0] != '-' && s[0] != '+' {
		return 0, fmt.Errorf("%q is not -N or +N", s)
	}
	return n, nil
}
