package jsonl

import (
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// AppendPolls appends a line for each client at a server: what became of its polls.
func AppendPolls(dst []byte, x *render.Polls) []byte {
	w := writer{dst: dst}
	for i := range x.Pollers {
		r := &x.Pollers[i]
		w.open('{')
		w.uint("schema", schema)
		w.text("record", "polls")
		w.writeInterrupted(&x.Run)
		w.text("client", r.Client.String())
		w.text("server", r.Server.String())
		if r.Every > 0 {
			w.uint("every_ms", uint64(r.Every.Milliseconds()))
		}
		w.uint("polls", r.Polls)
		w.uint("answered", r.Answered)
		w.uint("late", r.Late)
		w.uint("filtered", r.Causes[stats.Filtered])
		w.uint("lost", r.Causes[stats.Lost])
		w.uint("challenge_unused", r.Causes[stats.Unused])
		w.uint("rejected", r.Causes[stats.Rejected])
		w.uint("server_down", r.Causes[stats.Down])
		w.uint("undecided", r.Undecided())
		w.close('}')
		w.dst = append(w.dst, '\n')
	}
	return w.dst
}
