//go:build !linux

package live

import "net"

// hasAny reports whether the system can capture on all interfaces at once.
const hasAny = false

// permitted is nil: what a program may open is told when it does.
func permitted() error { return nil }

// deviceType tells devices with Ethernet headers from those without.
func deviceType(f *net.Interface) uint16 {
	switch {
	case f.Flags&net.FlagLoopback != 0:
		return arpLoopback
	case len(f.HardwareAddr) == 6:
		return arpEthernet
	}
	return arpNone
}

// state reports whether an interface is still there, and up.
func state(_, index int) (there, up bool) {
	f, err := net.InterfaceByIndex(index)
	return err == nil, err == nil && f.Flags&net.FlagUp != 0
}
