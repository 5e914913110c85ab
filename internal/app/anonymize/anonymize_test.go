package anonymize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/capture/packet/rewrite"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/pipeline/subset"
	"qsniff/internal/render"
)

// TestDefinitions: what every protocol calls the name of a server is replaced.
func TestDefinitions(t *testing.T) {
	for _, d := range protocols.All() {
		for _, d := range d.Proto().Defs {
			if d.Role == dissect.ServerName && d.Flags&dissect.Identifying == 0 {
				t.Errorf("%s is not Identifying", d.Name)
			}
		}
	}
}

var key = New([]byte("test"))

// TestAddr: prefixes stay prefixes, classes stay, nothing stays itself, and text is as long.
func TestAddr(t *testing.T) {
	for _, s := range []string{"127.0.0.1", "224.0.0.251", "255.255.255.255", "0.0.0.0", "::", "::1", "ff02::1"} {
		if ip := netip.MustParseAddr(s); key.Addr(ip) != ip {
			t.Errorf("%s became %s", s, key.Addr(ip))
		}
	}
	all := []string{"10.64.0.36", "10.64.0.37", "10.64.9.9", "192.168.1.1", "172.16.0.1", "172.200.3.4", "100.64.1.1", "169.254.3.4", "203.0.113.9",
		"198.51.100.17", "8.8.8.8", "81.2.69.142", "81.2.69.160", "81.2.70.1", "2001:db8::1", "2001:db8:1::1", "2a00:1450:4001::200e", "fe80::1", "fd00::7:1"}
	seen := map[netip.Addr]string{}
	for _, s := range all {
		ip := netip.MustParseAddr(s)
		to := key.Addr(ip)
		if to == ip || len(to.String()) != len(s) || to.IsPrivate() != ip.IsPrivate() || to.IsLinkLocalUnicast() != ip.IsLinkLocalUnicast() || !to.IsGlobalUnicast() && ip.IsGlobalUnicast() {
			t.Errorf("%s became %s", s, to)
		}
		if was, ok := seen[to]; ok {
			t.Errorf("%s and %s both became %s", was, s, to)
		}
		seen[to] = s
		for _, other := range all {
			o := netip.MustParseAddr(other)
			for _, bits := range []int{8, 16, 24} {
				a, err := ip.Prefix(bits)
				if err != nil || o.Is4() != ip.Is4() || !ip.Is4() {
					continue
				}
				b, _ := to.Prefix(bits)
				if a.Contains(o) != b.Contains(key.Addr(o)) {
					t.Errorf("%s and %s: %d bits equal: %t, of %s and %s %t", s, other, bits, a.Contains(o), to, key.Addr(o), !a.Contains(o))
				}
			}
		}
	}
	if New([]byte("other")).Addr(netip.MustParseAddr("81.2.69.142")) == key.Addr(netip.MustParseAddr("81.2.69.142")) {
		t.Error("another key gives the same address")
	}
}

// TestChange: addresses of all headers are replaced, and what follows the datagram, in the
// packet of IP and in the frame, is cleared.
func TestChange(t *testing.T) {
	b := []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00" +
		"\x45\x00\x00\x24\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x01\x02\x03\xc6\x12\x07\x09" +
		"\x9c\x41\x69\x87\x00\x0b\x00\x00abc" + "secret" + "padding")
	was := string(b)
	var x rewrite.Packet
	x.Begin(&capture.Packet{Link: packet.LinkEthernet, Wire: uint32(len(b))}, b)
	key.Change(&x)
	for _, r := range [...][2]int{{0, 6}, {6, 12}, {26, 30}, {30, 34}} {
		if string(b[r[0]:r[1]]) == was[r[0]:r[1]] {
			t.Errorf("bytes %d to %d stay % x", r[0], r[1], b[r[0]:r[1]])
		}
	}
	if got := string(b[42:]); got != "abc"+strings.Repeat("\x00", len("secretpadding")) {
		t.Errorf("%q is carried", got)
	}
}

// TestChangeProxied: the addresses in the header of a proxy are replaced as those of packets, and its
// TLVs are cleared.
func TestChangeProxied(t *testing.T) {
	const ip = "\x45\x00\x00\x60\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x01\x02\x03\xc6\x12\x07\x09\x9c\x41\x69\x87"
	mapped := strings.Repeat("\x00", 10) + "\xff\xff"
	for _, tc := range []struct {
		header, udpLen, ipLen string
		client, proxy         int // where the addresses are
	}{
		{"\x56\xec" + mapped + "\x0a\x01\x02\x03" + mapped + "\xc6\x12\x07\x09\x9c\x41\x69\x87", "\x00\x31", "\x00\x45", 14, 30},
		{"\r\n\r\n\x00\r\nQUIT\n\x21\x12\x00\x12\x0a\x01\x02\x03\xc6\x12\x07\x09\x9c\x41\x69\x87\x02\x00\x03abc", "\x00\x2d", "\x00\x41", 16, 20},
	} {
		b := []byte(ip[:2] + tc.ipLen + ip[4:] + tc.udpLen + "\x00\x00" + tc.header + "xyz")
		var x rewrite.Packet
		x.Begin(&capture.Packet{Link: packet.LinkRaw, Wire: uint32(len(b))}, b)
		key.Change(&x)
		h := b[28:]
		if got, want := string(h[tc.client:][:4]), string(b[12:16]); got != want || got == "\x0a\x01\x02\x03" {
			t.Errorf("the client became % x, want % x", got, want)
		}
		if got, want := string(h[tc.proxy:][:4]), string(b[16:20]); got != want || got == "\xc6\x12\x07\x09" {
			t.Errorf("the proxy became % x, want % x", got, want)
		}
		if strings.Contains(string(b), "abc") || !strings.HasSuffix(string(b), "xyz") {
			t.Errorf("% x is left", b)
		}
	}
}

