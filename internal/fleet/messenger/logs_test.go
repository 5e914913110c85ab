//go:build unix

package messenger

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"qsniff/internal/base/display"
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

// longNames are hostileNames, and texts that would end or begin a message, a value or a field of a
// log, at any length.
var longNames = append([]string{
	"a\nPRIORITY=0\nMESSAGE=nothing happened", "a\n\x04\x00\x00\x00\x00\x00\x00\x00next\nPRIORITY\n", "PRIORITY=0", "=", "\n", "\n\n", "\x00", `\`, `"`, `]`, `\"] x`,
	"] <24>1 - - qsniff - - - all is well", "x\n<24>1 - - qsniff - - - all is well", "x\r\n23 <24>1 - - - - - - well", "x\x00<24>1 - - - - - - well", "\u2028\u2029\u0085",
	"\xef\xbb\xbfx", strings.Repeat(`\"]`, 30_000), strings.Repeat("\n", 64<<10), strings.Repeat("\xff", 64<<10), strings.Repeat("é\u202e", 20_000), strings.Repeat("x", 64<<10),
}, hostileNames...)

// spoil returns notes that have name in each of their texts, as no note should.
func spoil(name string) []*notify.Note {
	all := []*notify.Note{note(1, notify.Begins), note(1, notify.Begins), note(1, notify.Begins), note(1, notify.Begins), note(1, notify.Begins)}
	all[0].Name, all[1].Text, all[2].Target, all[3].Facts[0].Value = name, name, name, name
	n := all[4]
	n.Name, n.Text, n.Advice, n.Target, n.Thread, n.Kind, n.Level = name, name, name, name, name, name, name
	for i := range 12 {
		n.Facts = append(n.Facts, notify.Fact{Name: fmt.Sprint("more", i), Value: name})
	}
	return all
}

// TestSyslogHostile: whatever a note holds, a socket gets one message of RFC 5424 for it, in one line
// that is valid UTF-8 and harmless where it is shown.
func TestSyslogHostile(t *testing.T) {
	l := listenLog(t, filepath.Join(t.TempDir(), "log"))
	s := openSyslog(l.path)
	defer s.close()
	message := regexp.MustCompile(`^<\d+>1 2023-11-14T22:13:20\.000000Z [!-~]+ qsniff \d+ incident \[qsniff@32473(?: [a-z0-9]+="(?:[^"\\\]]|\\["\\\]])*")+\] \S*.*$`)
	for _, name := range longNames {
		for i, n := range spoil(name) {
			if err := s.send(context.Background(), n, 0); err != nil {
				t.Fatal(err)
			}
			got := l.read(t)
			if !message.MatchString(got) || !utf8.ValidString(got) || len(got) > longestDatagram || strings.ContainsFunc(got, func(r rune) bool { return !display.Visible(r) }) {
				t.Errorf("note %d with %.60q: got %.600q", i, name, got)
			}
			if n.Level == "alert" && !strings.HasPrefix(got, "<25>1 ") || !strings.Contains(got, ` event="open"`) {
				t.Errorf("note %d with %.60q: got %.600q", i, name, got)
			}
		}
	}
	if got := string(syslogMessage(note(1, notify.Ends), 0, "a\tb\nc é", 7)); !strings.HasPrefix(got, "<29>1 2023-11-14T22:13:20.000000Z a-b-c-- qsniff 7 incident [") {
		t.Errorf("the name of the host: %s", got)
	}
}

// TestJournalHostile: whatever a note holds, a socket gets the same fields, and each value as it is.
func TestJournalHostile(t *testing.T) {
	l := listenLog(t, filepath.Join(t.TempDir(), "socket"))
	s := openJournal(l.path)
	defer s.close()
	for _, name := range longNames {
		for i, n := range spoil(name) {
			if err := s.send(context.Background(), n, 0); err != nil {
				t.Fatalf("note %d with %.60q: %v", i, name, err)
			}
			fields := parseJournal(t, l.read(t))
			vars := variables(n, 0)
			if want := 3 + len(vars); len(fields) != want || fields["SYSLOG_IDENTIFIER"] != "qsniff" || fields["PRIORITY"] != fmt.Sprint(severityOf(n)) {
				t.Errorf("note %d with %.60q: %d fields, want %d: %.600q", i, name, len(fields), want, fields)
			}
			for _, v := range vars {
				if got := fields[v.Name]; got != notify.Cut(v.Value, longestField) {
					t.Errorf("note %d with %.60q: %s is %.100q", i, name, v.Name, got)
				}
			}
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
