package flood

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"qsniff/internal/base/lru"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

func sizeOf[T any]() int {
	var x T
	return int(unsafe.Sizeof(x))
}

// topSize is what a Top of n keys takes, n being a power of two: items, and tag and
// count of each.
func topSize[V any](n int) int {
	return sizeOf[sketch.Top[track.Host, V]]() + n*(sizeOf[sketch.Item[track.Host, V]]()+4+4)
}

// tableSize is what a table of n entries takes: with each, its hash, its place in
// the order and two places of the index.
func tableSize[K lru.Key, V any](n int) int {
	return n * (sizeOf[lru.Evicted[K, V]]() + 3*4 + 2*8)
}

func targetSize() int {
	return sizeOf[watched]() + 2*(topSize[measure.Activity](measure.TopSources)+topSize[measure.Neighbours](measure.TopPrefixes)+2*topSize[measure.Activity](measure.TopSources/4))
}

func networkSize() int {
	return sizeOf[network]() - sizeOf[watched]() + targetSize() + sizeOf[members]() + tableSize[track.Host, member](networkServers)
}

func victimSize() int { return sizeOf[victim]() + 2*topSize[measure.Activity](measure.TopSources) }

// fixedSize is what a detector takes once it has seen some packets.
func fixedSize() int {
	return tableSize[track.End, lightServer](lightTargets) +
		measure.ClaimsBytes() +
		2*(askedBytes+sessionBytes+listedBytes+sitesBytes) +
		tableSize[netKey, lightNetwork](lightNetworks) +
		tableSize[track.Host, lightVictim](lightVictims) +
		tableSize[track.Host, scanner](scanners) +
		tableSize[track.End, console](rconTargets) + tableSize[loginKey, pendingLogin](rconLogins) +
		other.FixedBytes() + other.KnownBytes() +
		sizeOf[Detector]()
}

// What the detector keeps is what doc.go states, and no less than nine tenths of it:
// numbers that grow old in a comment are of no use.
func TestMemory(t *testing.T) {
	list := 2 * measure.TopSources * sizeOf[measure.BusyHost]()
	tests := []struct {
		name      string
		got, want int // bytes
	}{
		{"a target", targetSize(), 240 << 10},
		{"a network", networkSize(), 274 << 10},
		{"a victim", victimSize(), 108 << 10},
		{"what is there from the first packets on", fixedSize(), 10400 << 10},
		{"all", fixedSize() + list + heavyTargets*targetSize() + heavyNetworks*networkSize() + measure.ClaimsBytes() + heavyVictims*victimSize() + other.MostBytes(), 36 << 20},
		{"one's own tools", tableSize[pairHash, int16](ownPairs) + tableSize[pairHash, grant](ownPairs) + tableSize[track.End, lightServer](lightTargets*ownShare) +
			tableSize[netKey, lightNetwork](lightNetworks*ownShare) + leastTargets*targetSize() + leastNetworks*networkSize() + measure.ClaimsBytes(), 6500 << 10},
		{"an incident", sizeOf[Incident]() + listedSources*sizeOf[Source]() + listedServers*24 + measure.TopPrefixes*sizeOf[Prefix]() + 32*sizeOf[FeatureValue]() + measure.ShapeForms*sizeOf[measure.Form](), 19 << 10},
	}
	for _, tt := range tests {
		if tt.got > tt.want || tt.got < tt.want/10*9 {
			t.Errorf("%s\ngot  %d KiB\nwant %d KiB or up to a tenth less", tt.name, tt.got>>10, tt.want>>10)
		}
	}
}

// The arithmetic above is what the allocator gives out, rounded up to its sizes.
func TestMemoryMeasured(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	for _, tt := range []struct {
		name string
		make func() any
		want int
	}{
		{"a target", func() any { return newWatched(seed) }, targetSize()},
		{"a network", func() any {
			n := newNetwork(seed)
			n.members.table.Put(track.Host{})
			return n
		}, networkSize()},
		{"what is there from the first packets on", func() any {
			d := New(Defaults(), 1, nil)
			d.servers.light.Put(track.End{})
			for _, what := range []track.PacketType{track.IsRequest, track.IsAgreed, track.IsOther} {
				d.others.Sight(&track.Sighting{What: what}, 1)
			}
			for _, r := range []*sketch.Recent{d.asked, d.played, d.scans.listed, &d.scans.answering} {
				r.Add(1)
			}
			d.networks.light.Put(netKey{})
			d.victims.light.Put(track.Host{})
			d.scans.table.Put(track.Host{})
			d.consoles.table.Put(track.End{})
			d.consoles.pending.Put(loginKey{})
			return d
		}, fixedSize()},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x := tt.make()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(x)
		if got := int(after.TotalAlloc - before.TotalAlloc); got < tt.want || got > tt.want/8*9 {
			t.Errorf("%s\ngot  %d bytes\nwant %d, or an eighth more", tt.name, got, tt.want)
		}
	}
}

// TestFullTables: a table that is full costs nothing while those that it evicts were asked once or twice.
func TestFullTables(t *testing.T) {
	for _, tt := range []struct {
		each int
		want bool
	}{{2, false}, {promoteSecond - 1, true}} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		for i := range lightTargets + 100 {
			s.host = w.ip(0x0b000000 + uint32(i)*263) // networks of their own, most of them
			for range tt.each {
				s.take(request{from: w.someone().host, port: 1, ttl: 60, asks: 1}, nil)
			}
		}
		if got := slices.Contains(w.d.FullTables(), "servers"); got != tt.want {
			t.Errorf("%d requests to each\ngot  %v\nwant %v", tt.each, got, tt.want)
		}
	}
}
