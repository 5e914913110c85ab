package a2s

import (
	"testing"

	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
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
		{"exactly the word", `ffffffff 45 0100 "password" 00 "geheim" 00`, true},
		{"exactly the word, a flag", `ffffffff 45 0100 "password" 00 "0" 00`, false},
		{"a flag in words", `ffffffff 45 0100 "haspassword" 00 "False" 00`, false},
		{"colours around the name", `ffffffff 45 0100 "^2rcon_password^7:" 00 "geheim" 00`, true},
		{"a number at its end", `ffffffff 45 0100 "sv_password_2" 00 "geheim" 00`, true},
		{"an account's token", `ffffffff 45 0100 "sv_setsteamaccount" 00 "0123ABCD" 00`, true},
		{"a name that only looks alike", `ffffffff 45 0100 "PasswordNeeded" 00 "maybe" 00`, false},
		{"one other letter", `ffffffff 45 0100 "sv_password" 00 "x" 00`, true},
		{"another rule", `ffffffff 45 0100 "hostname" 00 "geheim" 00`, false},
	} {
		b := hextest.Bytes(t, tc.in)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		dissecttest.CheckInvariants(t, m)
		if hidden, shown := m.Find(&defRuleSecret) != nil, m.Find(&defRuleValue) != nil; hidden != tc.hidden || shown == tc.hidden {
			t.Errorf("%s: hidden %v, shown %v", tc.name, hidden, shown)
		}
	}
}
