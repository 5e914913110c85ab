package track

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// unrequested is the replies of a server to an address that asked for none. Under the key of no
// server it is what all servers together sent to the address.
type unrequested struct {
	ages       [unrequestedReplies]int64 // of the last ones, the latest first
	frames     [unrequestedReplies]uint64
	n          uint8
	servers    uint32 // of all servers together: that sent any
	isReported bool
}

// addUnrequested adds information that no request in the capture caused, and raises that a server
// sends much of it to an address which asks nobody. Of an address that gets it from many servers
// nothing is raised: somebody uses them against it, or forges them all.
func (h *Hosts) addUnrequested(f *Fact) {
	if !f.Type.Asks.Has(dissect.AskInfo) || f.Type.Asks.Has(dissect.AskChallenge) {
		return
	}
	k := pairOf(f)
	u, evicted := h.unrequested.Put(k)
	if evicted != nil {
		h.evicted++
	}
	isNew := u.n == 0
	copy(u.ages[1:], u.ages[:])
	copy(u.frames[1:], u.frames[:])
	u.ages[0], u.frames[0] = f.Age, f.Frame
	u.n = min(u.n+1, unrequestedReplies)
	if isNew {
		all, _ := h.unrequested.Put(pairKey{client: k.client})
		all.servers++
		return
	}
	last := unrequestedReplies - 1
	if u.isReported || u.n < unrequestedReplies || f.Age-u.ages[last] > int64(unrequestedFor) {
		return
	}
	since := u.ages[last] - quietFor
	asked := h.askers.Peek(k.client)
	all := h.unrequested.Get(pairKey{client: k.client})
	if asked != nil && *asked >= since || h.notes.lostAge >= since || h.firstAge > since || all == nil || all.servers > unrequestedServers {
		return
	}
	u.isReported = true
	// Neither a request to the server nor one of the client: perhaps the capture has one direction.
	isOneWay := asked == nil && h.servers.Peek(k.server) == nil
	h.raise(f, u.frames[last], finding.Expert{Code: &Unrequested, A: unrequestedReplies, B: uint64(f.Age - u.ages[last])}, isOneWay || h.isUnsure(since))
}

// addAsker records that an address asked at age.
func (h *Hosts) addAsker(client Host, age int64) {
	at, evicted := h.askers.Put(client)
	if evicted != nil {
		h.notes.lostAge = max(h.notes.lostAge, evicted.Val)
	}
	*at = max(*at, age)
}
