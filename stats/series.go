package stats

// series is what came in each interval of time. Where the intervals exceed
// maxPoints, several become one.
type series struct {
	start    int64 // Unix nanoseconds of the first message
	interval int64
	grow     int64 // how many intervals become one
	points   []Point
}

// The intervals while nobody asked for one: a multiple of ten becomes one at a
// time, so that each of the intervals to choose from in the end is a multiple.
const (
	autoInterval = 1_000_000
	autoGrow     = 10
)

func newSeries(interval int64) series {
	if interval > 0 {
		return series{interval: interval, grow: 2}
	}
	return series{interval: autoInterval, grow: autoGrow}
}

// at returns the point of a time. What is older than the first message counts
// with it: time in a capture can go backwards.
func (s *series) at(nanos int64) *Point {
	if s.points == nil { // growing by doubling would leave 6 MiB for the collector
		s.start, s.points = nanos, make([]Point, 0, maxPoints)
	}
	age := uint64(max(nanos, s.start)) - uint64(s.start) // fits whatever the two are
	for age/uint64(s.interval) >= maxPoints {
		s.merge(s.grow)
	}
	i := int(age / uint64(s.interval))
	for len(s.points) <= i {
		s.points = append(s.points, Point{})
	}
	return &s.points[i]
}

// merge makes one of n points.
func (s *series) merge(n int64) {
	for i := range s.points {
		to := &s.points[int64(i)/n]
		if int64(i)%n == 0 {
			*to = s.points[i]
		} else {
			to.add(&s.points[i])
		}
	}
	s.points = s.points[:(int64(len(s.points))+n-1)/n]
	s.interval *= n
}

// auto merges points so that at most autoPoints are left, in intervals of one, two
// or five.
func (s *series) auto() {
	for step := 0; len(s.points) > autoPoints; step++ {
		wanted := [3]int64{2, 5, 10}[step%3]
		if n := (int64(len(s.points)) + wanted - 1) / wanted; n <= autoPoints {
			s.merge(wanted)
		} else if wanted == 10 {
			s.merge(10)
		}
	}
}

func (p *Point) add(q *Point) {
	p.Requests += q.Requests
	p.Replies += q.Replies
	p.BytesIn += q.BytesIn
	p.BytesOut += q.BytesOut
}
