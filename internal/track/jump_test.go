package track

import "testing"

// TestClockSet: stamps that jump while little time passes say nothing of what took
// how long, once; packets out of order are no jump.
func TestClockSet(t *testing.T) {
	const s = int64(1e9)
	type at struct {
		what       string
		age, nanos int64
	}
	for _, tc := range []struct {
		name string
		in   []at
		want []string
	}{
		{"as it is", []at{{">T", 10, 10}, {"<I", 12, 12}}, []string{"ask 1", "answer 1 to 1 after 2000"}},
		{"set forward", []at{{">T", 10, 10}, {"<I", 11, 3610}, {">T", 12, 3611}, {"<I", 13, 3612}},
			[]string{"ask 1", "answer 1 to 1", "ask 3", "answer 3 to 3 after 1000"}},
		{"set forward and back", []at{{">T", 10, 10}, {"<I", 11, 3610}, {">T", 12, 3611}, {"<I", 12, 13}, {">U", 13, 14}, {"<D", 14, 15}},
			[]string{"ask 1", "answer 1 to 1", "ask 3", "answer 3 to 3", "ask 5", "answer 5 to 5 after 1000"}},
		{"out of order", []at{{">T", 10, 10}, {">U", 10, 5}, {"<I", 11, 11}}, []string{"ask 1", "ask 2", "answer 1 to 1 after 1000"}},
	} {
		x := NewExchanges(100, NewFlows(100))
		for i, p := range tc.in {
			m := message(t, p.what)
			m.Frame, m.Age, m.Nanos = uint64(i+1), p.age*s, p.nanos*s
			if got := said(x.Place(&m), m.Expert); got != tc.want[i] {
				t.Errorf("%s, %s\ngot  %s\nwant %s", tc.name, p.what, got, tc.want[i])
			}
		}
	}
}

// TestClockSetInConnection: the same of calls.
func TestClockSetInConnection(t *testing.T) {
	x := NewExchanges(100, NewFlows(100))
	ask := Message{Src: testClient, Dst: server, Proto: &testProto, Type: testKinds['T'], Conn: 1, Key: 7, Frame: 1, Age: 1e9, Nanos: 1e9}
	x.Place(&ask)
	reply := ask
	reply.Src, reply.Dst, reply.Reply, reply.Frame, reply.Age, reply.Nanos = server, testClient, true, 2, 2e9, 3600e9
	p := x.Place(&reply)
	if joined := x.PlaceJoined(&reply); p.Took != -1 || joined.Took != -1 || p.Request != 1 {
		t.Errorf("got  %+v, joined %+v\nwant request 1, and not how long it took", p, joined)
	}
}
