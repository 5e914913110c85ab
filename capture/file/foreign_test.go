package file

import "testing"

func TestNotPayload(t *testing.T) {
	const capture = "is a capture, not a payload"
	tests := []struct{ name, in, start, want, hint string }{
		{"pcap", "x.pcap", "\xd4\xc3\xb2\xa1\x02\x00", capture, "qsniff read x.pcap"},
		{"pcap, big-endian, nanoseconds", "my x", "\xa1\xb2\x3c\x4d", capture, "qsniff read 'my x'"},
		{"pcapng", stdinName, "\x0a\x0d\x0d\x0a", capture, "COMMAND | qsniff read -"},
		{"gzip", "x.gz", "\x1f\x8b\x08", "is compressed with gzip", "if it is a capture: qsniff read x.gz; if not, expand it with zcat"},
		{"zstd", "x", "\x28\xb5\x2f\xfd\x00", "is compressed with zstd", "if it is a capture: qsniff read x; if not, expand it with zstdcat --long=31"},
		{"nothing", "x", "", "", ""},
		{"start of a magic number", "x", "\xd4\xc3\xb2", "", ""},
		{"datagram", "x", "\xff\xff\xff\xffI", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := NotPayload(tt.in, []byte(tt.start))
			switch {
			case err == nil && tt.want != "", err != nil && tt.want == "":
				t.Errorf("got %v, want %q", err, tt.want)
			case err != nil && (err.Reason != tt.want || err.Hint != tt.hint):
				t.Errorf("got %q, %q\nwant %q, %q", err.Reason, err.Hint, tt.want, tt.hint)
			}
		})
	}
}
