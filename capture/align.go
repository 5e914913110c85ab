package capture

// Aligner is a Source of several inputs whose clocks may differ. Before the first Read the first
// packets of all inputs can be looked at, and stamps of inputs corrected.
type Aligner interface {
	// Look calls look with the first packets of each input, in the order of each.
	Look(look func(input int, p *Packet))
	// Shift adds nanoseconds to all stamps of an input.
	Shift(input int, nanos int64)
}

// Look implements Aligner. Of many inputs, as the files of a ring, it looks at none.
func (m *merger) Look(look func(input int, p *Packet)) {
	if len(m.inputs) > alignedInputs {
		return
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		for n := 0; n < alignedBatches && in.err == nil; n++ {
			var b Batch
			in.err = in.source.Read(&b)
			for k := range b.Packets {
				look(i, &b.Packets[k])
			}
			in.looked = append(in.looked, b)
			if len(b.Packets) == 0 && len(b.Gaps) == 0 {
				break // it waits for input
			}
		}
	}
}

// Shift implements Aligner.
func (m *merger) Shift(input int, nanos int64) {
	in := &m.inputs[input]
	in.shift += nanos
	if in.head > 0 {
		in.head += nanos
	}
	m.buildHeap()
}

// read fills the batch of in with its next packets.
func (in *input) read() {
	if len(in.looked) > 0 {
		in.batch, in.looked = in.looked[0], in.looked[1:]
	} else if in.err == nil {
		in.err = in.source.Read(&in.batch)
	}
	for i := range in.batch.Packets {
		in.batch.Packets[i].Nanos += in.shift
	}
}
