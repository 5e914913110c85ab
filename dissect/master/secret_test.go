package master

import (
	"testing"

	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

// A heartbeat says whether there is a password; some say which.
func TestHeartbeatSecret(t *testing.T) {
	for _, tc := range []struct {
		name, payload string
		hidden        bool
	}{
		{"a flag", `30 0a "\protocol\48\password\1" 0a`, false},
		{"the password", `30 0a "\protocol\48\password\geheim\map\x" 0a`, true},
		{"the end is missing", `30 0a "\sv_password\gehe"`, true},
	} {
		b := hextest.Bytes(t, tc.payload)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		if hidden := m.Find(&defSecret) != nil; hidden != tc.hidden {
			t.Errorf("%s: hidden %v", tc.name, hidden)
		}
	}
}
