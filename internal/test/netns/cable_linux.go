package netns

import (
	"bytes"
	"os/exec"
	"testing"

	"qsniff/internal/test/timing"
)

// End is one end of a cable.
type End struct {
	Name string // of its interface; those of the two ends differ
	IP   string // its IPv4 address, of a network of 24 bits that both are in
}

// NewCable makes two namespaces, one for each end of an Ethernet cable (a pair of
// veth), and takes the ends up. Nothing is sent that the test does not send: IPv6 is off,
// and both ends have the hardware address of the other. It skips t where New does.
func NewCable(t testing.TB, here, there End) (atHere, atThere *Namespace) {
	t.Helper()
	atHere, atThere = New(t), New(t)
	atHere.RunIP(t, "link add "+here.Name+" type veth peer name "+there.Name)
	atHere.RunIP(t, "link set "+there.Name+" netns "+atThere.ID())
	atHere.plug(t, here)
	atThere.plug(t, there)
	atHere.addNeighbour(t, here.Name, there.IP, atThere.MAC(t, there.Name))
	atThere.addNeighbour(t, there.Name, here.IP, atHere.MAC(t, here.Name))
	atHere.awaitUp(t, here.Name)
	atThere.awaitUp(t, there.Name)
	return atHere, atThere
}

// plug takes an end up, with its IPv4 address and without IPv6.
func (ns *Namespace) plug(t testing.TB, e End) {
	t.Helper()
	ns.RunIP(t, "link set "+e.Name+" addrgenmode none")
	ns.RunIP(t, "addr add "+e.IP+"/24 dev "+e.Name)
	ns.RunIP(t, "link set "+e.Name+" up")
}

// addNeighbour adds a permanent neighbour, so that ARP is not needed.
func (ns *Namespace) addNeighbour(t testing.TB, name, ip, mac string) {
	t.Helper()
	ns.RunIP(t, "neigh replace "+ip+" lladdr "+mac+" dev "+name)
}

// awaitUp waits until an interface carries packets. The kernel learns that both ends are
// up in a worker of its own, and until then it drops what is sent without an error.
func (ns *Namespace) awaitUp(t testing.TB, name string) {
	t.Helper()
	timing.Await(t, name+" up", func() bool {
		var out []byte
		ns.Do(func() { out, _ = exec.Command("ip", "-o", "link", "show", "dev", name).Output() })
		return bytes.Contains(out, []byte(" state UP "))
	})
}
