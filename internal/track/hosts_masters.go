package track

import "qsniff/dissect/finding"

// joining is a server that asks a master server for a challenge in vain.
type joining struct {
	first    uint64 // frame of the first request
	age      int64  // and its age
	n        uint8
	isJoined bool // it was given one, or the finding was raised
}

// addUnansweredJoin adds a request for a challenge of which nobody answered any repetition, and raises that a master server
// gave none to this server.
func (h *Hosts) addUnansweredJoin(f *Fact) {
	code := pairCodes(f.Proto).Unjoined
	if code == nil {
		return
	}
	k := pairOf(f)
	j := h.joins.Get(k)
	if j == nil {
		j, _ = h.joins.Put(k)
		j.first, j.age = f.ID, f.Began
	}
	if j.isJoined {
		return
	}
	if j.n = min(j.n, 254) + 1; j.n < minUnjoined {
		return
	}
	j.isJoined = true
	h.raise(f, j.first, finding.Expert{Code: code, A: uint64(j.n), B: uint64(max(f.Age-j.age, 0))}, h.replyAge == never || h.isUnsure(j.age))
}

// addJoin records that a master server gave a server a challenge.
func (h *Hosts) addJoin(f *Fact) {
	if pairCodes(f.Proto).Unjoined == nil {
		return
	}
	j, _ := h.joins.Put(pairOf(f))
	j.isJoined = true
}
