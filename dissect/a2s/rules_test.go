package a2s

import (
	"testing"

	"qsniff/internal/dissecttest"
	"qsniff/internal/hextest"
)

// Whether a password is set is no secret; the password is.
func TestRulesHidePasswords(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		hidden   bool
	}{
		{"set or not", `ffffffff 45 0100 "sv_password" 00 "1" 00`, false},
		{"empty", `ffffffff 45 0100 "sv_password" 00 00`, false},
		{"the password", `ffffffff 45 0100 "rcon_password" 00 "geheim" 00`, true},
		{"one other letter", `ffffffff 45 0100 "sv_password" 00 "x" 00`, true},
		{"another rule", `ffffffff 45 0100 "hostname" 00 "geheim" 00`, false},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.Invariants(t, m)
		if hidden, shown := m.Find(&defRuleSecret) != nil, m.Find(&defRuleValue) != nil; hidden != tc.hidden || shown == tc.hidden {
			t.Errorf("%s: hidden %v, shown %v", tc.name, hidden, shown)
		}
	}
}
