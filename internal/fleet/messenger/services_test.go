package messenger

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"qsniff/internal/base/display"
	"qsniff/internal/monitor/notify"
)

// hostileNames are what servers may call themselves.
var hostileNames = []string{
	"@everyone @here <@1234> <@&5678> <#99> <!channel> <!here|x>",
	"**bold** __under__ ~~strike~~ ||spoiler|| `code` ```block```",
	"[click](https://evil.example/steal) https://evil.example www.evil.example discord.gg/x",
	"<script>alert(1)</script> <img src=x onerror=alert(1)> <b>&amp;</b> &lt;",
	"# heading\n- list\n> quote\r\n1. one",
	`"}],"allowed_mentions":{"parse":["everyone"]},"x":[{"`,
	`\" \\ \u0000 %s %n {{.Secret}} ${HOME} $(id)`,
	"\x00\x1b[31m\x07\u202egnp.exe\u200b\ufeff\xff\xfe",
	"@room !room:matrix.org #room:matrix.org @user:matrix.org",
	strings.Repeat("<@", 32), strings.Repeat("😀", 16), strings.Repeat("é", 32),
	":rotating_light: <https://evil.example|ok>",
}

// hostileNote returns a note about a server of that name, as package tell makes it.
func hostileNote(name string) *notify.Note {
	n := note(1, notify.Begins)
	n.Name = string(display.AppendVisible(nil, []byte(name)))
	return n
}

// bodyFor returns what a service is sent of a note, parsed.
func bodyFor(t *testing.T, service string, n *notify.Note, lost uint64) map[string]any {
	t.Helper()
	h := notify.Hook{Service: service, URL: "https://hooks.example/rooms/!r:example/topic", Token: "token"}
	req, err := makeRequest(&h, n, lost)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	d := json.NewDecoder(req.Body)
	if err := d.Decode(&m); err != nil || d.More() {
		t.Fatalf("%s: %v", service, err)
	}
	return m
}

// eachText calls look with every text in v.
func eachText(v any, path string, look func(path, s string)) {
	switch v := v.(type) {
	case string:
		look(path, v)
	case []any:
		for _, x := range v {
			eachText(x, path, look)
		}
	case map[string]any:
		for k, x := range v {
			eachText(x, path+"."+k, look)
		}
	}
}

// TestHostileNames: no name breaks out of a message, whatever the service makes of markup.
func TestHostileNames(t *testing.T) {
	entity := regexp.MustCompile(`&(amp|lt|gt);`)
	for _, name := range hostileNames {
		for _, service := range []string{"discord", "slack", "matrix", "ntfy"} {
			for _, n := range []*notify.Note{hostileNote(name), hostileFinding(name)} {
				m := bodyFor(t, service, n, 0)
				eachText(m, "", func(path, s string) {
					if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == '\u202e' }) {
						t.Errorf("%s%s: %q has what must not be shown", service, path, s)
					}
					if strings.Contains(s, "://") || strings.Contains(s, "@everyone") || strings.Contains(s, "@room") || strings.Contains(s, "evil.example") {
						t.Errorf("%s%s: %q has a link or a mention", service, path, s)
					}
					if service == "slack" && (strings.ContainsAny(entity.ReplaceAllString(s, ""), "<>&")) {
						t.Errorf("slack%s: %q is not escaped", path, s)
					}
					if service == "discord" && (strings.HasSuffix(path, "title") || strings.HasSuffix(path, "description") || strings.HasSuffix(path, "value")) {
						checkMarkdown(t, s)
					}
				})
				checkShape(t, service, m)
			}
		}
	}
}

// hostileFinding returns a note about a finding with that text in its sentence.
func hostileFinding(name string) *notify.Note {
	n := hostileNote(name)
	n.Record, n.Kind, n.Level = "finding", "A2S-S07", "error"
	n.Text = "the name is " + n.Name
	return n
}

// checkMarkdown wants a backslash before each mark of Discord's.
func checkMarkdown(t *testing.T, s string) {
	t.Helper()
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("*_~`|<>@#[]():", s[i]) >= 0 {
			t.Errorf("discord: %q has %q without a backslash", s, s[i])
			return
		}
	}
}

