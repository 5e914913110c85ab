package text

import (
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// The headline says what a reply answers and after how long, the line how long.
func TestRelation(t *testing.T) {
	m := &dissect.Message{Proto: &dissect.Proto{Name: "x"}, Type: &dissect.Type{Name: "PONG"}, Wire: 1, Data: []byte{1}}
	for _, tt := range []struct {
		name       string
		in         render.Exchange
		request    bool
		bare       bool
		head, line string
	}{
		{"none", render.Exchange{RTT: -1}, false, false, "reply  1 byte", "PONG 1 B"},
		{"first request", render.Exchange{ID: 5, RTT: -1}, true, false, "request  1 byte", "PONG 1 B"},
		{"repetition", render.Exchange{ID: 5, Verb: "follows unanswered", RTT: -1}, true, false, "request  follows unanswered frame 5", "PONG 1 B"},
		{"answer", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: 1_240_000}, false, false,
			"reply  answers frame 7 after 1.24 ms", "PONG 1.24ms 1 B"},
		{"clock set back", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: -1}, false, false, "reply  answers frame 7  1 byte", "PONG 1 B"},
		{"cause not in the capture", render.Exchange{ID: 5, Verb: "answers", RTT: -1}, false, false, "reply  belongs to frame 5  1 byte", "PONG 1 B"},
		{"payloads have no times", render.Exchange{ID: 5, Verb: "answers", Request: 7, RTT: 5}, false, true, "reply  1 byte", "PONG 1 B"},
	} {
		e := render.Event{Frame: 9, File: -1, Iface: -1, Msg: m, Reply: !tt.request, Exchange: tt.in}
		o := Options{UTC: true, Width: 200, Bare: tt.bare}
		if got := string(NewTree(o).Append(nil, &e)); !strings.Contains(got, tt.head) {
			t.Errorf("%s\ngot  %s\nwant %s in it", tt.name, got, tt.head)
		}
		if got := string(NewLine(o).Append(nil, &e)); !strings.Contains(got, tt.line) {
			t.Errorf("%s\ngot  %s\nwant %s in it", tt.name, got, tt.line)
		}
	}
}
