// Package protos gives tests the registry of all protocols. Tests alone import it; those of the protocols cannot, which it imports.
package protos

import (
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
)

// Registry returns a registry of all protocols.
func Registry(t testing.TB) *dissect.Registry {
	t.Helper()
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}