// checkShape wants the members that keep a service from reading texts as more than that, and its
// limits.
func checkShape(t *testing.T, service string, m map[string]any) {
	t.Helper()
	switch service {
	case "discord":
		parse, ok := m["allowed_mentions"].(map[string]any)["parse"].([]any)
		e := m["embeds"].([]any)[0].(map[string]any)
		if !ok || len(parse) != 0 || len(m) != 3 || len([]rune(e["title"].(string))) > 256 || len([]rune(e["description"].(string))) > 4096 {
			t.Errorf("discord: %v", m)
		}
	case "slack":
		a := m["attachments"].([]any)[0].(map[string]any)
		if m["mrkdwn"] != false || m["link_names"] != 0.0 || len(a["mrkdwn_in"].([]any)) != 0 {
			t.Errorf("slack: %v", m)
		}
	case "matrix":
		if mentions, ok := m["m.mentions"].(map[string]any); !ok || len(mentions) != 0 || len(m) != 3 || m["msgtype"] != "m.text" || m["body"] == "" {
			t.Errorf("matrix: %v", m)
		}
	case "ntfy":
		if m["topic"] != "topic" || m["markdown"] != nil || m["priority"] != 5.0 || len(m["message"].(string)) > 4096 {
			t.Errorf("ntfy: %v", m)
		}
	}
}

// TestLongTexts: what is longer than a service takes is cut, between characters.
func TestLongTexts(t *testing.T) {
	n := hostileFinding(strings.Repeat("@", 3000))
	n.Text = strings.Repeat("ü<", 5000)
	for _, service := range []string{"discord", "slack", "matrix", "ntfy"} {
		m := bodyFor(t, service, n, 0)
		checkShape(t, service, m)
		eachText(m, "", func(path, s string) {
			if !utf8.ValidString(s) {
				t.Errorf("%s%s is cut in a character", service, path)
			}
		})
	}
}

// TestStory: title and thread are the same for all of an incident; what is over has no advice; what
// was lost is in the message.
func TestStory(t *testing.T) {
	titles, threads := map[string]bool{}, map[string]bool{}
	for _, e := range []notify.Event{notify.Begins, notify.Changes, notify.Ends} {
		n := note(1, e)
		n.Name = "My server"
		m := bodyFor(t, "ntfy", n, 7)
		text := m["message"].(string)
		titles[m["title"].(string)] = true
		lines := strings.Split(text, "\n")
		threads[lines[len(lines)-1]] = true
		if !strings.HasPrefix(text, leads[e]+n.Text) || strings.Contains(text, "What to do: Limit") != (e != notify.Ends) ||
			!strings.Contains(text, "peak 9,000/s, sources 3\nrun-1; 7 notes before this one were lost") {
			t.Errorf("%s: %s", e, text)
		}
	}
	if len(titles) != 1 || len(threads) != 1 || !titles["ALERT flood_few at udp/198.51.100.17:27015 (My server)"] {
		t.Errorf("titles %v, threads %v", titles, threads)
	}
}

// TestRequests: where the services want what.
func TestRequests(t *testing.T) {
	for _, tc := range []struct{ service, url, want string }{
		{"matrix", "https://m.example/_matrix/client/v3/rooms/!r:m.example/", "PUT https://m.example/_matrix/client/v3/rooms/%21r:m.example/send/m.room.message/run-1-open-1700000000000000000"},
		{"ntfy", "https://ntfy.example/sub/alerts", "POST https://ntfy.example/sub/"},
		{"ntfy", "https://ntfy.example/alerts?x=1", "POST https://ntfy.example/?x=1"},
		{"discord", "https://discord.example/api/webhooks/1/x", "POST https://discord.example/api/webhooks/1/x"},
	} {
		req, err := makeRequest(&notify.Hook{Service: tc.service, URL: tc.url}, note(1, notify.Begins), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Method + " " + strings.Replace(req.URL.String(), "!", "%21", 1); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.service, got, tc.want)
		}
	}
}
