package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/flood"
)

func TestParse(t *testing.T) {
	want := flood.Defaults()
	want.BurstRate, want.SlowTicks, want.Quiet, want.FewShare = 250, 7, 2*time.Minute, 0.75
	got, err := Parse("# mine\nburst_rate = 250\nslow_ticks = 7\nquiet = \"2m\"\nfew_share = 0.75\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"unknown", "burst_rat = 1", `"burst_rat" is no threshold`},
		{"unknown table", "[floods]\nburst_rate = 1", `"floods" is no threshold`},
		{"not TOML", "burst_rate 1", "line 1: expected"},
		{"no value", "a = 1\nburst_rate =", "line 2: "},
		{"twice", "burst_rate = 1\nburst_rate = 2", "line 2: "},
		{"text for a number", `burst_rate = "many"`, `burst_rate = "many": want a number`},
		{"part of a count", "slow_ticks = 1.5", "slow_ticks = 1.5: want a whole number"},
		{"a number for a time", "quiet = 75", `quiet = 75: want a length of time as "75s"`},
		{"no time", `quiet = "soon"`, `quiet = "soon": want a length of time as "75s"`},
		{"negative", "burst_rate = -1", "burst_rate = -1: below 0"},
		{"zero", "fast_ticks = 0", "fast_ticks = 0: must be above 0"},
		{"a list", "burst_rate = [1]", "burst_rate = [1]: want a number"},
		{"negative count", "lone_packets = -1", "want a whole number"},
		{"too large", "slow_ticks = 99999999999", "want a whole number"},
		{"terminal sequence", `"\u001b[31m" = 1`, `"\x1b[31m" is no threshold`},
		{"infinite", "surge_rate = inf", "surge_rate = +Inf: not a number"},
		{"no number", "surge_rate = nan", "surge_rate = NaN: not a number"},
		{"share", "few_share = 60", "few_share = 60: a share is 1 at most"},
		{"contradiction", "scan_dead = 26", "scan_dead = 26: above scan_targets = 25"},
		{"more than is remembered", "rcon_failures = 65", "the last 64 refused logins"},
		{"short quiet", `quiet = "10ms"`, `quiet = "10ms": below a second`},
	} {
		_, err := Parse(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

// TestAppend: the file with the defaults says what is in use, and what is set in one
// is set in the file written from it.
func TestAppend(t *testing.T) {
	text := string(Append(nil, flood.Defaults()))
	for line := range strings.Lines(text) {
		if line != "\n" && !strings.HasPrefix(line, "#") || len(line) > 81 {
			t.Errorf("%q", line)
		}
	}
	active := strings.Builder{} // every default is a value that is read
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			active.WriteString(line[1:])
		}
	}
	got, err := Parse(active.String())
	if diff := cmp.Diff(flood.Defaults(), got); err != nil || diff != "" {
		t.Errorf("error %v; want -, got +\n%s", err, diff)
	}
	for _, s := range flood.Defaults().Settings() {
		if !strings.Contains(active.String(), s.Name+" = ") || s.Name == "" || s.Doc == "" {
			t.Errorf("%q is not in the file, or without a word about it", s.Name)
		}
	}
	want := flood.Defaults()
	want.Quiet, want.JunkShare = 30*time.Second, 0.9
	got, err = Parse(string(Append(nil, want)))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v; want -, got +\n%s", err, diff)
	}
}
