package keep

import "time"

// The limits of files around incidents where the user sets no others. An attack of 30,000
// queries a second is 9 MB of packets a second: without a limit one of an hour was 32 GB.
// Its kind, its sources and its payloads show in the first seconds.
const (
	MostOfIncident  = 128 << 20 // bytes; chosen: 14 s of that attack, after what preceded it
	MostOfIncidents = 16        // files of this run, one an incident; with the above 2 GiB, which small servers can spare
)

// standstill is how long the decoder may take no packets, because nobody reads its
// output, before they are written to files without it. It is checked every
// standstillEvery. Chosen: while it takes packets it does so ten times a second, and an
// attack of 30,000 queries a second fills the kernel's buffer (live.DefaultBuffer) in 6 s.
const (
	standstill      = time.Second
	standstillEvery = standstill / 4
)
