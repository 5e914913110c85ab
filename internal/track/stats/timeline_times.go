package stats

// Buckets counts response times by bucket, in the interval of the request. It has the buckets
// from the first to the last that was counted in, as the times of one server lie close together,
// and mostly 16 bits for each count.
type Buckets struct {
	first, width int
	low          []uint16 // width of them for each interval
	high         []uint16 // the upper bits of counts, as long as low; nil: they are zero
}

// bucketStep is how many buckets are added at a time, so that a row is seldom copied.
const bucketStep = 4

// Len returns how many intervals there are. What follows is zero.
func (t *Buckets) Len() int {
	if t.width == 0 {
		return 0
	}
	return len(t.low) / t.width
}

// Range returns the first bucket, and the one after the last.
func (t *Buckets) Range() (first, end int) { return t.first, t.first + t.width }

// At returns the count of a bucket in the range, in an interval.
func (t *Buckets) At(interval, bucket int) uint32 {
	i := interval*t.width + bucket - t.first
	n := uint32(t.low[i])
	if t.high != nil {
		n |= uint32(t.high[i]) << 16
	}
	return n
}

// set sets the count of a bucket in an interval, both of which are there.
func (t *Buckets) set(interval, bucket int, n uint32) {
	i := interval*t.width + bucket - t.first
	if n > 0xffff && t.high == nil {
		t.high = make([]uint16, len(t.low), cap(t.low))
	}
	if t.low[i] = uint16(n); t.high != nil {
		t.high[i] = uint16(n >> 16)
	}
}

// Add counts a time of a bucket in an interval of at most TimelinePoints.
func (t *Buckets) Add(interval, bucket int) { t.add(interval, bucket, 1) }

// add counts n times of a bucket.
func (t *Buckets) add(interval, bucket int, n uint32) {
	if bucket < t.first || bucket >= t.first+t.width {
		t.widen(bucket)
	}
	t.resize((interval + 1) * t.width)
	t.set(interval, bucket, t.At(interval, bucket)+n)
}

// resize makes room for at least n counts.
func (t *Buckets) resize(n int) {
	t.low = extendTo(t.low, n, timelineCells*t.width)
	if t.high != nil {
		t.high = extendTo(t.high, n, timelineCells*t.width)
	}
}

// widen makes room for a bucket.
func (t *Buckets) widen(bucket int) {
	first := bucket &^ (bucketStep - 1)
	end := first + bucketStep
	if t.width > 0 {
		first, end = min(first, t.first), max(end, t.first+t.width)
	}
	wide := Buckets{first: first, width: end - first}
	wide.resize(t.Len() * wide.width)
	for i := range t.Len() {
		for b := t.first; b < t.first+t.width; b++ {
			wide.set(i, b, t.At(i, b))
		}
	}
	*t = wide
}

// AddAll adds what o has.
func (t *Buckets) AddAll(o *Buckets) { t.addAll(o, 0, 1) }

// addAll adds what o has: its intervals begin lead of its own later, and by of them become one.
func (t *Buckets) addAll(o *Buckets, lead, by uint64) {
	for i := range o.Len() {
		for b := o.first; b < o.first+o.width; b++ {
			if n := o.At(i, b); n > 0 {
				t.add(int((lead+uint64(i))/by), b, n)
			}
		}
	}
}

// SubtractAll takes out what o has, all of which was added before.
func (t *Buckets) SubtractAll(o *Buckets) {
	for i := range o.Len() {
		for b := o.first; b < o.first+o.width; b++ {
			if n := o.At(i, b); n > 0 {
				t.set(i, b, t.At(i, b)-n)
			}
		}
	}
}

// Drop drops the first n intervals.
func (t *Buckets) Drop(n int) {
	n = min(n*t.width, len(t.low))
	t.low = t.low[:copy(t.low, t.low[n:])]
	if t.high != nil {
		t.high = t.high[:copy(t.high, t.high[n:])]
	}
}

// Merge makes one interval of each n.
func (t *Buckets) Merge(n int64) {
	for i := range t.Len() {
		to := int(int64(i) / n)
		for b := t.first; b < t.first+t.width; b++ {
			sum := t.At(i, b)
			if int64(i)%n != 0 {
				sum += t.At(to, b)
			}
			t.set(to, b, sum)
		}
	}
	left := int((int64(t.Len())+n-1)/n) * t.width
	if t.low = t.low[:left]; t.high != nil {
		t.high = t.high[:left]
	}
}

// reset drops all counts.
func (t *Buckets) reset() { *t = Buckets{} }
