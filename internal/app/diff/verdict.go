package diff

// Name returns the protocol and the message of a kind; of what is no message protocol is empty.
func (r *Result) Name(kind uint16) (protocol, message string) {
	switch k := &r.Kinds[kind]; {
	case k.Type != nil:
		return k.Proto.Name, k.Type.Name
	}
	return "", [numUntyped]string{"other", "split part", "TCP data", "TCP SYN", "TCP SYN and ACK", "TCP FIN", "TCP RST"}[kind]
}

// leastFiltered is how many of a kind have to be lost, and all of them, for it to count as filtered. Chosen: five
// of five are not lost by chance where others arrive.
const leastFiltered = 5

// IsFiltered reports whether nothing of a row arrived while other kinds did that go the same way.
func (r *Result) IsFiltered(row *Row) bool {
	if row.Arrived > 0 || row.Missing() < leastFiltered || row.Way == UnknownWay {
		return false
	}
	for i := range r.Rows {
		o := &r.Rows[i]
		if o.Way == row.Way && o.Server == row.Server && o.Arrived > 0 {
			return true
		}
	}
	return false
}

// Total adds up the rows of a way.
func (r *Result) Total(w Way) *Row {
	var all Row
	for i := range r.Rows {
		if o := &r.Rows[i]; o.Way == w {
			all.Sent, all.Arrived, all.Kept = all.Sent+o.Sent, all.Arrived+o.Arrived, all.Kept+o.Kept
			all.Retransmitted, all.Injected = all.Retransmitted+o.Retransmitted, all.Injected+o.Injected
			all.Late, all.Reordered, all.Changed = all.Late+o.Late, all.Reordered+o.Reordered, all.Changed+o.Changed
			all.Duplicated, all.Appeared, all.Answered = all.Duplicated+o.Duplicated, all.Appeared+o.Appeared, all.Answered+o.Answered
			all.Outside += o.Outside
			all.Slowest = max(all.Slowest, o.Slowest)
		}
	}
	return &all
}

// Usual returns how long datagrams usually take on a way, in nanoseconds.
func (c *Clock) Usual(w Way) int64 { return c.usual[w] }
