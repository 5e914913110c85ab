package track

import (
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// shared finds servers that demand a challenge, and those that give all clients the same.
type shared struct {
	*Hosts
	challenges *states[sharedChallenge] // by server
}

func newShared(h *Hosts) check {
	c := &shared{Hosts: h, challenges: newServerStates[sharedChallenge](h)}
	return check{wants: []want{{challenge, c.addChallenge}}}
}

// sharedChallenge is the challenge that a server gives most, by Boyer and Moore's majority
// vote: each gift of the candidate is a vote for it, each gift of another challenge a vote
// against it, and at a negative count the other one becomes the candidate.
type sharedChallenge struct {
	challenge  uint32
	votes      int32
	given, all uint32                // times that the candidate, and any challenge, was given since it became that
	to         [sharedAddresses]Host // addresses that were given it
	addresses  uint8                 // in use of to
	first      uint64                // frame of its first gift
	isReported bool
	isDemanded bool // the server demands one for information
}

// addChallenge adds a challenge, and raises that a server demands one for information.
func (c *shared) addChallenge(f *view) {
	if f.Key != 0 {
		c.countShared(f)
	}
	if x := c.challenges.at(f.server.slot); f.Asked.Has(dissect.AskInfo) && !x.isDemanded {
		x.isDemanded = true
		c.Report(serverOnly(f.Fact), f.Request, finding.Expert{Code: pairCodes(f.Proto).Demanded}, false)
	}
}

// countShared counts a challenge and the address to which it is given.
func (c *shared) countShared(f *view) {
	x := c.challenges.at(f.server.slot)
	key := uint32(f.Key)
	x.all++
	if key == x.challenge {
		x.votes++
	} else if x.votes--; x.votes < 0 {
		*x = sharedChallenge{challenge: key, all: 1, first: f.Frame, isReported: x.isReported, isDemanded: x.isDemanded}
	}
	if key != x.challenge {
		return
	}
	x.given++
	client := Host(f.Client.Addr().As16())
	if int(x.addresses) < len(x.to) && !slices.Contains(x.to[:x.addresses], client) {
		x.to[x.addresses] = client
		x.addresses++
	}
	if x.isReported || uint32(x.addresses) < sharedWith || x.all < sharedOf || 100*uint64(x.given) < uint64(sharedShare)*uint64(x.all) {
		return
	}
	x.isReported = true
	c.Report(serverOnly(f.Fact), x.first, finding.Expert{Code: pairCodes(f.Proto).Shared, A: uint64(key), B: uint64(x.given)<<32 | uint64(x.all)}, false)
}

const (
	// limit: sharedAddresses is how many addresses with one challenge are counted: as many as the finding
	// needs (sharedWith).
	sharedAddresses = 8
	// limit: A server shares a challenge if it gives it to sharedWith addresses or more, and if it makes
	// up sharedShare percent of sharedOf challenges or more: a single address behind NAT or a proxy gets
	// the same challenge for ever.
	sharedWith  = 8
	sharedOf    = 16
	sharedShare = 90
)
