package measure

import (
	"regexp"
	"testing"
)

// TestNames: each feature has a name of its own, fit for a column.
func TestNames(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[string]Feature{}
	for f := range NumFeatures {
		name := f.Name()
		if other, is := seen[name]; is || !word.MatchString(name) {
			t.Errorf("feature %d is called %q, as is feature %d", f, name, other)
		}
		seen[name] = f
	}
}
