package campaign

import (
	"math"
	"net/netip"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
)

// What sensors claim is bounded before it is used: whoever has the credentials of one may send anything.

// mostRate and mostCount bound what is believed of one server, in a second and in a window. Chosen: more
// than a line of 400 Gbit/s carries in small packets, and sums of all servers stay exact.
const (
	mostRate  = 1e9
	mostCount = uint64(1e12)
)

// canBeUnknown reports whether a feature may be NaN: the capture could not give it.
func canBeUnknown(f measure.Feature) bool {
	switch f {
	case measure.Answered, measure.Gain, measure.Unreach, measure.Completion, measure.Echoed, measure.Pace:
		return true
	}
	return false
}

// isShare reports whether a feature is a part of a whole, or yes or no.
func isShare(f measure.Feature) bool {
	switch f {
	case measure.Top1, measure.Top8, measure.Top16, measure.Prefix, measure.Repeat, measure.Heavy, measure.Proven, measure.Completion,
		measure.Alien, measure.TTL1, measure.TTLX, measure.Low, measure.Port1, measure.Print1, measure.OneWay,
		measure.BiggestProven, measure.BiggestNAT, measure.TopProven, measure.Hot, measure.RepeatTTL, measure.PrefixProven, measure.Stubborn, measure.Keen, measure.OwnTTL,
		measure.Echoed, measure.EchoLike, measure.Refusing, measure.JunkShareNow, measure.JunkShareMean, measure.GuessShare3, measure.GuessShare10:
		return true
	}
	return false
}

// cleanFeatures replaces numbers that no feature can have, and rounds all to what messages hold. It reports
// whether there was none to replace.
func cleanFeatures(f *fleet.Features) (wasClean bool) {
	wasClean = true
	for i, x := range f {
		most := mostRate
		if isShare(measure.Feature(i)) {
			most = 1
		}
		y := float64(float32(x))
		switch {
		case math.IsNaN(x) && canBeUnknown(measure.Feature(i)):
		case math.IsNaN(x) || x < 0:
			y, wasClean = 0, false
		case y > most:
			y, wasClean = most, x <= most*1.001 && wasClean // what floats round up
		}
		f[i] = y
	}
	return wasClean
}

// cleanRate returns a rate, or another number, that can be one.
func cleanRate(x float64) float64 {
	if math.IsNaN(x) || x < 0 {
		return 0
	}
	return min(x, mostRate)
}

// cleanText returns at most n bytes of a text. What shows it makes it fit for its place.
func cleanText(s string, n int) string { return string([]byte(s[:min(len(s), n)])) }

// cleanServer returns an address without a zone, which is none of a server and of any length.
func cleanServer(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// cleanNetworks returns a copy of a list, as long as lists are.
func cleanNetworks(list []fleet.Network) []fleet.Network {
	var all []fleet.Network
	for _, n := range list[:min(len(list), fleet.MaxTop)] {
		if !n.Prefix.IsZero() && n.Queries > 0 {
			all = append(all, n)
		}
	}
	return all
}