func replaced(s string, isProse bool) string {
	b := []byte(s)
	key.work.Get().(*work).replaceText(b, make([]bool, len(b)), isProse)
	return string(b)
}

// TestText: words are replaced, the same by the same, whatever their case; in prose common
// words and numbers stay; addresses become those of packets.
func TestText(t *testing.T) {
	if a, b := replaced("Alice", false), replaced("ALICE", false); !strings.EqualFold(a, b) || a == "Alice" {
		t.Errorf("%q, %q", a, b)
	}
	for _, tc := range []struct{ text, stays string }{
		{`rcon_password is "x"`, `rcon_password is "x"`},
		{"players : 12 (16 max)", "players : 12 (16 max)"},
		{"00000000000000", "00000000000000"},
	} {
		if got := replaced(tc.text, true); got != tc.stays {
			t.Errorf("%q became %q, want %q", tc.text, got, tc.stays)
		}
	}
	for _, s := range []string{"Alice", "76561198000000001", "дом", "日本語", "clan-member"} {
		if got := replaced(s, true); got == s || len(got) != len(s) {
			t.Errorf("%q became %q", s, got)
		}
	}
	ip := netip.MustParseAddr("81.2.69.142")
	if got, want := replaced("from 81.2.69.142:27005.", true), "from "+key.Addr(ip).String()+":27005."; got != want {
		t.Errorf("an address became %q, want %q", got, want)
	}
}

