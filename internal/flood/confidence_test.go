package flood

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestCalibrationRises: more weight is never less sure, each row says what its counts are, and every kind, basis and weight has one.
func TestCalibrationRises(t *testing.T) {
	for kind := NoKind + 1; int(kind) < len(kindNames); kind++ {
		for b := range NumBases {
			last := 0.0
			for w := 0.0; w <= weightMost; w += 0.01 {
				in := Incident{Kind: kind, Weight: Weight{w, b}}
				c := in.Confidence()
				if c < last || c <= 0 || c >= 1 {
					t.Fatalf("%s, %s, weight %.2f: confidence %v after %v", kind, b, w, c, last)
				}
				last = c
			}
		}
	}
	for _, r := range Calibration {
		if r.True > r.Said || r.Said == 0 {
			t.Errorf("%s: %d of %d", r.Name, r.True, r.Said)
		}
	}
}

// TestCalibrationRows: an incident is in the row of its kind, then of its basis, then of its weight.
func TestCalibrationRows(t *testing.T) {
	for _, tc := range []struct {
		kind Kind
		Weight
		want string
	}{
		{OpenAmplifier, Weight{weightMost, WholeCapture}, "observed"},
		{Crowd, Weight{0.22, OneDirection}, "load"},
		{FloodFew, weightOf(7, true), "one-way"},
		{FloodFew, Weight{weightLossy, LossyCapture}, "lossy"},
		{FloodFew, Weight{weightWarmUp, EarlyCapture}, "early"},
		{RconBruteforce, weightOf(guesserScore, false), "high"},
		{ReplyFloodVictim, Weight{weightVictim, WholeCapture}, "medium"},
		{FloodSuspect, weightOf(2, false), "low"},
	} {
		if r := CalibrationOf(tc.kind, tc.Weight); r.Name != tc.want {
			t.Errorf("%s %v: row %s, want %s", tc.kind, tc.Weight, r.Name, tc.want)
		}
	}
}

// TestCalibrationDocs: docs/confidence.md has the counts that the program has.
func TestCalibrationDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/confidence.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range Calibration {
		r := &Calibration[i]
		if row := fmt.Sprintf("| %s | %s | %d | %d | %.2f | ", r.Name, r.Doc, r.Said, r.True, r.Confidence()); !strings.Contains(string(text), "\n"+row) {
			t.Errorf("docs/confidence.md lacks the row\n%s", row)
		}
	}
}
