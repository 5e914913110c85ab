package live

import (
	"testing"

	"qsniff/internal/test/netns"
)

// The ends of the cable between two namespaces.
const (
	hereName, thereName = "here0", "there0"
	hereIP, thereIP     = "198.18.0.1", "198.18.0.2"
)

// cable makes two namespaces joined by a cable.
func cable(t testing.TB) (here, there *netns.Namespace) {
	t.Helper()
	return netns.NewCable(t, netns.End{Name: hereName, IP: hereIP}, netns.End{Name: thereName, IP: thereIP})
}

// open begins a capture in the namespace. It is closed with t.
func open(t testing.TB, ns *netns.Namespace, o Options) *Source {
	t.Helper()
	s, err := try(ns, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func try(ns *netns.Namespace, o Options) (s *Source, err error) {
	ns.Do(func() { s, err = Open(o) })
	return s, err
}

// backends are those that this build has.
func backends() (all []Backend) {
	if HasAFPacket {
		all = append(all, AFPacket)
	}
	if HasLibpcap {
		all = append(all, Libpcap)
	}
	return all
}
