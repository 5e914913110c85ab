package pipeline

import (
	"bytes"
	"errors"
	"testing"

	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/protos"
)

// paper is a writer that fails from the nth write on; 0: never.
type paper struct {
	bytes.Buffer
	fails, writes, longest int
}

var errFull = errors.New("disk full")

func (p *paper) Write(b []byte) (int, error) {
	p.writes++
	if p.longest = max(p.longest, len(b)); p.fails > 0 && p.writes >= p.fails {
		return 0, errFull
	}
	return p.Buffer.Write(b)
}

// TestDialoguesAtTheEnd: dialogues that are all open at the end of the capture are written
// in parts, and a writer that fails within them ends the run with its error.
func TestDialoguesAtTheEnd(t *testing.T) {
	const clients = 250
	data := asked{sources: clients, rounds: 1, times: always(1)}.write(t)
	run := func(p *paper) error {
		talks := dialogue.New(dialogue.Options{Renderer: jsonl.New(jsonl.Options{Layout: true})})
		_, err := Run(t.Context(), Config{Source: open(t, data), Registry: protos.Registry(t), Out: p, Jobs: 2, Dialogues: talks})
		return err
	}
	whole := &paper{}
	if err := run(whole); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(whole.Bytes(), []byte("\n")); n != clients || whole.writes < 3 || whole.longest > 2*writeSize {
		t.Errorf("%d lines in %d writes of at most %d bytes\nwant %d in at least 3 of at most %d",
			n, whole.writes, whole.longest, clients, 2*writeSize)
	}
	for _, fails := range []int{1, 2, whole.writes} {
		p := &paper{fails: fails}
		if err := run(p); !errors.Is(err, errFull) || p.writes != fails {
			t.Errorf("write %d fails: got %v after %d writes", fails, err, p.writes)
		}
	}
}
