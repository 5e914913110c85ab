package cli

import "testing"

// TestVersion: every way to build the program leaves a version that is true: tags, commits, and
// archives whose version the packager gives.
func TestVersion(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for _, x := range []struct{ module, revision, packaged, want, wantTime string }{
		{module: "v0.1.0", revision: hash, want: "v0.1.0"},
		{module: "v0.1.0", want: "v0.1.0"}, // go install MODULE/cmd/qsniff@v0.1.0
		{module: "v0.2.0-rc.1", revision: hash, want: "v0.2.0-rc.1"},
		{module: "v0.1.0+dirty", revision: hash, want: "v0.1.0, changed since"},
		{module: "v0.0.0-20261123093809-b9c838b0a1b2", revision: hash, want: "0123456789ab", wantTime: "2026-11-23T09:38:09Z"},
		{module: "v0.0.0-20261123093809-b9c838b0a1b2", want: "b9c838b0a1b2", wantTime: "2026-11-23T09:38:09Z"}, // @b9c838b
		{module: "v0.1.1-0.20261123093809-b9c838b0a1b2", want: "b9c838b0a1b2", wantTime: "2026-11-23T09:38:09Z"},
		{module: "v0.2.0-rc.1.0.20261123093809-b9c838b0a1b2+dirty", want: "b9c838b0a1b2, changed since", wantTime: "2026-11-23T09:38:09Z"},
		{module: "(devel)", revision: hash, want: "0123456789ab"},
		{module: "(devel)", want: "of an unknown revision"},
		{module: "(devel)", packaged: "v0.1.0", want: "v0.1.0"},
	} {
		var b Build
		b.setVersion(x.module, x.packaged)
		if x.revision != "" {
			b.Revision = x.revision
		}
		if got := b.Short(); got != x.want || b.Time != x.wantTime {
			t.Errorf("%+v: %q of %q", x, got, b.Time)
		}
	}
}
