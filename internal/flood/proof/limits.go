package proof

import "time"

// What a collector may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxProven is how many proven addresses are kept, 9 MiB if all are taken: forged
	// addresses never enter, and a busy host sees some ten thousand players in a day. The
	// address whose last proof is longest ago is evicted.
	maxProven = 65_536

	// maxOffered is how many pairs of server and address are kept whose challenge may still
	// be brought back, 7 MiB. A flood from invented addresses fills the table; at
	// 100,000 challenges a second it still holds 0.6 s of them, and the round trip of a
	// player takes 0.1 s.
	maxOffered = 65_536

	// maxPending is how many TCP connections can wait for the third packet of the handshake,
	// 2 MiB. A flood of SYNs fills the table in the same way.
	maxPending = 16_384

	// maxServers is how many servers are kept with the challenge that they gave last, to
	// notice that it is the same for everybody, 0.1 MiB. The largest hosts have some hundred
	// on one address.
	maxServers = 1024

	// keptServers is how many of the servers are listed to which an address proved
	// itself. Most players ask one or two of a host's.
	keptServers = 3

	// freshFor is how long a challenge can be brought back, and an agreed connection
	// completed. Clients do it at once; those that keep a challenge poll within a minute.
	freshFor = time.Minute

	// sharedWith is how many times in a row a server gives one challenge to another
	// address than before until it is taken to give it to everybody. By chance that
	// happens to one in 2^64 pairs of challenges.
	sharedWith = 2
)
