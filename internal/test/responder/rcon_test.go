package responder

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
)

func TestRCON(t *testing.T) {
	const (
		login   = `0c000000 01000000 03000000 "pw" 0000`
		guess   = `0c000000 01000000 03000000 "no" 0000`
		status  = `10000000 02000000 02000000 "status" 0000`
		probe   = `0a000000 03000000 00000000 0000`
		empty1  = `0a000000 01000000 00000000 0000`
		ok      = `0a000000 01000000 02000000 0000`
		refusal = `0a000000 ffffffff 02000000 0000`
	)
	for _, tc := range []struct {
		name  string
		terse bool
		in    []string
		want  []string
	}{
		{"login", false, []string{login}, []string{empty1, ok}},
		{"login, terse", true, []string{login}, []string{ok}},
		{"wrong password", false, []string{guess}, []string{empty1, refusal}},
		{"wrong password, terse", true, []string{guess}, []string{refusal}},
		{"command before login", false, []string{status}, []string{refusal}},
		{"command, probe", true, []string{login, status, probe}, []string{ok,
			`0c000000 02000000 00000000 "a" 0a 0000`, `0c000000 02000000 00000000 "b" 0a 0000`,
			`0a000000 03000000 00000000 0000`, `0e000000 03000000 00000000 00010000 0000`}},
		{"unknown command", true, []string{login, `0b000000 05000000 02000000 "x" 0000`},
			[]string{ok, `0a000000 05000000 00000000 0000`}},
		{"size below the minimum", true, []string{login, `09000000`}, []string{ok}},
		{"size beyond any request", true, []string{login, `01100000`}, []string{ok}},
		{"unknown type", true, []string{login, `0a000000 05000000 09000000 0000`}, []string{ok}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := &RCON{Password: "pw", Bodies: map[string][]string{"status": {"a\n", "b\n"}}, Terse: tc.terse}
			s, err := ListenTCP(server.Serve)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got := converse(t, s, bytes.Join(datagrams(t, tc.in...), nil))
			if diff := cmp.Diff(bytes.Join(datagrams(t, tc.want...), nil), got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// converse sends requests and returns what comes until the server has no more.
func converse(t *testing.T, s *Server, requests []byte) []byte {
	t.Helper()
	conn, err := net.Dial("tcp4", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(requests); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Close ends connections that their clients leave open.
func TestCloseEndsConnections(t *testing.T) {
	s, err := ListenTCP((&RCON{Password: "pw", Terse: true}).Serve)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp4", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	// An answer shows that the connection is being served.
	if _, err := conn.Write(hextest.Bytes(t, `0c000000 01000000 03000000 "pw" 0000`)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 14)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes from a closed server", n)
	}
}
