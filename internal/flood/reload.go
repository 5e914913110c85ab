package flood

// SetThresholds replaces the thresholds between two sightings. What was measured stays, and so do
// the incidents that are open: they are judged by the new ones from the next second on. A run that
// began with lim and one that changed to it differ in what the old ones had begun to watch closely.
func (d *Detector) SetThresholds(lim Thresholds) {
	d.book.lim = lim
	d.rules, d.own.rules = newRulebook(&lim), newOwnRulebook(&lim)
	d.others.limits = limitsOfOthers(&lim)
}
