package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
)

func capturedASE(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../pcapfiles/ase/" + name + ".pcap")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Requests of one name that ask for different things are counted as one type.
func TestTypesOfOneName(t *testing.T) {
	run, err := Run(context.Background(), Config{Source: open(t, capturedASE(t, "requests")), Registry: protos.Registry(t), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	want := []tally.TypeCount{{Protocol: "ase", Message: "ASE_QUERY", Count: 9}}
	if diff := cmp.Diff(want, run.Types); diff != "" {
		t.Error(diff)
	}
}

// A joined reply is one message of all its frames, a request on a port that says
// nothing stands before it, and what is missing is counted.
func TestEyeFragments(t *testing.T) {
	type message struct {
		Frame   uint64
		Frames  []uint64
		Message string
		Status  string
	}
	for _, tc := range []struct {
		name              string
		want              []message
		complete, missing uint64
	}{
		{"fragments-three-shuffled", []message{
			{1, nil, "ASE_QUERY", "complete"}, {4, []uint64{2, 3, 4}, "EYE1", "complete"}}, 1, 0},
		{"fragments-duplicate", []message{
			{1, nil, "ASE_QUERY", "complete"}, {4, []uint64{2, 4}, "EYE1", "complete"}}, 1, 0},
		{"fragments-missing-last", []message{
			{1, nil, "ASE_QUERY", "complete"}, {2, nil, "EYE1", "fragment"}, {3, nil, "ASE_QUERY", "complete"}}, 0, 1},
		{"full-1364-bytes", []message{
			{1, nil, "ASE_QUERY", "complete"}, {2, nil, "EYE1", "complete"}, {3, nil, "ASE_QUERY", "complete"}}, 1, 0},
	} {
		var got []message
		for _, line := range lines(t, capturedASE(t, tc.name), Config{}) {
			var m message
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
		run, err := Run(context.Background(), Config{Source: open(t, capturedASE(t, tc.name)), Registry: protos.Registry(t), Out: new(bytes.Buffer)})
		if err != nil {
			t.Fatal(err)
		}
		if run.Joined.Complete != tc.complete || run.Joined.Incomplete != tc.missing {
			t.Errorf("%s: whole and not\ngot  %d, %d\nwant %d, %d", tc.name, run.Joined.Complete, run.Joined.Incomplete, tc.complete, tc.missing)
		}
	}
}
