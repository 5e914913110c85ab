package main

import "slices"

// spread is the median of several values, with the least and the greatest.
type spread struct{ min, median, max float64 }

// spreadOf returns the spread of the values of n rounds, at least one.
func spreadOf(n int, value func(round int) float64) spread {
	all := make([]float64, n)
	for i := range all {
		all[i] = value(i)
	}
	slices.Sort(all)
	s := spread{min: all[0], median: all[n/2], max: all[n-1]}
	if n%2 == 0 {
		s.median = (all[n/2-1] + all[n/2]) / 2
	}
	return s
}
