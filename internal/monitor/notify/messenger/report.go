package messenger

import (
	"context"
	"fmt"
	"os/exec"
	"sync"

	"qsniff/internal/monitor/notify"
)

// reportMaker makes reports of captures beside them, one at a time. One that is asked for
// meanwhile is skipped and counted, so that a night of incidents is no load of its own.
type reportMaker struct {
	command func(capture string) (*exec.Cmd, error)
	log     func(string)
	working sync.WaitGroup

	mu     sync.Mutex // guards what follows
	isBusy bool
	counts notify.SinkCounts
}

// start begins to make the report of a capture, unless it is busy. One that has begun goes on when
// the run ends.
func (m *reportMaker) start(capture string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isBusy {
		m.counts.Lost++
		return
	}
	m.isBusy = true
	m.working.Go(func() {
		cmd, err := m.command(capture)
		out := ""
		if err == nil {
			out, err = runProgram(context.Background(), cmd, reportTime)
		}
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

func (m *reportMaker) sinkCounts() notify.SinkCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Name = notify.Reports
	return c
}
