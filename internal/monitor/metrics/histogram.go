package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"qsniff/internal/monitor"
)

// histogram is a distribution of times in both forms of buckets: a scraper takes the one that it
// supports. The library makes constant ones of either form only.
type histogram struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	times  *monitor.Times
}

func newHistogram(d *prometheus.Desc, t *monitor.Times, labels ...string) prometheus.Metric {
	return &histogram{d, prometheus.MakeLabelPairs(d, labels), t}
}

// Desc returns the description.
func (h *histogram) Desc() *prometheus.Desc { return h.desc }

// Write fills in m.
func (h *histogram) Write(m *dto.Metric) error {
	t := h.times
	sum, schema, zero := float64(t.Nanos)/1e9, int32(monitor.FineSchema), float64(monitor.FineZero)
	x := &dto.Histogram{SampleCount: &t.Count, SampleSum: &sum, Schema: &schema, ZeroThreshold: &zero, ZeroCount: &t.Below}
	n := uint64(0)
	for i := range monitor.RoundLimits {
		n += t.Round[i]
		upTo := n
		x.Bucket = append(x.Bucket, &dto.Bucket{CumulativeCount: &upTo, UpperBound: &monitor.RoundLimits[i], Exemplar: newExemplar(&t.Last[i])})
	}
	addFine(x, t)
	m.Label, m.Histogram = h.labels, x
	return nil
}

// frameLabel is the label of exemplars.
var frameLabel = "frame"

// newExemplar returns the packet that stands for a bucket, nil if there is none. Only OpenMetrics has
// exemplars.
func newExemplar(e *monitor.Example) *dto.Exemplar {
	if e.Frame == 0 {
		return nil
	}
	frame, took := strconv.FormatUint(e.Frame, 10), float64(e.Took)/1e9
	return &dto.Exemplar{Label: []*dto.LabelPair{{Name: &frameLabel, Value: &frame}}, Value: &took, Timestamp: timestamppb.New(time.Unix(0, e.Nanos))}
}

// addFine adds the fine buckets: spans of those that are not empty, each count as its difference
// to the one before. A histogram without any has an empty span, by which it is known as a native one.
func addFine(x *dto.Histogram, t *monitor.Times) {
	last, gap := int64(0), int32(monitor.FirstFine)
	var span *dto.BucketSpan
	for _, n := range t.Fine {
		if n == 0 {
			gap++
			span = nil
			continue
		}
		if span == nil {
			offset, length := gap, uint32(0)
			span = &dto.BucketSpan{Offset: &offset, Length: &length}
			x.PositiveSpan = append(x.PositiveSpan, span)
		}
		*span.Length++
		x.PositiveDelta = append(x.PositiveDelta, int64(n)-last)
		last, gap = int64(n), 0
	}
	if len(x.PositiveSpan) == 0 {
		x.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32), Length: new(uint32)}}
	}
}
