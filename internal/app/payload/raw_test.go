package payload

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("\x00", MaxPayload)
	tests := []struct {
		name, in string
		form     Form
		want     string
	}{
		{"text", "ffffffff55\n", Hex, "\xff\xff\xff\xffU"},
		{"byte order mark", "\ufeffff\r\n", Hex, "\xff"},
		{"reply", "\xff\xff\xff\xffA\x4b\xa1\xd5\x22", Raw, "\xff\xff\xff\xffA\x4b\xa1\xd5\x22"},
		{"escapes of another language", "1\xff0.0.0.0:0\x00\\appid\\10\x00", Raw, "1\xff0.0.0.0:0\x00\\appid\\10\x00"},
		{"quotes and a zero", "\"s\"\x00", Raw, "\"s\"\x00"},
		{"digits and a zero", "ff\x00", Raw, "ff\x00"},
		{"white space", "\xff\n\n", Raw, "\xff\n\n"},
		{"escape sequence", "\x1b[1mff", Raw, "\x1b[1mff"},
		{"dump with text in Latin-1", "0000  e4 61 ff  \xe4a\xff\n", Dump, "\xe4a\xff"},
		{"dump before bytes", "0000  e4 61\n\n\xff", Raw, "0000  e4 61\n\n\xff"},
		{"the longest", long, Raw, long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read([]byte(tt.in), engines)
			if err != nil || len(got) != 1 || got[0].Form != tt.form || string(got[0].Data) != tt.want {
				t.Errorf("got %v %v\nwant %s %q", got, err, tt.form, tt.want)
			}
		})
	}
	for in, want := range map[string]string{
		long + "\x00": "more than 65507 raw bytes: no datagram has so many",
		"":            "no payload",
		"hello":       "line 1: neither hexadecimal nor whole base64: characters are missing at its end",
	} {
		if ps, err := Read([]byte(in), engines); err == nil || err.Error() != want {
			t.Errorf("%.9q: got %d payloads, %v; want %s", in, len(ps), err, want)
		}
	}
}

// FuzzRead: whatever a file holds is read within the limits or refused with an Error; what
// is no text stays as it is.
func FuzzRead(f *testing.F) {
	for _, text := range written([]byte("\xff\xff\xff\xffI\x11Name\x00map\x00")) {
		f.Add([]byte(text))
	}
	f.Add([]byte("\xff\xff\xff\xffinfoResponse\n\\voip\\1"))
	f.Add([]byte("0000  e4 61 ff  \xe4a\xff\n"))
	f.Add([]byte("ff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ps, err := Read(b, engines)
		var e *Error
		switch {
		case err != nil:
			if !errors.As(err, &e) || e.What == "" || len(err.Error()) > 200 {
				t.Fatalf("error %q", err)
			}
			if !IsText(b) && len(b) <= MaxPayload {
				t.Fatalf("%q: bytes refused: %v", b, err)
			}
		case len(ps) == 0 || len(ps) > MaxPayloads:
			t.Fatalf("%d payloads", len(ps))
		case ps[0].Form == Raw && (len(ps) > 1 || IsText(b) || !bytes.Equal(ps[0].Data, b)):
			t.Fatalf("%q: read as it is: %d payloads, %q", b, len(ps), ps[0].Data)
		case !IsText(b) && ps[0].Form != Raw && ps[0].Form != Dump:
			t.Fatalf("%q: no text, read as %s", b, ps[0].Form)
		}
		for _, p := range ps {
			if len(p.Data) == 0 || len(p.Data) > MaxPayload {
				t.Fatalf("a payload of %d bytes", len(p.Data))
			}
		}
	})
}
