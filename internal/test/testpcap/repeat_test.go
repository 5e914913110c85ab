package testpcap

import (
	"net/netip"
	"strings"
	"testing"
)

// TestRepeat: a block comes as often as it says, each time of another client and
// with bytes of its own, and a source gives the same twice.
func TestRepeat(t *testing.T) {
	const source = "# A block.\n@ client 10.0.0.1:1\n@ server 10.1.0.1:27015\n@ repeat 50 192.0.2.0/24\n> \"~\" ~ 02\n< 03 ~\n@ done\n> 04\n"
	c, err := Parse("test.hex", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(c.Whole), 101; got != want {
		t.Fatalf("datagrams: got %d, want %d", got, want)
	}
	net := netip.MustParsePrefix("192.0.2.0/24")
	seen := map[string]bool{}
	for i := 0; i < 100; i += 2 {
		ask, answer := c.Whole[i], c.Whole[i+1]
		if !net.Contains(ask.Src.Addr()) || ask.Src != answer.Dst || ask.Src.Port() < 1024 {
			t.Errorf("turn %d: %v asks, %v is answered", i/2, ask.Src, answer.Dst)
		}
		nonce := string(ask.Payload[1:5])
		if len(ask.Payload) != 6 || string(answer.Payload[1:]) != nonce || seen[nonce] {
			t.Errorf("turn %d: % x, % x", i/2, ask.Payload, answer.Payload)
		}
		seen[nonce] = true
	}
	if got := c.Whole[100].Src.String(); got != "10.0.0.1:1" {
		t.Errorf("after the block the client is %s", got)
	}
	again, err := Parse("test.hex", []byte(source))
	if err != nil || again.Whole[7].Src != c.Whole[7].Src {
		t.Errorf("the second time: %v, error %v", again.Whole[7].Src, err)
	}
}

// TestRepeatPort: all clients of a block have the port that it names.
func TestRepeatPort(t *testing.T) {
	c, err := Parse("test.hex", []byte("# A block.\n@ server 10.1.0.1:27015\n@ repeat 9 192.0.2.0/24 port=53\n> 01\n@ done\n"))
	if err != nil || len(c.Whole) != 9 {
		t.Fatalf("got %d datagrams, error %v", len(c.Whole), err)
	}
	for i, d := range c.Whole {
		if d.Src.Port() != 53 {
			t.Errorf("turn %d: from %v", i, d.Src)
		}
	}
}

func TestRepeatErrors(t *testing.T) {
	const head = "# A block.\n@ client 10.0.0.1:1\n@ server 10.1.0.1:27015\n"
	for _, tc := range []struct{ name, in, want string }{
		{"no end", "@ repeat 2 10.0.0.0/8\n> 01\n", "line 4: @ repeat without @ done"},
		{"nested", "@ repeat 2 10.0.0.0/8\n@ repeat 2 10.0.0.0/8\n", "do not nest"},
		{"no network", "@ repeat 2\n", "want how often, and the network"},
		{"host bits", "@ repeat 2 10.0.0.1/8\n", "is not a network"},
		{"never", "@ repeat 0 10.0.0.0/8\n", "0 is outside 1 to 10000"},
		{"other word", "@ repeat 2 10.0.0.0/8 53\n", `"53" is not port=N`},
		{"port 0", "@ repeat 2 10.0.0.0/8 port=0\n", "0 is outside 1 to 65535"},
		{"done alone", "@ done now\n", "no such directive"},
		{"error inside", "@ repeat 2 10.0.0.0/8\n> zz\n@ done\n", "line 6: "},
	} {
		_, err := Parse("test.hex", []byte(head+tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
}
