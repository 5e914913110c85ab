//go:build unix

package messenger

import (
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/timing"
)

// logSocket is a log of the system.
type logSocket struct {
	*net.UnixConn
	path string
}

func listenLog(t *testing.T, path string) *logSocket {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &logSocket{c, path}
}

func (l *logSocket) read(t *testing.T) string {
	t.Helper()
	if err := l.SetReadDeadline(time.Now().Add(timing.Patience)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<17)
	n, err := l.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

// TestSyslog: a note is one message of RFC 5424, whatever is in its texts.
func TestSyslog(t *testing.T) {
	l := listenLog(t, filepath.Join(t.TempDir(), "log"))
	s := openSyslog(l.path)
	defer s.close()
	n := note(1, notify.Begins)
	n.Name = `x" y="z] \ [a b="c"`
	if err := s.send(context.Background(), n, 2); err != nil {
		t.Fatal(err)
	}
	got := l.read(t)
	want := regexp.MustCompile(`^<25>1 2023-11-14T22:13:20\.000000Z \S+ qsniff \d+ incident \[qsniff@32473( [a-z]+="([^"\\\]]|\\["\\\]])*")+\] ALERT New: flood_few at udp/198\.51\.100\.17:27015, from frame 10 on$`)
	if !want.MatchString(got) || !strings.Contains(got, ` name="x\" y=\"z\] \\ [a b=\"c\""`) || !strings.Contains(got, ` lost="2"`) {
		t.Errorf("got %s", got)
	}
	if got := string(syslogMessage(note(1, notify.Ends), 0, "a b", 7)); !strings.HasPrefix(got, "<29>1 2023-11-14T22:13:20.000000Z a-b qsniff 7 incident [") {
		t.Errorf("the end: %s", got)
	}
	n.Text = strings.Repeat("x", 100_000)
	if got := syslogMessage(n, 0, "host", 7); len(got) > longestDatagram {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSyslogRestarts: a log that was started anew has another socket of the same name.
func TestSyslogRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := listenLog(t, path)
	s := openSyslog(path)
	defer s.close()
	for round := range 3 {
		if err := s.send(context.Background(), note(round, notify.Begins), 0); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(l.read(t), "thread=") {
			t.Error("something else came")
		}
		l.Close()
		os.Remove(path)
		if round == 1 {
			if err := s.send(context.Background(), note(round, notify.Begins), 0); err == nil {
				t.Error("no error while there is no log")
			}
		}
		l = listenLog(t, path)
	}
}

// TestJournal: fields of the native protocol, of which no text can make another.
func TestJournal(t *testing.T) {
	l := listenLog(t, filepath.Join(t.TempDir(), "socket"))
	s := openJournal(l.path)
	defer s.close()
	n := note(1, notify.Begins)
	n.Advice = "one\nPRIORITY=0\ntwo"
	if err := s.send(context.Background(), n, 0); err != nil {
		t.Fatal(err)
	}
	fields := parseJournal(t, l.read(t))
	for name, want := range map[string]string{"MESSAGE": "ALERT New: " + n.Text, "PRIORITY": "1", "SYSLOG_IDENTIFIER": "qsniff", "QSNIFF_ADVICE": n.Advice,
		"QSNIFF_THREAD": "run-1", "QSNIFF_PEAK": "9,000/s"} {
		if fields[name] != want {
			t.Errorf("%s\ngot  %q\nwant %q", name, fields[name], want)
		}
	}
}

// parseJournal parses a datagram as journald does. No field may be there twice.
func parseJournal(t *testing.T, b string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for b != "" {
		line, rest, ok := strings.Cut(b, "\n")
		name, value, isText := strings.Cut(line, "=")
		if !isText {
			n := int(binary.LittleEndian.Uint64([]byte(rest[:8])))
			value, rest = rest[8:8+n], rest[8+n+1:]
		}
		if _, has := fields[name]; has || !ok || name == "" {
			t.Fatalf("field %q in %q", name, b)
		}
		fields[name], b = value, rest
	}
	return fields
}
