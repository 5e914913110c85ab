package rcon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

const (
	mongo = `3a000000 01000000 00000000 d4070000 00000000 "admin.$cmd" 00 00000000 ffffffff
		13000000 10 "isMaster" 00 01000000 00`
	mongoMsg   = `2f000000 02000000 00000000 dd070000 00000000 00 1a000000 10 "ping" 00 01000000 02 "$db" 00 01000000 00 00`
	mongoReply = `2b000000 05000000 02000000 dd070000 00000000 00 16000000 01 "ok" 00 000000000000f03f 00`
)

// Before a connection is known, its first bytes decide.
func TestIdentify(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		dir      dissect.Direction
		conf     dissect.Confidence
		n, need  int
	}{
		{"login", auth, dissect.ToServer, dissect.Certain, 16, 0},
		{"login and a command", auth + exec, dissect.ToServer, dissect.Certain, 16, 0},
		{"login and the begin of a command", auth + `1000`, dissect.ToServer, dissect.Certain, 16, 0},
		{"login and something else", auth + `"GET /"`, dissect.ToServer, dissect.Maybe, 16, 0},
		{"login, the text not UTF-8", `0c000000 01000000 03000000 "p" fc 0000`, dissect.ToServer, dissect.Likely, 16, 0},
		{"login with a control character", `0c000000 01000000 03000000 "p" 07 0000`, dissect.ToServer, dissect.No, 0, 0},
		{"login without its NULs", `0c000000 01000000 03000000 "pwxx"`, dissect.ToServer, dissect.No, 0, 0},
		{"login, empty", `0a000000 01000000 03000000 0000`, dissect.ToServer, dissect.Likely, 14, 0},
		{"login, begun", `0c000000 01000000 03000000 "p"`, dissect.ToServer, dissect.Likely, 16, 16},
		{"login, from the server", auth, dissect.ToClient, dissect.No, 0, 0},
		{"login, direction unknown", auth, dissect.Unsure, dissect.Certain, 16, 0},
		{"nothing yet", ``, dissect.ToServer, dissect.Maybe, 0, 12},
		{"size begun", `0c00`, dissect.ToServer, dissect.Maybe, 0, 12},
		{"size alone", `0c000000`, dissect.ToServer, dissect.Maybe, 16, 12},
		{"command", exec, dissect.ToServer, dissect.Likely, 20, 0},
		{"probe", probe3, dissect.ToServer, dissect.Maybe, 14, 0},
		{"request of an unknown type", `0c000000 01000000 04000000 "ab" 0000`, dissect.ToServer, dissect.No, 0, 0},
		{"request too long", `dd050000 01000000 03000000`, dissect.ToServer, dissect.No, 0, 0},
		{"reply as long", `dd050000 01000000 00000000`, dissect.ToClient, dissect.Maybe, 0x5dd + 4, 0x5dd + 4},
		{"reply too long", `0b100000 01000000 00000000`, dissect.ToClient, dissect.No, 0, 0},
		{"answer to a login", authOK, dissect.ToClient, dissect.Likely, 14, 0},
		{"answer with a NUL too much", `0b000000 ffffffff 02000000 000000`, dissect.ToClient, dissect.Likely, 15, 0},
		{"empty reply", empty, dissect.ToClient, dissect.Maybe, 14, 0},
		{"output, short", value, dissect.ToClient, dissect.Maybe, 26, 0},
		{"output, long", `2c000000 02000000 00000000 "hostname: a server with a namexxxx" 0000`, dissect.ToClient, dissect.Likely, 48, 0},
		{"output, long, direction unknown", `2c000000 02000000 00000000 "hostname: a server with a namexxxx" 0000`, dissect.Unsure, dissect.Likely, 48, 0},
		{"output in characters", `0b000000 00000000 00000000 c3a9 0000`, dissect.ToClient, dissect.Maybe, 16, 0},
		{"size too small", `09000000`, dissect.ToServer, dissect.No, 0, 0},
		{"MongoDB, old", mongo, dissect.ToServer, dissect.No, 0, 0},
		{"MongoDB", mongoMsg, dissect.ToServer, dissect.No, 0, 0},
		{"MongoDB, reply", mongoReply, dissect.ToClient, dissect.No, 0, 0},
		{"MongoDB, direction unknown", mongoMsg + mongo, dissect.Unsure, dissect.No, 0, 0},
		{"TLS", `16030102 00010001`, dissect.ToServer, dissect.No, 0, 0},
		{"HTTP", `"GET / HTTP/1.1" 0d0a`, dissect.ToServer, dissect.No, 0, 0},
		{"HTTP, reply", `"HTTP/1.1 200 OK" 0d0a`, dissect.ToClient, dissect.No, 0, 0},
		{"SSH", `"SSH-2.0-OpenSSH" 0d0a`, dissect.ToServer, dissect.No, 0, 0},
		{"Minecraft", `1000 f205 09 "localhost" 63dd 01`, dissect.ToServer, dissect.No, 0, 0},
		{"Minecraft, old ping", `fe01fa00 0b004d00`, dissect.ToServer, dissect.No, 0, 0},
		{"PostgreSQL", `00000008 04d2162f`, dissect.ToServer, dissect.No, 0, 0},
		{"PostgreSQL, start", `00000029 00030000 "user" 00 "postgres" 00`, dissect.ToServer, dissect.No, 0, 0},
		{"PostgreSQL, reply", `52000000 08000000 00 53000000 16 "client_encoding" 00`, dissect.ToClient, dissect.No, 0, 0},
		{"MySQL, greeting", `4a000000 0a "5.7.30" 00 08000000`, dissect.ToClient, dissect.No, 0, 0},
		{"Redis", `"*1" 0d0a "$4" 0d0a "PING" 0d0a`, dissect.ToServer, dissect.No, 0, 0},
		{"RDP", `0300002c 27e00000`, dissect.ToServer, dissect.No, 0, 0},
		{"Steam", `14010000 "VT01" 17050000`, dissect.ToServer, dissect.No, 0, 0},
		{"XRCON", `"CMND" 00d20000 0012 0000`, dissect.ToServer, dissect.No, 0, 0},
		{"SMB", `0000008a fe534d42`, dissect.ToServer, dissect.No, 0, 0},
		{"DNS", `001d 1234 01000001 00000000`, dissect.ToServer, dissect.No, 0, 0},
		{"zeros", `00000000 00000000 00000000 0000`, dissect.ToServer, dissect.No, 0, 0},
	} {
		b := hextest.Bytes(t, tc.in)
		r := New().Frame(context(tc.dir, nil), b)
		if r.Conf != tc.conf || r.Len != tc.n || r.Need != tc.need {
			t.Errorf("%s\ngot  %v, length %d, needs %d\nwant %v, length %d, needs %d", tc.name, r.Conf, r.Len, r.Need, tc.conf, tc.n, tc.need)
		}
	}
}

