// Package protocols lists the protocols that qsniff knows. Nothing else may
// import the dissectors: the rest of the program sees only what they declare.
package protocols

import (
	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/dissect/ase"
	"qsniff/dissect/goldsource"
	"qsniff/dissect/master"
	"qsniff/dissect/rcon"
)

// All returns every protocol. Of two that are equally sure the first is taken:
// GoldSource stands before Source, because it claims what came in its own split
// format with Source's word for it.
func All() []dissect.Protocol {
	source := a2s.New()
	return []dissect.Protocol{
		goldsource.New(source),
		source,
		master.New(),
		ase.New(),
		rcon.New(),
	}
}

// NewRegistry returns a registry of every protocol, which also recognises what other programs speak. It panics if
// two declarations contradict each other.
func NewRegistry() *dissect.Registry {
	reg, err := dissect.NewRegistry(All()...)
	if err != nil {
		panic(err)
	}
	reg.KnowForeign(Foreign())
	reg.KnowForeignStreams(ForeignStreams())
	return reg
}
