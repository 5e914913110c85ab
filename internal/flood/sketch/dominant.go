package sketch

// dominantSlots is how many values Dominant counts at a time. Chosen: with eight, the error
// of a ninth is well below the smallest share that a rule asks for, half.
const dominantSlots = 8

// Dominant finds a value that makes up a large share of those added (Misra and Gries 1982):
// one that is more than a ninth of all is found, and its count is too low by at most a
// ninth of all.
type Dominant struct {
	value [dominantSlots]uint32
	count [dominantSlots]uint32
	all   uint32
}

// Add counts a value.
func (f *Dominant) Add(v uint32) {
	f.all++
	free := -1
	for i := range f.value {
		switch {
		case f.count[i] == 0:
			free = i
		case f.value[i] == v:
			f.count[i]++
			return
		}
	}
	if free >= 0 {
		f.value[free], f.count[free] = v, 1
		return
	}
	for i := range f.count {
		f.count[i]--
	}
}

// Leader returns the value with the highest count, at least how often it came, and how many
// values were added.
func (f *Dominant) Leader() (value, count, all uint32) {
	for i, n := range f.count {
		if n > count {
			value, count = f.value[i], n
		}
	}
	return value, count, f.all
}

// CountOf returns at least how often value came.
func (f *Dominant) CountOf(value uint32) uint32 {
	for i, v := range f.value {
		if v == value && f.count[i] > 0 { // a slot that was emptied keeps its value
			return f.count[i]
		}
	}
	return 0
}

// Reset empties f.
func (f *Dominant) Reset() { *f = Dominant{} }

// Merge adds the values that were added to g. The bounds of Dominant hold for all together
// (Agarwal et al. 2012).
func (f *Dominant) Merge(g *Dominant) {
	value := append(append(make([]uint32, 0, 2*dominantSlots), f.value[:]...), g.value[:]...)
	count := append(append(make([]uint32, 0, 2*dominantSlots), f.count[:]...), g.count[:]...)
	for j := dominantSlots; j < len(value); j++ {
		for i := range dominantSlots {
			if value[i] == value[j] && count[i] > 0 {
				count[i], count[j] = count[i]+count[j], 0
			}
		}
	}
	all := f.all + g.all
	*f = Dominant{all: all}
	for i := range dominantSlots + 1 {
		most := 0
		for j := range count {
			if count[j] > count[most] {
				most = j
			}
		}
		if i < dominantSlots {
			f.value[i], f.count[i] = value[most], count[most]
		} else { // the ninth: as if each of the others had met one of its kind
			for j := range f.count {
				f.count[j] -= min(f.count[j], count[most])
			}
		}
		count[most] = 0
	}
}
