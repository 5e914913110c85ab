package live

import (
	"net"

	"golang.org/x/sys/unix"
)

// hasAny reports whether the system can capture on all interfaces at once.
const hasAny = true

// checkPermission returns nil if this program may open packet sockets.
func checkPermission() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// deviceType returns the kernel's ARPHRD_ value of an interface, or that of devices
// without a header if the interface vanished meanwhile.
func deviceType(f *net.Interface) uint16 {
	fd, err := openQuery()
	if err != nil {
		return arpNone
	}
	defer closeQuery(fd)
	request, err := unix.NewIfreq(f.Name)
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, request) != nil {
		return arpNone
	}
	return request.Uint16() // the family of the address
}

// openQuery opens a socket for interfaceState.
func openQuery() (fd int, err error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
}

func closeQuery(fd int) { unix.Close(fd) }

// interfaceState reports whether an interface still exists, and is up. It asks through
// an open socket, which works whatever rights the program has dropped.
func interfaceState(fd, index int) (there, up bool) {
	request, err := unix.NewIfreq("-")
	if err != nil {
		return false, false
	}
	request.SetUint32(uint32(index))
	if unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request) != nil {
		return false, false
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request) // by the name that SIOCGIFNAME wrote
	return err == nil, err == nil && request.Uint16()&unix.IFF_UP != 0
}
