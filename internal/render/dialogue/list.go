package dialogue

// list is a list of dialogues in the order in which they began.
type list struct{ first, last *dialogue }

// append adds d, which began last, at the end.
func (l *list) append(d *dialogue) { l.insertAfter(d, l.last) }

// insert puts d where it belongs by the order in which dialogues began.
func (l *list) insert(d *dialogue) {
	at := l.last
	for at != nil && at.seq > d.seq {
		at = at.prev
	}
	l.insertAfter(d, at)
}

// insertAfter puts d after at, or before all where that is nil.
func (l *list) insertAfter(d, at *dialogue) {
	d.in, d.prev = l, at
	if at == nil {
		d.next, l.first = l.first, d
	} else {
		d.next, at.next = at.next, d
	}
	if d.next == nil {
		l.last = d
	} else {
		d.next.prev = d
	}
}

// remove takes d out of the list.
func (l *list) remove(d *dialogue) {
	if d.prev == nil {
		l.first = d.next
	} else {
		d.prev.next = d.next
	}
	if d.next == nil {
		l.last = d.prev
	} else {
		d.next.prev = d.prev
	}
	d.prev, d.next = nil, nil
}