// A protocol that is not ours is refused at the first byte that shows it, and at
// none later.
func TestForeign(t *testing.T) {
	for _, in := range []string{mongo, mongoMsg, mongoReply, mongo + mongoMsg} {
		b := hextest.Bytes(t, in)
		for _, dir := range []dissect.Direction{dissect.ToServer, dissect.ToClient, dissect.Unsure} {
			for n := 17; n <= len(b); n++ {
				if r := New().Frame(context(dir, nil), b[:n]); r.Conf != dissect.No {
					t.Errorf("direction %d, %d of %d bytes\ngot  %v\nwant no", dir, n, len(b), r.Conf)
				}
			}
			if skip, need := New().Resync(context(dir, nil), b, true); skip != len(b) || need != 0 {
				t.Errorf("direction %d: resync stops at %d of %d", dir, skip, len(b))
			}
		}
	}
}

// In a known connection everything with a possible size is a packet.
func TestFrame(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		dir      dissect.Direction
		last     bool
		want     string
	}{
		{"any type", `0c000000 01000000 e8030000 "ab" 0000`, dissect.ToServer, false, "16 0 false"},
		{"control characters", `0c000000 01000000 00000000 0102 0000`, dissect.ToClient, false, "16 0 false"},
		{"no NULs", `0c000000 01000000 00000000 "abcd"`, dissect.ToClient, false, "16 0 false"},
		{"large", `00000100 01000000 00000000`, dissect.ToClient, false, "65540 13 false"},
		{"too large", `fdff0f00 01000000 00000000`, dissect.ToClient, false, "12 0 true"},
		{"too small, text may follow", `09000000 01000000 00000000`, dissect.ToClient, false, "0 23 false"},
		{"too small", `09000000 01000000 00000000 "abcdefghijk"`, dissect.ToClient, false, "12 0 true"},
		{"text counted alone", `02000000 01000000 00000000 "ok" 0000`, dissect.ToClient, false, "16 0 false"},
		{"text counted alone, empty", `00000000 01000000 02000000 0000`, dissect.ToClient, false, "14 0 false"},
		{"text and NULs counted", `04000000 01000000 00000000 "ok" 0000`, dissect.ToClient, false, "16 0 false"},
		{"up to the first NUL", `0c000000 01000000 00000000 "abcd" 0000`, dissect.ToClient, false, "18 0 false"},
		{"text cut, the next packet follows", `14000000 01000000 00000000 "ab" 0000 0b000000 02000000 00000000 "c" 0000`, dissect.ToClient, false, "16 0 false"},
		{"text cut, nothing came yet", `14000000 01000000 00000000 "ab" 0000`, dissect.ToClient, false, "24 24 false"},
		{"text cut, nothing follows", `14000000 01000000 00000000 "ab" 0000`, dissect.ToClient, true, "16 0 false"},
		{"two NULs within the text", `0e000000 01000000 00000000 0000 0000 0000`, dissect.ToClient, false, "18 0 false"},
		{"negative, header begun", `ffffffff 01`, dissect.ToClient, false, "12 12 true"},
		{"negative, nothing follows", `ffffffff 01`, dissect.ToClient, true, "5 0 true"},
		{"characters, not there yet", `0d000000 01000000 00000000 c3a9 c3a9 62`, dissect.ToClient, false, "0 19 false"},
		{"characters, a NUL is missing", `0c000000 01000000 00000000 c3a9 c3a9 00`, dissect.ToClient, false, "0 18 false"},
		{"characters, there", `0d000000 01000000 00000000 c3a9 c3a9 62 0000`, dissect.ToClient, false, "19 0 false"},
		{"characters, but not from clients", `0d000000 01000000 02000000 c3a9 c3a9 62 0000`, dissect.ToServer, false, "17 0 false"},
		{"characters, nothing follows", `0d000000 01000000 00000000 c3a9 c3a9 62`, dissect.ToClient, true, "17 0 false"},
		{"characters, the wrong number", `0d000000 01000000 00000000 c3a9 c3a9 0000`, dissect.ToClient, false, "18 0 false"},
	} {
		c := context(tc.dir, newSession(&dissect.Budget{}))
		c.Stream.Last = tc.last
		r := New().Frame(c, hextest.Bytes(t, tc.in))
		if got := fmt.Sprint(r.Len, r.Need, r.Bad); got != tc.want || r.Conf == dissect.No {
			t.Errorf("%s\ngot  %v %s\nwant likely %s", tc.name, r.Conf, got, tc.want)
		}
	}
}

