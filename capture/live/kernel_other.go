//go:build !linux

package live

import "net"

// hasAny reports whether the system can capture on all interfaces at once.
const hasAny = false

// checkPermission returns nil: whether the program may capture shows when it does.
func checkPermission() error { return nil }

// deviceType returns the Linux type that fits an interface: loopback, one with Ethernet
// headers, or one without a header.
func deviceType(f *net.Interface) uint16 {
	switch {
	case f.Flags&net.FlagLoopback != 0:
		return arpLoopback
	case len(f.HardwareAddr) == 6:
		return arpEthernet
	}
	return arpNone
}

// openQuery opens nothing: interfaceState needs no socket.
func openQuery() (int, error) { return -1, nil }

func closeQuery(int) {}

// interfaceState reports whether an interface still exists, and is up.
func interfaceState(_, index int) (there, up bool) {
	f, err := net.InterfaceByIndex(index)
	return err == nil, err == nil && f.Flags&net.FlagUp != 0
}

// RightsHint returns the command that gives this program the right to capture.
func RightsHint() string {
	return "give your user access to the devices /dev/bpf*, or start " + shellWord(programPath()) + " with sudo"
}

// card counts what a network card lost, on Linux only.
type card struct{}

func (card) open(target)         {}
func (card) countMissed() uint64 { return 0 }
func (card) close()              {}

func setControl(*net.UDPConn) {}

func (*datagramSocket) readControl([]byte) (nanos int64) { return 0 }

// HasAFPacket reports whether this build has the backend AFPacket.
const HasAFPacket = false

// openAFPacket is never called: Open refuses the backend before.
func openAFPacket(at target, _ *Options) (handle, error) { return nil, AFPacket.checkAvailable() }

// ignoreOutgoing has nothing to do: only Linux delivers packets of the loopback
// interface twice.
func ignoreOutgoing(int, target) {}
