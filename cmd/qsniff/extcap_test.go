package main

import (
	"strings"
	"testing"
)

// TestExtcapAnswers: calls of Wireshark are answered without the word extcap before them.
func TestExtcapAnswers(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--extcap-interfaces", "--extcap-version=4.0"}, exitOK, "interface {value=qsniff-"},
		{[]string{"--extcap-interface", "qsniff-lo", "--extcap-config"}, exitOK, "arg {number=0}{call=--only-queries}"},
		{[]string{"--extcap-interface", "qsniff-no-such", "--extcap-dlts"}, exitUsage, ""},
		{[]string{"extcap"}, exitUsage, ""},
	} {
		stdout, stderr, status := output(t, tc.args...)
		if status != tc.status || !strings.Contains(stdout, tc.want) {
			t.Errorf("%v\ngot  status %d, %q, %q\nwant %d, %q", tc.args, status, stdout, stderr, tc.status, tc.want)
		}
	}
}
