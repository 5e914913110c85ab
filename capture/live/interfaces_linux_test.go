package live

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInterfaces(t *testing.T) {
	here, _ := cable(t)
	here.OpenTun(t, "tun0")
	var got []string
	here.Do(func() {
		all, err := Devices()
		if err != nil {
			t.Error(err)
		}
		for _, in := range all {
			if in.Name == hereName || in.Name == "lo" || in.Name == "tun0" || in.Name == Any {
				got = append(got, fmt.Sprintf("%s %v mtu %d link %d up %v loopback %v permitted %v",
					in.Name, in.Addresses, in.MTU, in.Link, in.Up, in.Loopback, in.Permitted))
			}
		}
	})
	want := []string{
		"lo [] mtu 65536 link 1 up false loopback true permitted true",
		"here0 [198.18.0.1/24] mtu 1500 link 1 up true loopback false permitted true",
		"tun0 [] mtu 1500 link 101 up false loopback false permitted true",
		"any [] mtu 0 link 276 up true loopback false permitted true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}
