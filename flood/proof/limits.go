package proof

import "time"

// What a collector may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxProven is how many addresses are kept that proved themselves, 9 MiB if all
	// are taken: forged addresses never come in, and a busy host sees some ten
	// thousand players in a day. The one whose last proof is longest ago makes room.
	maxProven = 65_536

	// maxOffered is how many addresses can have a challenge of one server and not
	// have brought it back, 7 MiB. A flood from invented addresses fills it; at
	// 100,000 challenges a second it still lasts for 0.6 s, and the round trip of a
	// player takes 0.1 s.
	maxOffered = 65_536

	// maxPending is how many TCP connections can wait for the third packet, 2 MiB.
	// A flood of SYNs fills it in the same way.
	maxPending = 16_384

	// maxServers is how many servers are known with the challenge that they gave
	// last, to notice that it is the same for everybody, 0.1 MiB. The largest hosts
	// have some hundred on one address.
	maxServers = 1024

	// keptServers is how many of the servers are named to whom an address proved
	// itself. Most players ask one or two of a host's.
	keptServers = 3

	// freshFor is how long a challenge, or an agreed connection, can be brought
	// back. Clients do it at once; those that keep a challenge poll within this.
	freshFor = time.Minute

	// sharedWith is how many times in a row a server gives one challenge to another
	// address than before until it is taken to give it to everybody. By chance that
	// happens to one in 2^64 pairs of challenges.
	sharedWith = 2
)
