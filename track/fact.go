// Package track remembers what bytes alone do not say. On the partition side:
// what the messages between one server and one client showed (Flows). On the
// fold side: what the messages of all say, as facts in packet order (Fact). It
// reads no payload and renders nothing.
package track

import (
	"net/netip"

	"qsniff/dissect"
)

// Fact is what the fold learns of one message. Facts reach it in packet order.
type Fact struct {
	Frame  uint64
	Nanos  int64
	Server netip.AddrPort
	Client netip.AddrPort
	Proto  *dissect.Proto
	Type   *dissect.Type // nil if unknown
	Status dissect.Status
	Bytes  uint32 // of the message
}
