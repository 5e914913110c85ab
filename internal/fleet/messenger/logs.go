package messenger

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"qsniff/internal/base/display"
	"qsniff/internal/monitor/notify"
)

// The severities of syslog that notes have.
const (
	syslogAlert   = 1
	syslogWarning = 4
	syslogNotice  = 5
)

// socketSink sends notes to a log of the system, by its socket. It connects again when that was
// made anew.
type socketSink struct {
	what string
	path string
	form func(n *notify.Note, lost uint64) []byte
	conn net.Conn // nil: none
}

// openSyslog returns the sink of a syslog socket, which gets messages of RFC 5424.
func openSyslog(path string) *socketSink {
	host, err := os.Hostname()
	if err != nil {
		host = "-"
	}
	pid := os.Getppid() // of the run, by which others know it
	return &socketSink{what: "syslog", path: path, form: func(n *notify.Note, lost uint64) []byte { return syslogMessage(n, lost, host, pid) }}
}

// openJournal returns the sink of journald's socket.
func openJournal(path string) *socketSink {
	return &socketSink{what: "journal", path: path, form: journalMessage}
}

func (s *socketSink) name() string { return s.what + " " + s.path }

func (s *socketSink) send(ctx context.Context, n *notify.Note, lost uint64) error {
	for attempt := 0; ; attempt++ {
		isNew := s.conn == nil
		err := s.connect(ctx)
		if err == nil {
			_ = s.conn.SetWriteDeadline(time.Now().Add(requestTime))
			_, err = s.conn.Write(s.form(n, lost))
		}
		if err == nil {
			return nil
		}
		s.close()
		if isNew || attempt > 0 { // else the socket was made anew since
			return err
		}
	}
}

func (s *socketSink) connect(ctx context.Context) (err error) {
	if s.conn == nil {
		var d net.Dialer
		s.conn, err = d.DialContext(ctx, "unixgram", s.path)
	}
	if err != nil {
		s.conn = nil
	}
	return err
}

func (s *socketSink) close() error {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
	return nil
}

func severityOf(n *notify.Note) int {
	switch {
	case n.Event == notify.Ends:
		return syslogNotice
	case n.IsUrgent():
		return syslogAlert
	}
	return syslogWarning
}

// syslogMessage returns a message of RFC 5424 with the facility daemon and the note as structured
// data, under the number for examples: qsniff has none of its own. It is one line of UTF-8: relays
// that end messages with a line feed make no other of it. Values for which there is no room are
// cut, or missing.
func syslogMessage(n *notify.Note, lost uint64, host string, pid int) []byte {
	const daemon = 3
	var b bytes.Buffer
	fmt.Fprintf(&b, "<%d>1 %s %s qsniff %d %s [qsniff@32473", daemon<<3|severityOf(n), time.Unix(0, n.Nanos).UTC().Format("2006-01-02T15:04:05.000000Z"),
		notify.Cut(strings.Map(printable, host), 255), pid, n.Record)
	text := notify.Cut(visible(summary(n)), longestText)
	const brackets = "] "
	for _, v := range variables(n, lost) {
		switch name := strings.ToLower(strings.TrimPrefix(v.Name, "QSNIFF_")); name {
		case "text", "advice", "time", "record":
		default:
			param := fmt.Sprintf(` %s="%s"`, name, paramEscaper.Replace(notify.Cut(visible(v.Value), longestParam)))
			if b.Len()+len(param)+len(brackets)+len(text) <= longestDatagram {
				b.WriteString(param)
			}
		}
	}
	b.WriteString(brackets)
	b.WriteString(text)
	return b.Bytes()
}

// printable returns r, or a dash where a name of a host in RFC 5424 has none.
func printable(r rune) rune {
	if r <= ' ' || r > '~' {
		return '-'
	}
	return r
}

// visible returns text with what acts on terminals or ends lines written out.
func visible(s string) string { return string(display.AppendVisible(nil, []byte(s))) }

var paramEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `]`, `\]`)

// summary returns a note as one line for logs.
func summary(n *notify.Note) string {
	return strings.ToUpper(n.Level) + " " + leads[n.Event] + n.Text
}

// journalMessage returns a datagram of journald's native protocol. A value with a line break would
// begin another field: such values are written with their length. A datagram has no room for values
// of any length.
func journalMessage(n *notify.Note, lost uint64) []byte {
	var b bytes.Buffer
	add := func(name, value string) {
		if !strings.Contains(value, "\n") {
			b.WriteString(name + "=" + value + "\n")
			return
		}
		b.WriteString(name + "\n")
		b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(value))))
		b.WriteString(value + "\n")
	}
	add("MESSAGE", notify.Cut(summary(n), longestText))
	add("PRIORITY", fmt.Sprint(severityOf(n)))
	add("SYSLOG_IDENTIFIER", "qsniff")
	for _, v := range variables(n, lost) {
		add(v.Name, notify.Cut(v.Value, longestField))
	}
	return b.Bytes()
}
