package stats

// Buckets counts response times by bucket, in the interval of the request. It has the buckets
// from the first to the last that was counted in: the times of one server lie close together.
type Buckets struct {
	first, width int
	counts       []uint32 // width of them for each interval
}

// Len returns how many intervals there are. What follows is zero.
func (t *Buckets) Len() int {
	if t.width == 0 {
		return 0
	}
	return len(t.counts) / t.width
}

// At returns the counts of an interval, of neighbouring buckets, and which is the first. They
// are the memory of t.
func (t *Buckets) At(interval int) (first int, counts []uint32) {
	return t.first, t.counts[interval*t.width:][:t.width]
}

// add counts n times of a bucket.
func (t *Buckets) add(interval, bucket int, n uint32) {
	if bucket < t.first || bucket >= t.first+t.width {
		t.widen(bucket)
	}
	t.counts = extendTo(t.counts, (interval+1)*t.width, timelineCells*t.width)
	t.counts[interval*t.width+bucket-t.first] += n
}

// bucketStep is how many buckets are added at a time, so that a row is seldom copied.
const bucketStep = 4

// widen makes room for a bucket.
func (t *Buckets) widen(bucket int) {
	first := bucket &^ (bucketStep - 1)
	end := first + bucketStep
	if t.width > 0 {
		first, end = min(first, t.first), max(end, t.first+t.width)
	}
	wide := Buckets{first: first, width: end - first}
	wide.counts = make([]uint32, t.Len()*wide.width, timelineCells*wide.width)
	for i := range t.Len() {
		copy(wide.counts[i*wide.width+t.first-first:], t.counts[i*t.width:][:t.width])
	}
	*t = wide
}

// addAll adds what o has: its intervals begin lead of its own later, and by of them become one.
func (t *Buckets) addAll(o *Buckets, lead, by uint64) {
	for i := range o.Len() {
		first, counts := o.At(i)
		for k, n := range counts {
			if n > 0 {
				t.add(int((lead+uint64(i))/by), first+k, n)
			}
		}
	}
}

// merge makes one interval of each n.
func (t *Buckets) merge(n int64) {
	length := t.Len()
	for i := range length {
		for k, from := range t.counts[i*t.width:][:t.width] {
			to := &t.counts[int(int64(i)/n)*t.width+k]
			if int64(i)%n == 0 {
				*to = 0
			}
			*to += from
		}
	}
	t.counts = t.counts[:int((int64(length)+n-1)/n)*t.width]
}

// reset drops all counts.
func (t *Buckets) reset() { *t = Buckets{counts: t.counts[:0]} }
