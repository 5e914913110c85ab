package sketch

// fewSlots is how many values Few can tell apart.
const fewSlots = 8

// Few finds the value that makes up a large share of many (Misra and Gries 1982):
// one that is more than a ninth of all is found, and its count is too low by at
// most a ninth.
type Few struct {
	value [fewSlots]uint32
	count [fewSlots]uint32
	all   uint32
}

// Add takes a value.
func (f *Few) Add(v uint32) {
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

// Most is the value that leads, how often it came at least, and of how many.
func (f *Few) Most() (value, count, all uint32) {
	for i, n := range f.count {
		if n > count {
			value, count = f.value[i], n
		}
	}
	return value, count, f.all
}

// Of is how often value came, at least.
func (f *Few) Of(value uint32) uint32 {
	for i, v := range f.value {
		if v == value && f.count[i] > 0 { // a slot that was emptied keeps its value
			return f.count[i]
		}
	}
	return 0
}

// Reset forgets everything.
func (f *Few) Reset() { *f = Few{} }