// FuzzText: a text stays as long, as valid, and is replaced in the same way each time.
func FuzzText(f *testing.F) {
	f.Add("Alice <1><STEAM_0:1:5> 10.0.0.1:27015 дом 2001:db8::1", true)
	f.Add("\xff\xfe1.2.3.4.5::::", false)
	f.Add("00::", true)
	f.Fuzz(func(t *testing.T, s string, isProse bool) {
		got := replaced(s, isProse)
		if len(got) != len(s) || utf8.ValidString(got) != utf8.ValidString(s) || got != replaced(s, isProse) {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// TestBinary: a text with bytes that no text has is replaced, unless values are decoded from
// it: then these are.
func TestBinary(t *testing.T) {
	rule := &dissect.Def{Name: "rule", Kind: dissect.Text, Flags: dissect.Prose}
	name := &dissect.Def{Name: "name", Kind: dissect.Text, Flags: dissect.Identifying}
	const text = "\x10Alice\x0cwonderland"
	m := &dissect.Message{Data: []byte(text), Fields: []dissect.Field{{Def: rule, Len: uint32(len(text)), Num: uint64(len(text))}}}
	for _, want := range []string{"\x10*****\x0c**********", "\x10*****\x0cwonderland"} {
		out := []byte(text)
		var edits subset.Edits
		key.AddEdits(&edits, &render.Event{Msg: m})
		for _, x := range edits.List {
			for i := range x.New {
				out[int(x.Off)+i] = '*'
			}
		}
		if string(out) != want {
			t.Errorf("replaced in %q, want %q", out, want)
		}
		m.Aux = []byte("Alice")
		m.Fields = append(m.Fields, dissect.Field{Def: name, Off: 1, Len: 5, Num: 5, Flags: dissect.Aux})
	}
}

// FuzzAddr: what is an address in a text, netip says.
func FuzzAddr(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "255.255.255.255", "0.0.0.0", "256.1.1.1", "01.2.3.4", "1.2.3", "1.2.3.4.", "1.2.3.4.5", "1..2.3", "", "1.2.3.04",
		"1234.1.1.1", "::", "1::2", "1:2:3:4:5:6:7:8", "12:34:56", "1:2:3:4:5:6:7:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := netip.ParseAddr(s)
		got, ok := parse4([]byte(s))
		if ok != want.Is4() || ok && got != want {
			t.Errorf("%q: %s, %t; netip has %s, %v", s, got, ok, want, err)
		}
		if isColons := !strings.ContainsAny(s, ".%"); want.Is6() && isColons && !mayBe6([]byte(s)) {
			t.Errorf("%q may be an address", s)
		}
	})
}

// TestAllocations: once its memory has grown, texts, numbers and addresses are replaced without
// allocating.
func TestAllocations(t *testing.T) {
	name := &dissect.Def{Name: "name", Kind: dissect.Text, Flags: dissect.Identifying}
	addr := &dissect.Def{Name: "addr", Kind: dissect.Addr}
	number := &dissect.Def{Name: "challenge", Kind: dissect.Uint, Flags: dissect.Secret}
	const text = "Alice <1> ДОМ 81.2.69.142:27005 12:34:56"
	data := []byte(text + "\x51\x02\x45\x8e" + "\x01\x02\x03\x04")
	n := uint32(len(text))
	m := &dissect.Message{Data: data, Fields: []dissect.Field{{Def: name, Len: n, Num: uint64(n)}, {Def: addr, Off: n, Len: 4}, {Def: number, Off: n + 4, Len: 4}}}
	var edits subset.Edits
	if n := testing.AllocsPerRun(1000, func() {
		edits.List = edits.List[:0]
		key.AddEdits(&edits, &render.Event{Msg: m})
	}); n >= 1 {
		t.Errorf("%g allocations", n)
	}
	out := bytes.Clone(data)
	for _, x := range edits.List {
		copy(out[x.Off:], x.New)
	}
	for _, b := range [][]byte{[]byte("Alice"), []byte("ДОМ"), []byte("81.2.69.142"), data[n : n+4], data[n+4:]} {
		if bytes.Contains(out, b) {
			t.Errorf("%q is in %q", b, out)
		}
	}
	if !bytes.Contains(out, []byte(key.Addr(netip.MustParseAddr("81.2.69.142")).String())) {
		t.Errorf("the address is not the same in %q", out)
	}
}

// TestNetworks: what stands for a network has what stands for its addresses, and for no others.
func TestNetworks(t *testing.T) {
	a := New([]byte("key"))
	for network, in := range map[string][]string{
		"203.0.113.0/24": {"203.0.113.7"}, "81.2.64.0/18": {"81.2.64.1", "81.2.127.255"}, "81.0.0.0/9": {"81.2.64.1"}, "0.0.0.0/0": {"81.2.64.1"},
		"198.18.0.0/15": {"198.19.7.1"}, "81.2.69.142/32": {"81.2.69.142"}, "2a02:26f0::/29": {"2a02:26f7:1::1"}, "2001::/16": {"2001:db8::1", "2001:470::1"}, "2001:db8::1/128": {"2001:db8::1"},
	} {
		all := a.Networks(netip.MustParsePrefix(network))
		has := func(text string) bool {
			ip := a.Addr(netip.MustParseAddr(text))
			return slices.ContainsFunc(all, func(n netip.Prefix) bool { return n.Contains(ip) })
		}
		for _, text := range in {
			if !has(text) {
				t.Errorf("%s: %v have not what stands for %s", network, all, text)
			}
		}
		for _, text := range []string{"81.2.63.1", "203.0.112.7", "198.51.100.1", "81.2.69.143", "2a02:26e0::1", "2600::1"} {
			if got, want := has(text), netip.MustParsePrefix(network).Contains(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s: %s is in it: %v, want %v", network, text, got, want)
			}
		}
	}
}

// TestSteamIDs: an account becomes the same in all forms, which stay as long; ports after addresses stay.
func TestSteamIDs(t *testing.T) {
	a := New([]byte("key"))
	w := a.work.Get().(*work)
	for _, account := range []uint32{1, 2, 9, 10, 19, 20, 21, 199, 1_234_567, 22_202, 999_999_999, 1_999_999_999, 4_294_967_295} {
		binary8 := binary.LittleEndian.AppendUint64(nil, 0x0110000100000000|uint64(account))
		a.replaceNumber(binary8, true)
		to := binary.LittleEndian.Uint64(binary8)
		if to>>32 != 0x01100001 || uint32(to) == account && account > 9 {
			t.Errorf("%d became %x", account, to)
		}
		form := func(account uint32) string {
			return fmt.Sprintf("<%d> STEAM_1:%d:%d [U:1:%d] [G:1:%d] [A:1:%d:5988] (%d)", 0x0110000100000000|uint64(account), account&1, account>>1, account, account, account, 0x0140000000000000|uint64(account))
		}
		text := []byte(form(account))
		w.replaceText(text, make([]bool, len(text)), true)
		if got, want := string(text), form(uint32(to)); got != want {
			t.Errorf("%d: got %s, want %s", account, got, want)
		}
	}
	text := []byte("198.51.100.7:27015 and 198.51.100.7:270155 x")
	w.replaceText(text, make([]bool, len(text)), false)
	if got := string(text); !strings.Contains(got, ":27015 ") || strings.Contains(got, ":270155") || strings.Contains(got, ".7:") {
		t.Errorf("ports: %s", got)
	}
}
