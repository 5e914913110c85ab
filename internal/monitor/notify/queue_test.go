package notify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

func makeNote(thread int, e Event) *Note { return &Note{Thread: fmt.Sprint(thread), Event: e} }

// takeAll returns what is in a queue, which it closes.
func takeAll(q *Queue) (got []string, lost uint64) {
	q.Close()
	for {
		n, missing := q.Take(context.Background())
		if n == nil {
			return got, lost
		}
		got, lost = append(got, n.Thread+" "+string(n.Event)), lost+missing
		q.Done(n)
	}
}

// TestQueue: of the changes of a thread the newest stays, and none after its end.
func TestQueue(t *testing.T) {
	q := NewQueue()
	for _, n := range []*Note{makeNote(1, Begins), makeNote(1, Changes), makeNote(2, Begins), makeNote(1, Changes), makeNote(2, Changes), makeNote(2, Ends), makeNote(1, Changes)} {
		q.Put(n)
	}
	got, lost := takeAll(q)
	if want := []string{"1 open", "2 open", "2 close", "1 update"}; !slices.Equal(got, want) || lost != 0 || q.Counts() != (QueueCounts{Folded: 3}) {
		t.Errorf("got %q, %d lost, %+v\nwant %q", got, lost, q.Counts(), want)
	}
	q.Put(makeNote(3, Begins)) // after the end
	if c := q.Counts(); c.Lost != 1 || c.Waiting != 0 {
		t.Errorf("%+v", c)
	}
}

// TestQueueOverflows: changes make room first; what has none is counted, and said once.
func TestQueueOverflows(t *testing.T) {
	q := NewQueue()
	for i := range 10 {
		q.Put(makeNote(i, Changes))
	}
	for i := range queued + 20 {
		q.Put(makeNote(100+i, Begins))
	}
	if c := q.Counts(); c.Waiting != queued || c.Lost != 30 {
		t.Errorf("%+v", c)
	}
	n, lost := q.Take(context.Background())
	if n.Thread != "100" || lost != 30 {
		t.Errorf("first %s, %d lost", n.Thread, lost)
	}
	q.Done(n)
	if got, lost := takeAll(q); len(got) != queued-1 || lost != 0 {
		t.Errorf("then %d, %d lost", len(got), lost)
	}
	q = NewQueue()
	q.Put(makeNote(1, Begins))
	q.Drop()
	if c := q.Counts(); c.Waiting != 0 || c.Lost != 1 {
		t.Errorf("dropped: %+v", c)
	}
}

// TestQueueThreads: notes of one thread are handled one after the other, others beside them.
func TestQueueThreads(t *testing.T) {
	q := NewQueue()
	q.Put(makeNote(1, Begins))
	q.Put(makeNote(1, Ends))
	q.Put(makeNote(2, Begins))
	first, _ := q.Take(context.Background())
	second, _ := q.Take(context.Background())
	if first.Thread != "1" || second.Thread != "2" {
		t.Fatalf("%s, then %s", first.Thread, second.Thread)
	}
	q.Close()
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			for n, _ := q.Take(context.Background()); n != nil; n, _ = q.Take(context.Background()) {
				q.Done(n)
			}
		})
	}
	q.Done(first)
	q.Done(second)
	waiting.Wait()
	if c := q.Counts(); c.Waiting != 0 || c.Lost != 0 {
		t.Errorf("%+v", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n, _ := NewQueue().Take(ctx); n != nil {
		t.Error("a note from nowhere")
	}
}
