package flood

import (
	"math"
	"slices"
)

// Weight is how much evidence a verdict has, from 0 to 1, and what limits it. It decides between verdicts
// on the same target; Incident.Confidence makes of it the share of such verdicts that are true.
type Weight struct {
	Value float64
	Basis Basis
}

// Basis is what the capture gives a verdict to rest on.
type Basis uint8

// Limits of a verdict.
const (
	WholeCapture Basis = iota // nothing
	OneDirection              // only requests or only replies were captured
	LossyCapture              // the capturing program lost packets
	EarlyCapture              // the baseline of the target is not known yet
	NumBases
)

var basisNames = [NumBases]string{"whole", "one direction", "lossy", "early"}

// String returns the name of the basis in JSON.
func (b Basis) String() string { return basisNames[b] }

// The weight of a verdict is weightBase and weightPerPoint for each point of its score. The
// others are the most that it can be: always, and where something limits what the capture can
// show. Chosen: seven points, those of the strongest sign, reach the most.
const (
	weightBase     = 0.5
	weightPerPoint = 0.07
	weightMost     = 0.99
	weightOneWay   = 0.60
	weightVictim   = 0.75 // of a victim of replies whose own requests were not captured
	weightLossy    = 0.70
	lossyShare     = 0.2 // lost packets for each request: above it a capture is lossy
	weightWarmUp   = 0.70
	warmUp         = 30 // seconds
)

// weightOf returns the weight of a verdict with that score, of a capture without losses.
func weightOf(score float64, oneWay bool) Weight {
	w := Weight{Value: max(0, min(weightMost, weightBase+weightPerPoint*score))}
	if oneWay {
		w.limit(weightOneWay, OneDirection)
	}
	return w
}

// limit lowers w to at most most, because of b. The basis is set also where w is lower already.
func (w *Weight) limit(most float64, b Basis) { w.Value, w.Basis = min(w.Value, most), b }

// weigh returns the weight of a verdict with that score.
func (b *book) weigh(score float64, oneWay bool) Weight {
	w := weightOf(score, oneWay)
	switch {
	case oneWay:
	case b.lost > 0 && float64(b.lost) > lossyShare*float64(b.requests):
		w.limit(weightLossy, LossyCapture)
	case b.Now-b.begun < warmUp-1:
		w.limit(weightWarmUp, EarlyCapture)
	}
	return w
}

// CalibrationRow counts what incidents of labelled captures came to: Said of them were reported, and True were what
// the label says. The labels are of 55 scenarios of attacks and of what looks like one, each as it is, with other
// random numbers, at half the rate, with one direction only, from five seconds before the event on, and with three
// packets of five lost. 28 of the scenarios were known when the rules were made. internal/tools/calibrate counts them;
// it counts the incidents of one kind in a capture once.
type CalibrationRow struct {
	Name       string // of the row
	Doc        string // which incidents are in it
	Kinds      []Kind // nil: all that no other row names
	Basis      Basis  // unless it has Kinds
	Least      float64
	Said, True int
}

// Confidence is the share that was true, as if one more had been true and one more had not: of few
// counts none is certain. (Laplace's rule of succession.)
func (r *CalibrationRow) Confidence() float64 {
	return math.Round(100*float64(r.True+1)/float64(r.Said+2)) / 100
}

// Calibration are the rows, of which an incident is in the first that fits its kind, basis and weight. Measured with
// internal/tools/calibrate; the least weights are chosen: 0.85, of five points, is what all kinds reach whose condition
// is met alone, and 0.75 that of a victim of replies.
var Calibration = []CalibrationRow{
	{Name: "observed", Doc: "an open amplifier, which is seen to answer", Kinds: []Kind{OpenAmplifier}, Said: 14, True: 14},
	{Name: "load", Doc: "a crowd, a poller or a survey, and no attack", Kinds: []Kind{Crowd, Poller, Survey}, Said: 68, True: 37},
	{Name: "one-way", Doc: "one direction was captured", Basis: OneDirection, Said: 25, True: 25},
	{Name: "lossy", Doc: "the capturing program lost packets", Basis: LossyCapture, Said: 38, True: 32},
	{Name: "early", Doc: "within the first 30 s", Basis: EarlyCapture, Said: 4, True: 2},
	{Name: "high", Doc: "weight 0.85 and more", Least: 0.849, Said: 127, True: 126},
	{Name: "medium", Doc: "weight 0.75 to 0.85", Least: 0.749, Said: 25, True: 22},
	{Name: "low", Doc: "less weight", Said: 5, True: 0},
}

// Confidence returns how sure the kind of the incident is, 0 to 1: of a hundred with 0.7, seventy were what they were
// called in the captures of Calibration.
func (in *Incident) Confidence() float64 { return confidenceOf(in.Kind, in.Weight) }

func confidenceOf(k Kind, w Weight) float64 { return CalibrationOf(k, w).Confidence() }

// CalibrationOf returns the row of an incident of a kind and a weight.
func CalibrationOf(k Kind, w Weight) *CalibrationRow {
	for i := range Calibration {
		r := &Calibration[i]
		if slices.Contains(r.Kinds, k) || r.Kinds == nil && r.Basis == w.Basis && w.Value >= r.Least {
			return r
		}
	}
	return &Calibration[len(Calibration)-1]
}
