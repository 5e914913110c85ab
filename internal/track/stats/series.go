package stats

// series counts what came in each interval of time. When there are more than
// most intervals, several become one.
type series struct {
	start    int64 // Unix nanoseconds of the first message
	interval int64
	factor   int64 // how many intervals become one
	most     int   // points
	points   []Point
}

// If no interval was given, the series begins with milliseconds, of which autoFactor at a
// time become one: so each of the intervals to choose from in the end is a multiple.
const (
	autoInterval = 1_000_000
	autoFactor   = 10
)

// newSeries returns a series of at most so many points with an interval in nanoseconds; 0: one
// that is chosen later.
func newSeries(interval int64, most int) series {
	if interval > 0 {
		return series{interval: interval, factor: 2, most: most}
	}
	return series{interval: autoInterval, factor: autoFactor, most: most}
}

// pointAt returns the point of a time. A time before the first message counts
// with it: time in a capture can go backwards.
func (s *series) pointAt(nanos int64) *Point {
	if s.points == nil { // allocated at once: growing by doubling would leave 6 MiB of garbage
		s.start, s.points = nanos, make([]Point, 0, s.most)
	}
	age := uint64(max(nanos, s.start)) - uint64(s.start) // does not overflow, whatever the two are
	for age/uint64(s.interval) >= uint64(s.most) {
		s.merge(s.factor)
	}
	i := int(age / uint64(s.interval))
	for len(s.points) <= i {
		s.points = append(s.points, Point{})
	}
	return &s.points[i]
}

// merge makes one point of each n.
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

// narrow merges points until at most autoPoints are left, in intervals of one, two
// or five.
func (s *series) narrow() {
	for step := 0; len(s.points) > autoPoints; step++ {
		n := [3]int64{2, 5, 10}[step%3]
		if points := (int64(len(s.points)) + n - 1) / n; points <= autoPoints {
			s.merge(n)
		} else if n == 10 {
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
