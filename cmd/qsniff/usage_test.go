package main

import "testing"

func TestReflow(t *testing.T) {
	const in = "one two three\nfour five\n\n  as it\n  stands here\n\nüüü é averyverylongword x\n"
	const want = "one two\nthree four\nfive\n\n  as it\n  stands here\n\nüüü é\naveryverylongword\nx"
	if got := reflow(in, 10); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
