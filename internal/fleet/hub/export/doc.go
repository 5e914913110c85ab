// Package export writes what is in the streams of a fleet as rows, JSON lines or Parquet: sketches as the
// counts that they estimate, features by their names, networks opened where the secret is at hand.
// It reads as anybody may who has the right to, beside a hub and without one.
package export
