package responder

import (
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
)

// datagrams decodes one datagram a string.
func datagrams(t *testing.T, in ...string) [][]byte {
	t.Helper()
	var out [][]byte
	for _, s := range in {
		out = append(out, hextest.Bytes(t, s))
	}
	return out
}

func TestA2S(t *testing.T) {
	const challenge = `ffffffff "A" 4ba1d522`
	server := &A2S{
		Challenge: [4]byte{0x4b, 0xa1, 0xd5, 0x22},
		Info:      datagrams(t, `ffffffff "I" 11`),
		Rules:     datagrams(t, `feffffff 01`, `feffffff 02`),
	}
	for _, tc := range []struct {
		name, in string
		want     [][]byte
	}{
		{"info", `ffffffff "TSource Engine Query" 00`, datagrams(t, challenge)},
		{"info, challenge", `ffffffff "TSource Engine Query" 00 4ba1d522`, datagrams(t, `ffffffff "I" 11`)},
		{"info, other challenge", `ffffffff "TSource Engine Query" 00 4ba1d523`, datagrams(t, challenge)},
		{"rules, -1", `ffffffff "V" ffffffff`, datagrams(t, challenge)},
		{"rules in two parts", `ffffffff "V" 4ba1d522`, datagrams(t, `feffffff 01`, `feffffff 02`)},
		{"players, which it keeps to itself", `ffffffff "U" ffffffff`, nil},
		{"challenge", `ffffffff "W"`, datagrams(t, challenge)},
		{"ping", `ffffffff "i"`, nil},
		{"nothing", `ffffffff`, nil},
		{"not ours", `"1" ff`, nil},
	} {
		if diff := cmp.Diff(tc.want, server.Answer(hextest.Bytes(t, tc.in))); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

func TestWords(t *testing.T) {
	server := Words{"s": datagrams(t, `"EYE1"`), "\xff\xff\xff\xffdetails": datagrams(t, `ffffffff "m"`)}
	for _, tc := range []struct {
		name, in string
		want     [][]byte
	}{
		{"letter", `"s"`, datagrams(t, `"EYE1"`)},
		{"word", `ffffffff "details"`, datagrams(t, `ffffffff "m"`)},
		{"word, NUL", `ffffffff "details" 00`, datagrams(t, `ffffffff "m"`)},
		{"word, line feed and NUL", `ffffffff "details" 0a 00`, datagrams(t, `ffffffff "m"`)},
		{"other word", `ffffffff "detail"`, nil},
	} {
		if diff := cmp.Diff(tc.want, server.Answer(hextest.Bytes(t, tc.in))); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

func TestMaster(t *testing.T) {
	server := Master{"0.0.0.0:0": []byte("first"), "192.0.2.1:270": []byte("short"), "192.0.2.1:27015": []byte("second")}
	for _, tc := range []struct {
		name, in string
		want     [][]byte
	}{
		{"first page", `31 ff "0.0.0.0:0" 00 00`, [][]byte{[]byte("first")}},
		{"second page, filter", `31 03 "192.0.2.1:27015" 00 "\appid\240" 00`, [][]byte{[]byte("second")}},
		{"a byte after the address", `31 ff "192.0.2.1:27015r" 00`, [][]byte{[]byte("second")}},
		{"the longest address counts", `31 ff "192.0.2.1:2701" 00`, [][]byte{[]byte("short")}},
		{"not ended", `31 ff "0.0.0.0:0"`, nil},
		{"no page", `31 ff "192.0.2.2:27015" 00 00`, nil},
		{"not ours", `32 ff "0.0.0.0:0" 00 00`, nil},
		{"nothing", ``, nil},
	} {
		if diff := cmp.Diff(tc.want, server.Answer(hextest.Bytes(t, tc.in))); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

// patience bounds the wait for an answer over loopback.
const patience = 20 * time.Second

func TestListenUDP(t *testing.T) {
	s, err := ListenUDP(Words{"s": datagrams(t, `01`, `02`)}.Answer)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Addr().Addr().IsLoopback() {
		t.Errorf("listens on %v", s.Addr())
	}
	conn, err := net.Dial("udp4", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	for _, request := range []string{"silence", "s"} {
		if _, err := conn.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []byte{1, 2} {
		b := make([]byte, 8)
		n, err := conn.Read(b)
		if err != nil || n != 1 || b[0] != want {
			t.Errorf("got  % x, %v\nwant %02x", b[:n], err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
