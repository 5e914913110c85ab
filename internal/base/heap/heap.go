// Package heap says when the garbage collector runs, for programs whose heap is mostly tables that are made
// once.
package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"qsniff/internal/base/mem"
)

// Growth is by how many percent the heap may grow before the garbage collector runs.
// With Go's own 100, garbage would take as much memory as the tables, which are most of
// the heap. A run allocates tables in its first moments and next to nothing afterwards, so
// that there are 7 to 16 collections over a million mixed packets. Twice as much is 5 to 9
// of them, takes 4 MiB more, and no measurable time less. A memory limit of the size of the tables, in
// place of this, caused 46 to 800 collections over a million mixed packets, and took up to
// half of the CPU time; a percentage fits any --memory, and whatever else is on the heap.
const Growth = 10

// TightGrowth is Growth of a command that has the tables of several, or keeps packets
// beside them. Chosen: its heap is larger, and has few collections: 30 to 40 over a million
// mixed packets.
const TightGrowth = 5

// isTight is set by Tighten.
var isTight atomic.Bool

// Tighten sets TightGrowth. It is called before tables are made.
func Tighten() { isTight.Store(true) }

// firstCollection is how many bytes of memory a run takes before the collector runs for the
// first time: the tables of the usual size, and what a small capture needs besides. While
// the tables are made the heap grows from nothing, and would be collected ten times
// without any garbage, which was half of the time of a run over a small capture. With 40 MiB
// there were six collections over 100,000 mixed packets as JSON, of 2 ms each, and none but the
// last found any: with 50 there are four or five, and the peak of a million packets is the same.
// With 60 read -w took 14 MiB more.
const firstCollection = 50 << 20

// Delay turns the collector off until the heap has firstCollection bytes. The
// first collection frees a value whose cleanup sets Growth.
func Delay() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(firstCollection)
	first := new([1]*byte) // garbage from the beginning
	runtime.AddCleanup(first, func(percent int) {
		if isTight.Load() {
			percent = TightGrowth
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, Growth)
}

// ReturnProgram returns what is resident of the program now, after so many collections, and again after twice
// as many, and so on: what has run once, as commands, flags and tables were made, is 2 to 4 MiB of it. Each
// time takes half a millisecond.
func ReturnProgram(collections int) {
	mem.ReturnProgram()
	left := collections
	var wait func(int)
	wait = func(int) {
		if left--; left < 0 {
			mem.ReturnProgram()
			collections *= 2
			left = collections
		}
		runtime.AddCleanup(new([1]*byte), wait, 0)
	}
	wait(0)
}
