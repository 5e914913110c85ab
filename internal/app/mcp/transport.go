package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a transport whose end is not noticed before the questions that came were answered,
// for lastWait at most: the library cancels them at once, so that of lines in a pipe the last ones
// would have no answer.
type patient struct{ mcp.Transport }

func (t patient) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &patientConn{Connection: c, closed: make(chan struct{}), answered: make(chan struct{}, 1)}, err
}

type patientConn struct {
	mcp.Connection
	closed   chan struct{}
	once     sync.Once
	answered chan struct{} // has an element after an answer was written

	mu   sync.Mutex
	open int // questions without an answer
}

func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		c.count(1)
	}
	if errors.Is(err, io.EOF) {
		c.wait(ctx)
	}
	return m, err
}

func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.count(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *patientConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// count adds n to the open questions, and returns how many there are.
func (c *patientConn) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	return c.open
}

// wait returns once no question is open.
func (c *patientConn) wait(ctx context.Context) {
	late := time.NewTimer(lastWait)
	defer late.Stop()
	for c.count(0) > 0 {
		select {
		case <-c.answered:
		case <-late.C:
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
