package pipeline

import (
	"context"
	"io"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/track"
)

// counting is a protocol that counts how often it is asked.
type counting struct{ probes, dissections int }

var countingType = dissect.Type{Name: "COUNTED", Asks: dissect.AskInfo}

func (*counting) Proto() *dissect.Proto {
	return &dissect.Proto{Name: "counting", Types: []*dissect.Type{&countingType}}
}

func (d *counting) Probe(_ *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	d.probes++
	switch b[0] {
	case 'C':
		return dissect.Certain, &countingType
	case 'M':
		return dissect.Maybe, &countingType
	}
	return dissect.No, nil
}

func (d *counting) Dissect(_ *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	d.dissections++
	m.Type = t
	m.Cursor(&dissect.Context{}).Rest(&dissect.Trailing)
}

// TestOneLook: a datagram is identified once, though somebody watches and somebody
// reads messages, and not at all if it is the same as the one before. Only a weak one
// is looked at again, with what its flow showed.
func TestOneLook(t *testing.T) {
	for _, tc := range []struct {
		name, capture string
		probes        int // whether or not somebody watches
	}{
		{"certain", "> 43 01\n> 43 02\n", 2},
		{"the same twice", "> 43 01\n> 43 01\n", 1},
		{"nobody's", "> 44 01\n", 1},
		{"weak", "> 43 01\n> 4d 01\n", 3},
	} {
		for _, watchers := range [][]track.Watcher{nil, {&log{}}} {
			d := new(counting)
			reg, err := dissect.NewRegistry(d)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Run(context.Background(), Config{Source: open(t, sourced(t, tc.capture)), Registry: reg, Out: io.Discard,
				Renderer: jsonl.New(jsonl.Options{}), Jobs: 1, Watchers: watchers}); err != nil {
				t.Fatal(err)
			}
			if d.probes != tc.probes {
				t.Errorf("%s, %d watch: probes\ngot  %d\nwant %d", tc.name, len(watchers), d.probes, tc.probes)
			}
		}
	}
}
