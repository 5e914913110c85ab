package live

import (
	"net"

	"golang.org/x/sys/unix"
)

// hasAny reports whether the system can capture on all interfaces at once.
const hasAny = true

// permitted is nil if this program may open packet sockets.
func permitted() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// deviceType is the kernel's ARPHRD_ value of an interface, or that of devices
// without a header if it vanished meanwhile.
func deviceType(f *net.Interface) uint16 {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return arpNone
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(f.Name)
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, request) != nil {
		return arpNone
	}
	return request.Uint16() // the family of the address
}

// state reports whether an interface is still there, and up. It asks through a socket
// that is open, which works whatever rights the program has given up.
func state(fd, index int) (there, up bool) {
	request, err := unix.NewIfreq("-")
	if err != nil {
		return false, false
	}
	request.SetUint32(uint32(index))
	if unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request) != nil {
		return false, false
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request) // of the name that came back
	return err == nil, err == nil && request.Uint16()&unix.IFF_UP != 0
}
