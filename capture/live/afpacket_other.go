//go:build !linux

package live

// HasAFPacket reports whether this build has the backend AFPacket.
const HasAFPacket = false

// openAFPacket is never called: Open refuses the backend before.
func openAFPacket(at target, _ *Options) (handle, error) { return nil, AFPacket.checkAvailable() }

// ignoreOutgoing has nothing to do: only Linux delivers packets of the loopback
// interface twice.
func ignoreOutgoing(int, target) {}
