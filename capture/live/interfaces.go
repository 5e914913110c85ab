package live

import (
	"fmt"
	"net"
	"net/netip"
)

// Interface is what can be captured on.
type Interface struct {
	Name      string
	Addresses []netip.Prefix // of the host there, with the length of their network
	MTU       int            // bytes; 0 for Any
	Link      uint16         // LINKTYPE_ value that packets are captured with
	Up        bool           // only then it can be captured on
	Loopback  bool
	Permitted bool // this program may capture
}

// Interfaces lists the interfaces of this host in the order of the system, and Any at
// the end where there is such a thing.
func Interfaces() ([]Interface, error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	permitted := permitted() == nil
	var all []Interface
	for _, f := range found {
		t := targetOf(&f)
		in := Interface{
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
		all = append(all, Interface{Name: Any, Link: linkSLL2, Up: true, Permitted: permitted})
	}
	return all, nil
}

func prefixOf(n *net.IPNet) netip.Prefix {
	a, _ := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), ones)
}

// find looks a name up.
func find(name string) (target, error) {
	if name == Any && hasAny {
		return target{name: Any}, nil
	}
	f, err := net.InterfaceByName(name)
	if err != nil {
		return target{}, unknown(name, names())
	}
	if f.Flags&net.FlagUp == 0 {
		return target{}, downError(name)
	}
	return targetOf(f), nil
}

// names are those that can be captured on, for a hint.
func names() (all []string) {
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
