package tcpstream_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"qsniff/capture/packet"
	"qsniff/internal/base/checksum"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
	"qsniff/reassembly/tcpstream"
)

// stranger is a host that speaks TCP to the kernel of a namespace, and sends what the test wants.
type stranger struct {
	tun      *netns.Tun
	listener net.Listener
	here     netip.AddrPort
	there    netip.AddrPort
	seq, ack uint32 // of the connection: the next byte that it sends, and what it has received
}

func newStranger(t *testing.T) *stranger {
	timing.SkipUnlessLive(t)
	ns := netns.New(t)
	s := &stranger{
		here:  netip.MustParseAddrPort("198.18.0.2:1024"),
		there: netip.MustParseAddrPort("198.18.0.1:27015"),
	}
	s.tun = ns.NewTun(t, "tun0", netip.PrefixFrom(s.there.Addr(), 24))
	var err error
	ns.Do(func() { s.listener, err = net.Listen("tcp4", s.there.String()) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.listener.Close() })
	return s
}

// send sends a segment whose data begins at byte off of the stream.
func (s *stranger) send(t *testing.T, off int, flags uint8, data string) {
	t.Helper()
	b := make([]byte, 40, 40+len(data))
	b[0], b[8], b[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(b[2:], uint16(40+len(data)))
	copy(b[12:], s.here.Addr().AsSlice())
	copy(b[16:], s.there.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[10:], ^checksum.Fold(checksum.Add(0, b[:20])))
	h := b[20:]
	binary.BigEndian.PutUint16(h, s.here.Port())
	binary.BigEndian.PutUint16(h[2:], s.there.Port())
	binary.BigEndian.PutUint32(h[4:], s.seq+uint32(off))
	binary.BigEndian.PutUint32(h[8:], s.ack)
	h[12], h[13] = 5<<4, flags
	binary.BigEndian.PutUint16(h[14:], 0xffff)
	b = append(b, data...)
	binary.BigEndian.PutUint16(b[36:], ^checksum.Fold(checksum.Add(6+uint64(len(b)-20), append(b[12:20:20], b[20:]...))))
	s.tun.Write(t, b)
}

// open begins a connection, from another port than the last one, and returns the kernel's end of it.
func (s *stranger) open(t *testing.T) net.Conn {
	t.Helper()
	s.here = netip.AddrPortFrom(s.here.Addr(), s.here.Port()+1)
	s.seq, s.ack = 1000, 0
	s.send(t, 0, packet.FlagSYN, "")
	for deadline := time.Now().Add(5 * time.Second); ; {
		b := s.tun.Read(t, time.Until(deadline))
		if b == nil {
			t.Fatal("the kernel does not answer the SYN")
		}
		if b[0] == 0x45 && b[9] == 6 && b[33] == packet.FlagSYN|packet.FlagACK && binary.BigEndian.Uint16(b[22:]) == s.here.Port() {
			s.ack = binary.BigEndian.Uint32(b[24:]) + 1
			break
		}
	}
	s.seq++
	s.send(t, 0, packet.FlagACK, "")
	conn, err := s.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// claim is a segment whose bytes are all the same letter.
type claim struct {
	off, length int
	letter      byte
}

func (c claim) String() string { return fmt.Sprintf("%c[%d,%d)", c.letter, c.off, c.off+c.length) }

func (c claim) data() string { return strings.Repeat(string(c.letter), c.length) }

// kernelReads returns what a program reads of the kernel.
func (s *stranger) kernelReads(t *testing.T, list []claim, total int) string {
	t.Helper()
	conn := s.open(t)
	defer conn.Close()
	for _, c := range list {
		s.send(t, c.off, packet.FlagACK, c.data())
	}
	s.send(t, total, packet.FlagACK|packet.FlagFIN, "")
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	s.send(t, total+1, packet.FlagRST, "")
	return string(b)
}

// reader keeps what it is given, of one direction.
type reader struct{ strings.Builder }

func (r *reader) Data(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (done, need int) {
	r.Write(ch.Data)
	return len(ch.Data), 0
}
func (*reader) Break(*tcpstream.Conn, int, *tcpstream.Chunk, tcpstream.Break) {}
func (*reader) Conflict(*tcpstream.Conn, int, tcpstream.Dispute)              {}
func (*reader) Close(*tcpstream.Conn)                                         {}

// assemblerReads returns what an Assembler makes of the same segments.
func assemblerReads(t *testing.T, list []claim) string {
	var r reader
	a := tcpstream.New(tcpstream.Limits{}, &r)
	src, dst := netip.MustParseAddrPort("198.18.0.2:1024"), netip.MustParseAddrPort("198.18.0.1:27015")
	add := func(i int, h packet.TCPHeader, data string) {
		a.Add(&tcpstream.Segment{Src: src, Dst: dst, TCP: h, Data: []byte(data), Wire: len(data), Frame: uint64(i), Nanos: int64(i)})
		if problem := a.Check(); problem != "" {
			t.Fatalf("%v: %s", list, problem)
		}
	}
	add(1, packet.TCPHeader{Seq: 1000, Flags: packet.FlagSYN}, "")
	for i, c := range list {
		add(i+2, packet.TCPHeader{Seq: 1001 + uint32(c.off), Flags: packet.FlagACK}, c.data())
	}
	a.Flush(int64(len(list) + 2))
	return r.String()
}

var update = flag.Bool("update", false, "rewrite testdata/kernel.txt, in TestLiveKernel")

// recorded is what a kernel read of the first segments of each kind, where an Assembler agreed: a line each.
const recorded = "testdata/kernel.txt"

// recordedSeeds is how many of each kind are recorded.
const recordedSeeds = 400

// mixes are the kinds of segments that TestLiveKernel sends.
var mixes = []struct {
	name    string
	claims  func(*rand.Rand) ([]claim, int)
	differs int // at most, of a thousand
}{
	{"two segments", twoSegments, 0},
	{"one that overlaps others", oneMore, 70},
	{"all overlap", manyCopies, 150},
}

// TestRecordedKernel: an Assembler reads what a kernel was seen to read.
func TestRecordedKernel(t *testing.T) {
	b, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != len(mixes)*recordedSeeds {
		t.Fatalf("%d lines, want %d", len(lines), len(mixes)*recordedSeeds)
	}
	for k, mix := range mixes {
		for seed := range uint64(recordedSeeds) {
			want := lines[k*recordedSeeds+int(seed)]
			if want == unlike {
				continue
			}
			list, _ := mix.claims(rand.New(rand.NewPCG(seed, 4)))
			if got := assemblerReads(t, list); got != want {
				t.Errorf("%s, seed %d: %v\n got %q\nwant %q", mix.name, seed, list, got, want)
			}
		}
	}
}

// unlike stands for a reading that the kernel's tree made unlike the one of an Assembler.
const unlike = "-"

// TestLiveKernel sends random segments that claim the same bytes to this system's kernel, and asks that an
// Assembler gives the bytes that a program reads there: always where two segments wait for the first one,
// and mostly where more do, for then it depends on the shape of the kernel's search tree.
func TestLiveKernel(t *testing.T) {
	s := newStranger(t)
	var record []byte
	for _, tt := range mixes {
		t.Run(tt.name, func(t *testing.T) {
			const rounds = 3000
			failed := 0
			for seed := range uint64(rounds) {
				list, total := tt.claims(rand.New(rand.NewPCG(seed, 4)))
				want, got := s.kernelReads(t, list, total), assemblerReads(t, list)
				if seed < recordedSeeds {
					line := want
					if got != want {
						line = unlike
					}
					record = fmt.Appendln(record, line)
				}
				if got != want {
					if failed++; tt.differs == 0 {
						t.Errorf("seed %d: %v\n got %q\nwant %q", seed, list, got, want)
					}
				}
			}
			t.Logf("%d of %d differ", failed, rounds)
			if failed > rounds*tt.differs/1000 {
				t.Errorf("differ\n got %d of %d\nwant %d of 1000 at most", failed, rounds, tt.differs)
			}
		})
	}
	if *update {
		if err := os.WriteFile(recorded, record, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// cut returns segments that cover the bytes from off to total.
func cut(r *rand.Rand, off, total int, letter byte) (list []claim) {
	for off < total {
		end := min(off+1+r.IntN(12), total)
		list = append(list, claim{off, end - off, letter})
		letter++
		off = end
	}
	return list
}

// twoSegments returns two segments that overlap, and one for the bytes before them, which comes last.
func twoSegments(r *rand.Rand) (list []claim, total int) {
	off := 1 + r.IntN(20)
	a := claim{off + r.IntN(12), 1 + r.IntN(16), 'a'}
	b := claim{off, a.off - off + 1 + r.IntN(24), 'b'}
	if r.IntN(4) == 0 {
		b.off, b.length = a.off, 1+r.IntN(16)
		off = a.off
	}
	list = []claim{a, b}
	if r.IntN(2) == 0 {
		list[0], list[1] = b, a
	}
	return append(list, claim{0, off, 'z'}), max(a.off+a.length, b.off+b.length)
}

// oneMore returns segments in random order and one more that claims bytes of theirs. The first bytes come
// last, so that the others wait.
func oneMore(r *rand.Rand) (list []claim, total int) {
	total = 8 + r.IntN(40)
	list = cut(r, 1, total, 'a')
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	off := 1 + r.IntN(total-1)
	again := claim{off, min(1+r.IntN(16), total-off), 'X'}
	at := r.IntN(len(list) + 1)
	list = append(list[:at], append([]claim{again}, list[at:]...)...)
	return append(list, claim{0, 1, 'z'}), total
}

// manyCopies returns segments of which many claim the same bytes.
func manyCopies(r *rand.Rand) (list []claim, total int) {
	total = 4 + r.IntN(40)
	for i := range 2 + r.IntN(7) {
		off := 1 + r.IntN(total-1)
		list = append(list, claim{off, min(1+r.IntN(16), total-off), 'a' + byte(i)})
	}
	rest, first := cut(r, 1, total, 'k'), claim{0, 1 + r.IntN(total), 'z'}
	if r.IntN(2) == 0 {
		return append(append(list, first), rest...), total
	}
	list = append(list, rest...)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return append(list, first), total
}
