package main

import (
	"fmt"
	"strconv"
	"strings"

	"qsniff/dissect"
	"qsniff/pipeline"
)

// decodeAs reads the values of -d: udp.port==22126,ase.
func decodeAs(values []string, reg *dissect.Registry) ([]pipeline.DecodeAs, error) {
	var out []pipeline.DecodeAs
	for _, v := range values {
		rule, name, ok := strings.Cut(v, ",")
		port, isUDP := strings.CutPrefix(rule, "udp.port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || !isUDP || err != nil || n == 0 {
			return nil, &usageError{fmt.Errorf("-d %s: not a rule", v), "write -d udp.port==27015,a2s"}
		}
		p := protoNamed(reg, name)
		if p == nil {
			return nil, &usageError{fmt.Errorf("-d %s: no protocol is called %q", v, name), "one of " + strings.Join(protoNames(reg), ", ")}
		}
		out = append(out, pipeline.DecodeAs{Port: uint16(n), Proto: p})
	}
	return out, nil
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