// The seven bytes are told from a packet of size 256 by what follows them.
func TestStray(t *testing.T) {
	as256 := append(hextest.Bytes(t, `00010000 00000000 00000000`), strings.Repeat("x", 246)+"\x00\x00"...)
	both := append(hextest.Bytes(t, stray+`0c000000 00000000 00000000 "ab" 0000`), bytes.Repeat([]byte("x"), 300)...)
	for _, tc := range []struct {
		name string
		in   []byte
		last bool
		want string
	}{
		{"alone", hextest.Bytes(t, stray), false, "0 19"},
		{"alone at the end", hextest.Bytes(t, stray), true, "7 0"},
		{"too few at the end", hextest.Bytes(t, `00010000 00 0a`), true, "260 12"},
		{"a packet follows", hextest.Bytes(t, stray+value), false, "7 0"},
		{"a packet begins at the end", hextest.Bytes(t, stray+`1600`), true, "7 0"},
		{"text follows", hextest.Bytes(t, stray+`"hello world!"`), false, "260 260"},
		{"a packet of size 256", as256, false, "260 0"},
		{"a packet of size 256, its header", as256[:19], false, "260 20"},
		{"both, begun", both[:100], false, "0 260"},
		{"both, it ends with no NULs", both, false, "7 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := dissecttest.NewConversation(t, New(), 1<<20)
			v.Send(dissect.ToClient, packetBytes(3, numValue, ""))
			c := context(dissect.ToClient, v.Stream.Session)
			c.Stream.Last = tc.last
			r := New().Frame(c, tc.in)
			if got := fmt.Sprint(r.Len, r.Need); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
			v.Send(dissect.ToClient, packetBytes(3, numValue, "x"))
			if r := New().Frame(c, tc.in); r.Len == strayLen {
				t.Error("found after a packet with text")
			}
		})
	}
}

