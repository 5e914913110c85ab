package main

import (
	"testing"

	"qsniff/internal/base/cli"

	"github.com/google/go-cmp/cmp"
)

func TestVersionText(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, tc := range []struct {
		name string
		in   build
		want string
	}{
		{"release", build{Build: cli.Build{Version: "v1.2.3", Go: "go1.26", OS: "linux", Arch: "arm64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff v1.2.3\nbuilt by: go1.26 for linux/arm64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
		{"from a checkout", build{Build: cli.Build{Version: "(devel)", Revision: revision, Time: "2026-01-02T03:04:05Z", Modified: true,
			Go: "go1.26", OS: "linux", Arch: "amd64"}, Readers: []string{"native", "gopacket"}, Gopacket: "libpcap", Backends: []string{"afpacket", "libpcap"}, Libpcap: "libpcap version 1.10.3", Schema: "1.4"},
			"qsniff 0123456789ab, changed since\nrevision: " + revision + " of 2026-01-02T03:04:05Z, changed since\n" +
				"built by: go1.26 for linux/amd64\nreaders: native, gopacket (libpcap)\nlive: afpacket, libpcap\nlibpcap: libpcap version 1.10.3\noutput: version 1.4 of the schema\n"},
		{"go build in a clone", build{Build: cli.Build{Version: "v0.0.0-20260102030405-0123456789ab", Revision: revision, Time: "2026-01-02T03:04:05Z",
			Go: "go1.26", OS: "linux", Arch: "amd64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff 0123456789ab\nrevision: " + revision + " of 2026-01-02T03:04:05Z\nbuilt by: go1.26 for linux/amd64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
		{"nothing recorded", build{Build: cli.Build{Version: "(devel)", Go: "go1.26", OS: "linux", Arch: "arm64"}, Readers: []string{"native", "gopacket"}, Gopacket: "pcapgo", Backends: []string{"afpacket"}, Schema: "1.4"},
			"qsniff of an unknown revision\nrevision: not recorded: built with -buildvcs=false, or not from a git clone; there, make build records it\n" +
				"built by: go1.26 for linux/arm64\nreaders: native, gopacket (pcapgo)\nlive: afpacket\nlibpcap: none, this build is without cgo\noutput: version 1.4 of the schema\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(tc.in.append(nil, 80))); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}
