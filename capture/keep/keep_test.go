package keep

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/capture/ring"
)

// TestReplace: a file that is there is overwritten only where that was asked for.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	if err := os.WriteFile(path, []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(&Options{Path: path}, nil, 0); err == nil || !strings.Contains(err.Error(), "there is a file of this name") {
		t.Errorf("not asked for: %v", err)
	}
	k, err := Open(&Options{Path: path, Replace: true}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if k.Folder() != "" {
		t.Errorf("one file: new ones in %q", k.Folder())
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "keep me") {
		t.Errorf("asked for: %q, %v", b, err)
	}
}

// TestTo: packets go to a stream in place of a file, each once it is due, and the stream stays open.
func TestTo(t *testing.T) {
	var out bytes.Buffer
	k, err := Open(&Options{To: &out}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		p := capture.Packet{No: uint64(i + 1), Nanos: int64(i) * int64(10*time.Second), Link: 101, Wire: 20, Data: make([]byte, 20)}
		if err := k.sink.Write(&p); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() == 0 {
		t.Error("nothing was written before the end")
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewReader(&out, "x")
	if err != nil {
		t.Fatal(err)
	}
	var b capture.Batch
	n := 0
	for err == nil {
		err = r.Read(&b)
		n += len(b.Packets)
	}
	if n != 3 || k.Stats().File.Packets != 3 {
		t.Errorf("%d packets, want 3; %+v, %v", n, k.Stats(), err)
	}
}

// TestIncidentLimits: of an incident so much is written and no more, unless somebody set
// other limits.
func TestIncidentLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	for _, tc := range []struct {
		name string
		o    Options
		most int64
	}{
		{"no limit given", Options{Path: path, Around: 5 * time.Second}, MostOfIncident},
		{"lifted", Options{Path: path, Around: 5 * time.Second, LimitsSet: true}, 0},
		{"a size", Options{Path: path, Around: 5 * time.Second, LimitsSet: true, Size: 1 << 20}, 0},
	} {
		k, err := Open(&tc.o, nil, ring.MinTrigger)
		if err != nil {
			t.Fatal(err)
		}
		if k.trigger.MaxBytes != tc.most || tc.o.HasDefaultLimits() != (tc.most > 0) || !tc.o.HasSeveralFiles() {
			t.Errorf("%s: %d bytes of an incident, want %d", tc.name, k.trigger.MaxBytes, tc.most)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAlarms: incidents count once, and go on from the begin of the first that is open.
func TestAlarms(t *testing.T) {
	var a Alarms
	for _, step := range []struct {
		id          uint64
		start       int64
		asks        bool
		begun       uint64
		going, from int64
	}{
		{1, 100, false, 0, 0, 0}, // a note
		{1, 100, true, 1, 1, 100},
		{2, 90, true, 2, 2, 90}, // known later
		{1, 100, true, 2, 2, 90},
		{2, 90, false, 2, 1, 90},
		{1, 100, false, 2, 0, 90},
		{3, 200, true, 3, 1, 200},
	} {
		a.Note(step.id, step.start, step.asks)
		if a.Begun() != step.begun || a.going.Load() != step.going || a.since.Load() != step.from {
			t.Errorf("%+v\ngot %d begun, %d going on from %d", step, a.Begun(), a.going.Load(), a.since.Load())
		}
	}
}

// TestTapLoss: what the decoder was not given is lost to whoever judges by what it
// decodes.
func TestTapLoss(t *testing.T) {
	x := &Tap{Source: new(live.Source)}
	x.undecoded.Add(7)
	if got := x.Stats().Dropped; got != 7 {
		t.Errorf("lost\ngot  %d\nwant 7", got)
	}
}
