package live

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Device is an interface of this host, or Any, that can be captured on.
type Device struct {
	Name      string
	Addresses []netip.Prefix // of the host on it, with the prefix length of the network
	MTU       int            // bytes; 0 for Any
	Link      uint16         // LINKTYPE_ value that packets are captured with
	Up        bool           // it can be captured on only then
	Loopback  bool
	Permitted bool // this program may capture
}

// Devices lists the interfaces of this host in the order of the system, with Any at
// the end where the system has it.
func Devices() ([]Device, error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	permitted := checkPermission() == nil
	var all []Device
	for _, f := range found {
		t := targetOf(&f)
		in := Device{
			Name: f.Name, MTU: f.MTU, Link: linkOf(t), Permitted: permitted,
			Up: f.Flags&net.FlagUp != 0, Loopback: f.Flags&net.FlagLoopback != 0,
		}
		addresses, err := f.Addrs()
		if err != nil {
			continue // it vanished
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				in.Addresses = append(in.Addresses, prefixOf(n))
			}
		}
		all = append(all, in)
	}
	if hasAny {
		all = append(all, Device{Name: Any, Link: linkSLL2, Up: true, Permitted: permitted})
	}
	return all, nil
}

func prefixOf(n *net.IPNet) netip.Prefix {
	a, _ := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), ones)
}

// CheckInterface returns the error with which Open would refuse an interface that does not exist
// or is down. Whether this process may capture on it, it leaves open.
func CheckInterface(name string) error {
	if strings.HasPrefix(name, DatagramPrefix) {
		_, err := parseDatagrams(name)
		return err
	}
	_, err := findTarget(name)
	return err
}

// findTarget returns the interface of that name, or an error if it does not exist or is
// down.
func findTarget(name string) (target, error) {
	if name == Any && hasAny {
		return target{name: Any}, nil
	}
	f, err := net.InterfaceByName(name)
	if err != nil {
		return target{}, unknownError(name, captureNames())
	}
	if f.Flags&net.FlagUp == 0 {
		return target{}, downError(name)
	}
	return targetOf(f), nil
}

// captureNames lists the interfaces that can be captured on, for a hint.
func captureNames() (all []string) {
	found, _ := net.Interfaces()
	for _, f := range found {
		if f.Flags&net.FlagUp != 0 {
			all = append(all, f.Name)
		}
	}
	if hasAny {
		all = append(all, Any)
	}
	return all
}

func targetOf(f *net.Interface) target {
	return target{name: f.Name, index: f.Index, arp: deviceType(f), loop: f.Flags&net.FlagLoopback != 0}
}
