package recount

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// row is one packet as tshark has it.
type row struct {
	frame    uint64
	nanos    int64
	src, dst netip.AddrPort // port 0 where there is none
	ttl      int
	wire     int // bytes with all headers from IP's on
	isTCP    bool
	flags    int // of TCP
	payload  string

	// What the test makes of it.
	what what
	key  string // the challenge that a request brings, or that a server gives
}

// fields are the columns that tshark prints, in the order in which parseRow reads them.
var fields = []string{"frame.number", "frame.time_epoch", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "ip.ttl", "ipv6.hlim", "ip.len",
	"ipv6.plen", "udp.srcport", "tcp.srcport", "udp.dstport", "tcp.dstport", "tcp.flags", "udp.payload", "tcp.payload"}

// headerIPv6 is the length of the header that the payload length of IPv6 leaves out.
const headerIPv6 = 40

// readRows reads a capture with tshark. It skips the test where there is none.
func readRows(t *testing.T, path string) []row {
	t.Helper()
	args := []string{"-n", "-r", path, "-o", "ip.defragment:FALSE", "-T", "fields", "-E", "occurrence=f"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	var errs bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	var rows []row
	for line := range strings.Lines(string(out)) {
		rows = append(rows, parseRow(t, strings.Split(strings.TrimRight(line, "\n"), "\t")))
	}
	return rows
}

func parseRow(t *testing.T, cell []string) row {
	t.Helper()
	if len(cell) != len(fields) {
		t.Fatalf("%d fields of tshark, want %d: %q", len(cell), len(fields), cell)
	}
	number := func(s string) int {
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil && s != "" {
			t.Fatal(err)
		}
		return int(n)
	}
	end := func(addr, port string) netip.AddrPort {
		a, err := netip.ParseAddr(addr)
		if err != nil {
			t.Fatal(err)
		}
		return netip.AddrPortFrom(a, uint16(number(port)))
	}
	seconds, fraction, _ := strings.Cut(cell[1], ".")
	body, err := hex.DecodeString(cell[15] + cell[16])
	if err != nil {
		t.Fatal(err)
	}
	r := row{frame: uint64(number(cell[0])), nanos: int64(number(seconds))*1e9 + int64(number(strings.TrimLeft(fraction, "0"))),
		src: end(cell[2]+cell[3], cell[10]+cell[11]), dst: end(cell[4]+cell[5], cell[12]+cell[13]), ttl: number(cell[6] + cell[7]),
		wire: number(cell[8]), isTCP: cell[14] != "", flags: number(cell[14]), payload: string(body)}
	if cell[9] != "" {
		r.wire = headerIPv6 + number(cell[9])
	}
	return r
}
