//go:build !linux

package live

// HasAFPacket reports whether this build has the backend AFPacket.
const HasAFPacket = false

// openAFPacket is not reached: Open says that there is no such backend.
func openAFPacket(at target, _ *Options) (handle, error) { return nil, AFPacket.available() }

// onceOnLoopback has nothing to do: only Linux delivers packets of the loopback
// interface twice.
func onceOnLoopback(int, target) {}
