package remark

import (
	"bytes"
	"testing"
)

func TestAimed(t *testing.T) {
	for n, want := range []string{
		"",
		"qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds 1 time: nothing is missing, it took longer\n",
		"qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds 2 times: nothing is missing, it took longer\n",
	} {
		var b bytes.Buffer
		if PrintRekeyed(&b, uint64(n)); b.String() != want {
			t.Errorf("%d\ngot  %q\nwant %q", n, b.String(), want)
		}
	}
}
