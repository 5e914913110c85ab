package notify

import (
	"strings"
	"testing"
)

func TestParseHooks(t *testing.T) {
	_, err := ParseHooks("# mine\n\ndiscord https://discord.com/api/webhooks/1/SECRET\n matrix  https://m.example:8448/_matrix/client/v3/rooms/!r:m SECRET # \r\nntfy http://[::1]/alerts\n")
	if err == nil {
		t.Error("four words were taken")
	}
	hooks, err := ParseHooks("# mine\n\ndiscord https://discord.com/api/webhooks/1/SECRET\n matrix  https://m.example:8448/_matrix/client/v3/rooms/!r:m SECRET\r\nntfy http://[::1]/alerts\n")
	if err != nil || len(hooks) != 3 {
		t.Fatal(err, hooks)
	}
	for i, want := range []struct {
		host string
		port uint16
	}{{"discord.com", 443}, {"m.example", 8448}, {"::1", 80}} {
		if h := hooks[i]; h.Host() != want.host || h.Port() != want.port {
			t.Errorf("%d: %s, %d, want %+v", i, h.Host(), h.Port(), want)
		}
	}
	if hooks[1].Token != "SECRET" {
		t.Errorf("token %q", hooks[1].Token)
	}
	for _, tc := range []struct{ text, want string }{
		{"discord", "line 1: it has 1 words"},
		{"\nirc https://x.example/SECRET", `line 2: "irc" is no service: one of discord, json, matrix, ntfy, slack`},
		{"slack SECRET", "line 1: the second word is no address"},
		{"slack https://%SECRET", "line 1: the second word is no address"},
		{"slack ftp://x/SECRET", "line 1: the second word is no address"},
		{"slack https://x:99999/SECRET", "line 1: the second word is no address"},
		{"slack https:///SECRET", "line 1: the second word is no address"},
		{"matrix https://x/_matrix/client/v3/rooms/SECRET", "line 1: matrix takes"},
		{"ntfy https://x/", "line 1: ntfy takes"},
		{strings.Repeat("slack https://x/SECRET\n", maxHooks+1), "line 17: more than 16 services"},
	} {
		if _, err := ParseHooks(tc.text); err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}
