package dialogue

import "qsniff/internal/base/lru"

// limitText cuts t to its stub if its dialogue is not in the sample. A hash of its id decides
// about a dialogue, so that one in the sample has all of its texts. Each time that texts exceed
// MaxText, half as many dialogues are in the sample.
func (c *Collector) limitText(d *dialogue, t *Turn) {
	n := max(0, len(t.Text)-c.opt.Stub)
	if d.turns.count == 0 {
		d.isStub = !c.isSampled(d)
	}
	for !d.isStub && c.textBytes+n > c.opt.MaxText {
		c.sampleLevel++
		c.cutTexts()
		d.isStub = !c.isSampled(d)
	}
	if d.isStub {
		t.Text = t.Text[:len(t.Text)-n]
		return
	}
	d.text += n
	c.textBytes += n
	c.bytes -= n // they have a limit of their own
}

// isSampled reports whether d is one of those that have texts: one in 2^sampleLevel.
func (c *Collector) isSampled(d *dialogue) bool {
	return c.sampleLevel < 64 && lru.Mix(1, d.key.id)&(1<<c.sampleLevel-1) == 0
}

// cutTexts cuts the turns of the dialogues that are not in the sample any more.
func (c *Collector) cutTexts() {
	for _, l := range [...]*list{&c.exchanges, &c.streams, &c.closed} {
		for d := l.first; d != nil; d = d.next {
			if !d.isStub && !c.isSampled(d) {
				d.isStub = true
				c.textBytes -= d.text
				d.text = 0
				c.store.cut(&d.turns, c.opt.Stub)
			}
		}
	}
}

// releaseTexts counts the texts of d no longer. When the others take less than a quarter of
// MaxText, twice as many of the dialogues that begin from then on are in the sample.
func (c *Collector) releaseTexts(d *dialogue) {
	c.textBytes -= d.text
	d.text = 0
	if c.textBytes < c.opt.MaxText/4 && c.sampleLevel > 0 {
		c.sampleLevel--
	}
}
