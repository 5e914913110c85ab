package main

import (
	"fmt"
	"strconv"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/pipeline"
)

// parseDecodeAs parses the values of -d: udp.port==22126,ase or tcp.port==27016,rcon.
func parseDecodeAs(values []string, reg *dissect.Registry) ([]pipeline.DecodeAs, error) {
	var out []pipeline.DecodeAs
	for _, v := range values {
		rule, name, ok := strings.Cut(v, ",")
		transport, port, isPort := strings.Cut(rule, ".port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || !isPort || transport != "udp" && transport != "tcp" || err != nil || n == 0 {
			return nil, &usageError{fmt.Errorf("-d %s: not a rule", v), "write -d udp.port==27015,a2s or -d tcp.port==27016,rcon"}
		}
		p := protoNamed(reg, name)
		if p == nil {
			return nil, unknownProtoError("-d "+v, name, reg)
		}
		if overTCP := reg.StreamOf(p) != nil; overTCP != (transport == "tcp") {
			return nil, &usageError{fmt.Errorf("-d %s: %s is not spoken over %s", v, name, transport), "rcon is spoken over tcp, the others over udp"}
		}
		out = append(out, pipeline.DecodeAs{TCP: transport == "tcp", Port: uint16(n), Proto: p})
	}
	return out, nil
}

// unknownProtoError is the error of a flag whose value names no protocol.
func unknownProtoError(flag, name string, reg *dissect.Registry) error {
	return &usageError{fmt.Errorf("%s: no protocol is called %q", flag, name), "one of " + strings.Join(protoNames(reg), ", ")}
}

func protoNamed(reg *dissect.Registry, name string) *dissect.Proto {
	for _, p := range reg.Protos() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func protoNames(reg *dissect.Registry) []string {
	var names []string
	for _, p := range reg.Protos() {
		names = append(names, p.Name)
	}
	return names
}