// randomStream is packets of a direction, and where they end.
func randomStream(r *rand.Rand, dir dissect.Direction, n int) (b []byte, ends []int) {
	nums := []int32{numValue, numExec}
	for range n {
		var body string
		switch size := r.IntN(4); size {
		case 0:
		case 1:
			body = strings.Repeat("status ", 1+r.IntN(8))
		case 2:
			body = strings.Repeat("hostname: x\n", r.IntN(300))
		default:
			if dir == dissect.ToClient {
				body = string(trailerBody)
			}
		}
		num := nums[r.IntN(len(nums))]
		if body == string(trailerBody) {
			num = numValue
		}
		b = append(b, packetBytes(int32(r.IntN(1<<20)), num, body)...)
		ends = append(ends, len(b))
	}
	return b, ends
}

// From any place in a stream, the next border is found: three packets prove it, or
// two at the end.
func TestResync(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := New()
	for _, dir := range []dissect.Direction{dissect.ToServer, dissect.ToClient} {
		for range 10 {
			b, ends := randomStream(r, dir, 5)
			c := context(dir, newSession(&dissect.Budget{}))
			starts := append([]int{0}, ends...)
			for at := range b {
				want := len(b)
				for i, s := range starts[:len(starts)-1] {
					if s >= at && (len(starts)-1-i >= 2 || s == at) {
						want = s
						break
					}
				}
				if skip, need := d.Resync(c, b[at:], true); at+skip != want || need != 0 {
					t.Fatalf("from %d of %v\ngot  %d, needs %d\nwant %d", at, ends, at+skip, need, want)
				}
				// byte after byte, it comes to the same, once there is enough
				if len(b) > 2000 {
					continue
				}
				lo, need := 0, headerLen
				for n := at; n <= len(b) && need > 0; n++ {
					if got := n - at - lo; got >= need {
						var skip int
						skip, need = d.Resync(c, b[at+lo:n], false)
						lo += skip
					}
				}
				if need == 0 && at+lo != want {
					t.Fatalf("from %d of %v, bytewise\ngot  %d\nwant %d", at, ends, at+lo, want)
				}
			}
		}
	}
}

// Behind a gap, Squad's stray bytes stand between packets.
func TestResyncStray(t *testing.T) {
	b := hextest.Bytes(t, `"text" 0000`+value+empty+stray+value+empty+stray)
	c := context(dissect.ToClient, newSession(&dissect.Budget{}))
	for _, last := range []bool{false, true} {
		if skip, need := New().Resync(c, b, last); skip != 6 || need != 0 {
			t.Errorf("last %v\ngot  %d, needs %d\nwant 6", last, skip, need)
		}
	}
}

// Messages are the same however the bytes arrive.
func TestSegments(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		b, _ := randomStream(r, dissect.ToClient, 8)
		for _, part := range []string{stray + value, `0b000000 00000000 00000000 c3a9 0000`, `0f000000 00000000 00000000 c3a9 c3a9 "abc" 0000`, `ffffffff` + value} {
			b = append(b, packetBytes(1, numValue, "")...)
			b = append(b, hextest.Bytes(t, part)...)
		}
		tail, _ := randomStream(r, dissect.ToClient, 4)
		b = append(b, tail...)
		whole := dissecttest.NewConversation(t, New(), 1<<20)
		whole.Send(dissect.ToClient, b)
		whole.End()
		pieces := dissecttest.NewConversation(t, New(), 1<<20)
		for rest := b; len(rest) > 0; {
			n := min(1+r.IntN(1+r.IntN(600)), len(rest))
			pieces.Send(dissect.ToClient, rest[:n])
			rest = rest[n:]
		}
		pieces.End()
		lines(t, pieces, listing(whole))
		if whole.Skipped != pieces.Skipped {
			t.Errorf("skipped\ngot  %d\nwant %d", pieces.Skipped, whole.Skipped)
		}
	}
}

func listing(v *dissecttest.Conversation) string {
	var out strings.Builder
	for _, m := range v.Messages {
		out.WriteString(show(m) + "\n")
	}
	return out.String()
}
