package flood

import (
	"cmp"
	"slices"
)

// Cost is what rules would have cost real clients while a flood lasted, as the clients feel it: a player
// loses packets of the game, a visitor an answer. A visitor that loses its first query gets no challenge,
// and has nothing to bring back: one lost packet is a lost exchange.
type Cost struct {
	Players    int // the server sends them the game
	PlayersHit int // of these, lost 1 in TouchedShare packets or more
	Known      int // other clients that had proved their address before the detection
	KnownHit   int // of these, lost an answer
	New        int // clients that proved it for the first time after the detection
	NewHit     int // of these, lost an answer; what came before their proof is estimated where it is unknown
}

// ClientLoss is what one client would have lost by the rules against one incident.
type ClientLoss struct {
	Client   uint64 // a hash of its address, the same in all incidents of a run
	Packets  uint32 // it sent, of those that rules may drop and of the game
	Lost     uint32 // of these, after it had proved its address
	IsPlayer bool
	IsNew    bool
	First    FirstQuery
}

// FirstQuery is what the rules would have done to the packet with which a new client began.
type FirstQuery uint8

// The fates of a first packet.
const (
	FirstPassed  FirstQuery = iota
	FirstUnknown            // too many others came before the client proved its address
	FirstDropped
)

// ClientLosses are those of all clients by the rules against one incident.
type ClientLosses struct {
	All []ClientLoss
	// FloodShare is the share of the flood that the rules drop: what can be expected of the first packets of
	// new clients where none is known, because these look like the flood.
	FloodShare float64
}

// CostOf sums up what clients lose by the rules against several incidents that are loaded together: a
// client is hit if one of them hits it, or all of them do in sum. Rules against different floods look at
// different packets, so that nearly none is dropped twice.
func CostOf(incidents ...ClientLosses) (c Cost) {
	var all []ClientLoss
	expected := 0.0
	for i := range incidents {
		all = append(all, incidents[i].All...)
		expected = max(expected, incidents[i].FloodShare)
	}
	slices.SortStableFunc(all, func(x, y ClientLoss) int { return cmp.Compare(x.Client, y.Client) })
	certain, hit := 0, 0 // of the new ones whose first packet is known
	for i := 0; i < len(all); {
		x := all[i]
		for i++; i < len(all) && all[i].Client == x.Client; i++ {
			x = x.plus(&all[i])
		}
		switch {
		case x.IsPlayer:
			c.Players++
			c.PlayersHit += oneIf(x.Lost > 0 && TouchedShare*uint64(x.Lost) >= uint64(x.Packets))
		case !x.IsNew:
			c.Known++
			c.KnownHit += oneIf(x.Lost > 0)
		default:
			c.New++
			certain += oneIf(x.Lost > 0 || x.First != FirstUnknown)
			hit += oneIf(x.Lost > 0 || x.First == FirstDropped)
		}
	}
	if certain > 0 {
		expected = float64(hit) / float64(certain)
	}
	c.NewHit = hit + int(expected*float64(c.New-certain)+0.5)
	return c
}

// plus returns what a client loses by the rules against two incidents.
func (x ClientLoss) plus(y *ClientLoss) ClientLoss {
	x.Packets, x.Lost = max(x.Packets, y.Packets), x.Lost+y.Lost
	x.IsPlayer, x.IsNew = x.IsPlayer || y.IsPlayer, x.IsNew && y.IsNew
	x.First = max(x.First, y.First)
	return x
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TouchedShare: a player who loses less than one packet in so many is not hit. Chosen: one lost packet of
// a thousand of the game is not noticed.
const TouchedShare = 100
