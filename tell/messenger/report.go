package messenger

import (
	"context"
	"fmt"
	"os/exec"
	"sync"

	"qsniff/tell"
)

// reportMaker makes reports of captures beside them, one at a time. One that is asked for
// meanwhile is skipped and counted, so that a night of incidents is no load of its own.
type reportMaker struct {
	command func(capture string) *exec.Cmd
	log     func(string)
	working sync.WaitGroup

	mu     sync.Mutex // guards what follows
	isBusy bool
	counts tell.SinkCounts
}

// start begins to make the report of a capture, unless it is busy.
func (m *reportMaker) start(ctx context.Context, capture string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isBusy {
		m.counts.Lost++
		return
	}
	m.isBusy = true
	m.working.Go(func() {
		out, err := runProgram(ctx, m.command(capture), ReportTime)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.isBusy = false
		if err == nil {
			m.counts.Sent++
			return
		}
		m.counts.Refused++
		m.log(fmt.Sprintf("no report of %s: %v: %s", capture, err, out))
	})
}

// wait waits until no report is being made.
func (m *reportMaker) wait() { m.working.Wait() }

func (m *reportMaker) sinkCounts() tell.SinkCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Name = "reports"
	return c
}
