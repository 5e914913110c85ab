package live

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"

	"qsniff/capture/pcapfilter"
)

// parseFilter reads Filter. What only libpcap compiles is left to it in builds that have it.
func (o *Options) parseFilter() error {
	if o.Filter == "" {
		return nil
	}
	for _, name := range o.Interfaces {
		if isDatagrams(name) {
			e := filterError("", o.Filter, "it would see the datagrams of the mirror, not the packets in them")
			e.Hint = "choose messages with -Y, or filter at the mirror"
			return e
		}
	}
	expr, err := pcapfilter.Parse(o.Filter)
	if err == nil {
		o.expr = expr
		return nil
	}
	var wrong *pcapfilter.Error
	if errors.As(err, &wrong) && wrong.Unsupported && HasLibpcap && o.Backend != AFPacket {
		o.needsLibpcap = true
		return nil
	}
	return expressionError("", o.Filter, err)
}

// expressionError returns the error about an expression that Parse or Compile refuses.
func expressionError(iface, filter string, err error) *Error {
	e := filterError(iface, filter, err.Error())
	var wrong *pcapfilter.Error
	if !errors.As(err, &wrong) {
		return e
	}
	switch {
	case wrong.Unsupported && HasLibpcap:
		e.Hint = "--backend libpcap compiles it"
	case wrong.Unsupported:
		e.Hint = "write it in other words, or as bytes such as ether[12:2] = 0x8847; or build with CGO_ENABLED=1 and the headers of libpcap"
	case wrong.Hint != "":
		e.Hint = wrong.Hint
	}
	e.Err = errors.Join(ErrFilter, wrong)
	return e
}

// program returns the program of the expression for an interface, nil if libpcap has to compile it:
// what only the kernel knows of a packet libpcap gives to programs of its own.
func (o *Options) program(name string, link uint16, byLibpcap bool) ([]bpf.RawInstruction, error) {
	at, ok := pcapfilter.Kernel(link)
	if byLibpcap {
		at, ok = pcapfilter.File(link)
	}
	if o.expr == nil || !ok || byLibpcap && o.expr.UsesMetadata() {
		return nil, nil
	}
	p, err := o.expr.Compile(at, uint32(o.Snap))
	if err != nil {
		return nil, expressionError(name, o.Filter, err)
	}
	if p.Len() > maxInstructions {
		return nil, filterError(name, o.Filter, fmt.Sprintf("%d instructions: the kernel takes %d", p.Len(), maxInstructions))
	}
	return p.Instructions(), nil
}
