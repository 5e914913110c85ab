package jsonl

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/test/dissecttest"
)

func TestDialogue(t *testing.T) {
	const start = 1_700_000_000_000_000_000
	ask := dissect.Type{Name: "ASK"}
	message := render.Turn{Text: []byte(`{"frame":5}` + "\n")}
	record := render.Turn{Text: []byte(`{"record":"finding"}` + "\n"), IsRecord: true}
	base := render.Dialogue{ID: 5, First: start, Last: start + 2_040_000, RTT: -1, ChallengeRTT: -1, Proto: &proto, Type: &ask,
		Server: dissecttest.Server, Client: dissecttest.Client, Requests: 1, Packets: 1}
	ends := `"server":"` + dissecttest.Server.String() + `","client":"` + dissecttest.Client.String() + `"`
	for _, tc := range []struct {
		name   string
		change func(*render.Dialogue)
		want   string
	}{
		{"answered", func(d *render.Dialogue) {
			d.Outcome, d.RTT, d.ChallengeRTT, d.Challenges, d.Replies = render.Answered, 1_240_000, 800_000, 1, 1
			d.Turns = []render.Turn{message, message}
		}, `{"schema":1,"record":"exchange","id":5,"time":"2023-11-14T22:13:20.000000Z","transport":"udp",` + ends +
			`,"protocol":"t","message":"ASK","outcome":"answered","rtt_ms":1.24,"challenge_ms":0.8,"duration_ms":2.04,"requests":1,"challenges":1,"replies":1,"packets":1,` +
			`"messages":[{"frame":5},{"frame":5}]}`},
		{"unanswered", func(d *render.Dialogue) {
			d.Outcome, d.Type, d.Turns = render.Unanswered, nil, []render.Turn{message, record}
		}, `{"schema":1,"record":"exchange","id":5,"time":"2023-11-14T22:13:20.000000Z","transport":"udp",` + ends +
			`,"protocol":"t","outcome":"unanswered","duration_ms":2.04,"requests":1,"replies":0,"packets":1,"messages":[{"frame":5}],"records":[{"record":"finding"}]}`},
		{"in part", func(d *render.Dialogue) {
			d.Outcome, d.Omitted, d.Turns = render.OneWay, 2, []render.Turn{message}
		}, `{"schema":1,"record":"exchange","id":5,"time":"2023-11-14T22:13:20.000000Z","transport":"udp",` + ends +
			`,"protocol":"t","message":"ASK","outcome":"one_way","duration_ms":2.04,"requests":1,"replies":0,"packets":1,"omitted_messages":2,"messages":[{"frame":5}]}`},
		{"connection", func(d *render.Dialogue) {
			d.IsStream, d.HasEarlier, d.IsUnfinished, d.Turns = true, true, true, []render.Turn{record, message, record}
		}, `{"schema":1,"record":"connection","id":5,"time":"2023-11-14T22:13:20.000000Z","transport":"tcp",` + ends +
			`,"protocol":"t","duration_ms":2.04,"requests":1,"replies":0,"packets":1,"continues":true,"open":true,` +
			`"messages":[{"frame":5}],"records":[{"record":"finding"},{"record":"finding"}]}`},
		{"a record alone", func(d *render.Dialogue) {
			*d = render.Dialogue{ID: 7, First: start, Last: start, RTT: -1, ChallengeRTT: -1, Outcome: render.OneWay, Turns: []render.Turn{record}}
		}, `{"schema":1,"record":"exchange","id":7,"time":"2023-11-14T22:13:20.000000Z","transport":"udp","outcome":"one_way","duration_ms":0,"requests":0,"replies":0,"packets":0,` +
			`"messages":[],"records":[{"record":"finding"}]}`},
	} {
		d := base
		tc.change(&d)
		got := New(Options{}).AppendDialogue(nil, &d)
		if diff := cmp.Diff(tc.want+"\n", string(got)); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
		if !json.Valid(got) {
			t.Errorf("%s: no JSON", tc.name)
		}
	}
}
