package track

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// joins finds servers to which a master server gives no challenge.
type joins struct {
	*Hosts
	joins *lru.Table[pairKey, joining]
}

func newJoins(h *Hosts) check {
	c := &joins{Hosts: h, joins: newTable[pairKey, joining](h, maxJoins)}
	return check{wants: []want{{noJoin, c.addUnansweredJoin}, {joinChallenge, c.addJoin}}}
}

// joining is a server that asks a master server for a challenge in vain.
type joining struct {
	first    uint64 // frame of the first request
	age      int64  // and its age
	n        uint8
	isJoined bool // it was given one, or the finding was raised
}

// addUnansweredJoin adds a request for a challenge of which nobody answered any repetition, and raises that a master server
// gave none to this server.
func (c *joins) addUnansweredJoin(f *view) {
	code := pairCodes(f.Proto).Unjoined
	if code == nil {
		return
	}
	k := pairOf(f.Fact)
	j := c.joins.Get(k)
	if j == nil {
		j, _ = c.joins.Put(k)
		j.first, j.age = f.ID, f.Began
	}
	if j.isJoined {
		return
	}
	if j.n = min(j.n, 254) + 1; j.n < minUnjoined {
		return
	}
	j.isJoined = true
	c.Report(f.Fact, j.first, finding.Expert{Code: code, A: uint64(j.n), B: uint64(max(f.Age-j.age, 0))}, c.replyAge == never || c.isUnsure(j.age))
}

// addJoin records that a master server gave a server a challenge.
func (c *joins) addJoin(f *view) {
	if pairCodes(f.Proto).Unjoined == nil {
		return
	}
	j, _ := c.joins.Put(pairOf(f.Fact))
	j.isJoined = true
}

const (
	// limit: maxJoins is how many pairs of a master server and a server that joins it are kept. Chosen: a
	// server joins three.
	maxJoins = 256
	// limit: minUnjoined is how many attempts to join in a row a master must leave unanswered, each with
	// its repetitions.
	minUnjoined = 2
)
