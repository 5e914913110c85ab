package flood

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Setting is a threshold as files and reports have it.
type Setting struct {
	Name    string // in files
	Value   string // in the syntax of a file
	Default string
	Doc     string
}

// Settings lists the thresholds in the order of their declaration.
func (t Thresholds) Settings() []Setting {
	now, usual := reflect.ValueOf(t), reflect.ValueOf(Defaults())
	var all []Setting
	for i := range now.NumField() {
		f := now.Type().Field(i)
		all = append(all, Setting{Name: f.Tag.Get("toml"), Doc: docWindows.Replace(f.Tag.Get("doc")),
			Value: formatValue(now.Field(i)), Default: formatValue(usual.Field(i))})
	}
	return all
}

// docWindows fills in the rates and times that the docs of thresholds mention.
var docWindows = strings.NewReplacer("{quick}", strconv.Itoa(urgentRate), "{window}", formatSpan(rconWindow), "{all}", formatSpan(rconAll))

// formatSpan returns a length of time in hours, minutes or seconds: "10 minutes".
func formatSpan(seconds int) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d > time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d s", seconds)
}

// formatValue returns a value as TOML writes it.
func formatValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return strconv.Quote(x.String())
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return fmt.Sprint(x)
	}
}

// setting returns the value of the threshold with that name in files, of a duration in
// seconds; NaN if there is none.
func (t Thresholds) setting(name string) float64 {
	v := reflect.ValueOf(t)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("toml") != name {
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case time.Duration:
			return x.Seconds()
		case float64:
			return x
		default:
			n, _ := strconv.ParseFloat(fmt.Sprint(x), 64)
			return n
		}
	}
	return math.NaN()
}

// Set sets the threshold with that name in files. known reports whether there is one; the
// error is about the type of value.
func (t *Thresholds) Set(name string, value any) (known bool, err error) {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("toml") == name {
			return true, assign(v.Field(i), name, value)
		}
	}
	return false, nil
}

// assign sets a field to a value as TOML decodes it: an int64, a float64 or a string.
func assign(field reflect.Value, name string, value any) error {
	wrong := func(want string) error {
		if text, ok := value.(string); ok {
			value = strconv.Quote(text)
		}
		return fmt.Errorf("%s = %v: want %s", name, value, want)
	}
	n, whole := value.(int64)
	x, number := value.(float64)
	switch field.Interface().(type) {
	case time.Duration:
		text, ok := value.(string)
		d, err := time.ParseDuration(text)
		if !ok || err != nil {
			return wrong(`a length of time as "75s"`)
		}
		field.SetInt(int64(d))
	case float64:
		if whole {
			x = float64(n)
		} else if !number {
			return wrong("a number")
		}
		field.SetFloat(x)
	case uint32:
		if !whole || n < 0 || n > math.MaxUint32 {
			return wrong("a whole number")
		}
		field.SetUint(uint64(n))
	default:
		if !whole || n > math.MaxInt32 {
			return wrong("a whole number")
		}
		field.SetInt(n)
	}
	return nil
}

// shareSettings are the thresholds that are shares, 1 at most.
var shareSettings = map[string]bool{"junk_share": true, "bypass_share": true, "few_share": true, "victim_share": true, "scan_share": true}

// zeroSettings are the thresholds that may be 0: no campaigns, and no answers needed.
var zeroSettings = map[string]bool{"campaign": true, "ans": true}

// Check returns an error for the first threshold whose value is not allowed, or pair of
// thresholds that contradict each other.
func (t Thresholds) Check() error {
	for _, s := range t.Settings() {
		v := t.setting(s.Name)
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("%s = %s: not a number", s.Name, s.Value)
		case v < 0:
			return fmt.Errorf("%s = %s: below 0", s.Name, s.Value)
		case v == 0 && !zeroSettings[s.Name]:
			return fmt.Errorf("%s = %s: must be above 0", s.Name, s.Value)
		case v > 1 && shareSettings[s.Name]:
			return fmt.Errorf("%s = %s: a share is 1 at most", s.Name, s.Value)
		}
	}
	for _, pair := range [][2]string{{"suspect_score", "many_score"}, {"scan_dead", "scan_targets"},
		{"rcon_passwords", "rcon_failures"}, {"rcon_all_passwords", "rcon_all_failures"}} {
		if small, large := t.setting(pair[0]), t.setting(pair[1]); small > large {
			return fmt.Errorf("%s = %g: above %s = %g", pair[0], small, pair[1], large)
		}
	}
	switch {
	case t.RconFailures > rconKept || t.RconAllFailures > rconKept:
		return fmt.Errorf("rcon_failures = %d, rcon_all_failures = %d: the last %d refused logins of a server are kept, so neither can be larger", t.RconFailures, t.RconAllFailures, rconKept)
	case t.Quiet < time.Second:
		return fmt.Errorf("quiet = %q: below a second", t.Quiet)
	case t.Campaign > 0 && t.Campaign < time.Second:
		return errors.New(`campaign is below a second; "0s" is for none`)
	}
	return nil
}

// Thresholds are the numbers in verdicts that users can set. The zero value is not usable;
// start from Defaults. The toml tags are the names in files.
//
// Rates are per second. A window is the last 10 to 20 seconds, which sketches cover.
type Thresholds struct {
	// Alarms: cheap tests each second, for each server. An alarm only asks for a
	// verdict: crowds raise it as well as attacks.
	BurstRate     float64 `toml:"burst_rate" doc:"queries/s for two seconds running, at least burst_factor times the baseline"`
	BurstFactor   float64 `toml:"burst_factor" doc:"times the baseline"`
	SurgeRate     float64 `toml:"surge_rate" doc:"queries/s in one second, at least surge_factor times the baseline (CS:GO's own ceiling is 500)"`
	SurgeFactor   float64 `toml:"surge_factor" doc:"times the baseline"`
	SlowRate      float64 `toml:"slow_rate" doc:"queries/s over ten seconds, at least slow_factor times the baseline (GoldSource's own ceiling is 30)"`
	SlowFactor    float64 `toml:"slow_factor" doc:"times the baseline"`
	DriftSum      float64 `toml:"drift_sum" doc:"queries above a slowly raised baseline that add up to an alarm"`
	LonePackets   uint32  `toml:"lone_packets" doc:"queries of one source in the window that raise an alarm if it sends half of all (100 made a server vanish from lists)"`
	BadChallenges float64 `toml:"bad_challenges" doc:"challenge_bypass: wrong challenges within three seconds"`

	// Verdicts.
	JunkRate         float64 `toml:"junk_rate" doc:"junk_flood: datagrams/s that are nothing known"`
	JunkShare        float64 `toml:"junk_share" doc:"junk_flood: share of what the target gets, a flood of queries aside"`
	BypassRate       float64 `toml:"bypass_rate" doc:"challenge_bypass: wrong challenges/s over ten seconds"`
	BypassShare      float64 `toml:"bypass_share" doc:"challenge_bypass: share of all requests with a challenge"`
	Amplified        float64 `toml:"amp" doc:"reflection: bytes sent for bytes received"`
	AnsweredLeast    float64 `toml:"ans" doc:"reflection: replies for requests"`
	ReflectRate      float64 `toml:"reflect_rate" doc:"reflection: queries/s over ten seconds"`
	ReflectSource    float64 `toml:"reflect_source" doc:"reflection: queries/s of the busiest victim"`
	ReflectScore     float64 `toml:"reflect_score" doc:"reflection: points of evidence"`
	FewShare         float64 `toml:"few_share" doc:"flood_few: share of the eight busiest sources"`
	FewUnproven      float64 `toml:"few_unproven" doc:"flood_few: queries/s of a source that did not prove its address"`
	FewProven        float64 `toml:"few_proven" doc:"flood_few: queries/s of a source that did"`
	FewPrefix        float64 `toml:"few_prefix" doc:"flood_few: queries/s of one /24 (IPv6: /64)"`
	ManyScore        float64 `toml:"many_score" doc:"flood_spoofed and flood_distributed: points of evidence"`
	SuspectScore     float64 `toml:"suspect_score" doc:"flood_suspect: points of evidence"`
	VictimRate       float64 `toml:"victim_rate" doc:"reply_flood_victim: replies/s that nobody asked for, over ten seconds"`
	VictimBurst      float64 `toml:"victim_burst" doc:"reply_flood_victim: likewise, in one second"`
	VictimShare      float64 `toml:"victim_share" doc:"reply_flood_victim: share of all replies to the host"`
	ScanTargets      int     `toml:"scan_targets" doc:"scan: different addresses and ports"`
	ScanDead         int     `toml:"scan_dead" doc:"scan: of them without an answer"`
	ScanShare        float64 `toml:"scan_share" doc:"scan: share of them without an answer"`
	SurveyTargets    int     `toml:"survey_targets" doc:"survey: different addresses and ports, most of which answer"`
	RconFailures     int     `toml:"rcon_failures" doc:"rcon_bruteforce: refused logins of one source in {window}"`
	RconPasswords    int     `toml:"rcon_passwords" doc:"rcon_bruteforce: different passwords in them"`
	RconAllFailures  int     `toml:"rcon_all_failures" doc:"rcon_bruteforce: refused logins of all sources in {all}"`
	RconAllPasswords int     `toml:"rcon_all_passwords" doc:"rcon_bruteforce: different passwords in them"`
	AmplifierAnswers int     `toml:"amplifier_answers" doc:"open_amplifier: answers to sources that proved nothing"`
	OtherScale       float64 `toml:"other_scale" doc:"other_flood: times the packets/s that a class of packets must have at least"`
	OtherFactor      float64 `toml:"other_factor" doc:"other_flood: times the usual rate"`

	// Incidents.
	FastTicks int           `toml:"fast_ticks" doc:"seconds a verdict must hold at {quick} queries/s and more"`
	SlowTicks int           `toml:"slow_ticks" doc:"seconds a verdict must hold below"`
	WarnTicks int           `toml:"warn_ticks" doc:"seconds a warning or a note must hold"`
	Quiet     time.Duration `toml:"quiet" doc:"an incident is over when nothing qualified for so long (pulses come up to 60 s apart)"`
	Campaign  time.Duration `toml:"campaign" doc:"incidents of one family and target this close are one campaign"`
}

// Defaults returns the default thresholds, with the origin of each. "Scenarios" are those of
// the tests: a number without a measurement or a specification was chosen on them.
func Defaults() Thresholds {
	return Thresholds{
		BurstRate: 100, BurstFactor: 8, // 100 queries made an Unturned server vanish from lists; scenarios
		SurgeRate: 500, SurgeFactor: 20, // CS:GO answers 500/s in all (sv_max_queries_sec_global)
		SlowRate: 30, SlowFactor: 4, // GoldSource answers 30/s in all (max_queries_sec_global)
		DriftSum:      400, // scenarios: floods that stay below slow_rate
		LonePackets:   100, // as burst_rate
		BadChallenges: 20,  // scenarios

		JunkRate: 20, JunkShare: 0.5, // a filter in use at game hosts passes 20/s; scenarios
		BypassRate: 2, BypassShare: 0.5, // an old challenge is brought once a poll; scenarios
		Amplified:     2,                   // a challenge is 0.36 times its request, server info 7.1 times
		AnsweredLeast: 0.2,                 // scenarios: servers with limits of their own
		ReflectRate:   5, ReflectSource: 3, // engines answer 3/s to a source (sv_max_queries_sec)
		ReflectScore: 3,                 // scenarios
		FewShare:     0.6,               // scenarios
		FewUnproven:  10,                // three times what engines answer; CS:GO answers 10/s to a source
		FewProven:    20, FewPrefix: 50, // scenarios: several players behind one address
		ManyScore: 3, SuspectScore: 1.5, // scenarios
		VictimRate: 20, VictimBurst: 200, VictimShare: 0.7, // scenarios: list refreshes
		ScanTargets: 25, ScanDead: 20, ScanShare: 0.5, // Zeek's scan policy: 25 hosts
		SurveyTargets: 300,                  // scenarios
		RconFailures:  10, RconPasswords: 5, // ReHLDS bans after 10 failures
		RconAllFailures: 30, RconAllPasswords: 10, // Zeek's policy for SSH: 30 failures in 30 minutes
		AmplifierAnswers: 100, // chosen: enough for a measured factor
		OtherScale:       1,
		OtherFactor:      10, // chosen: a quiet hour and a full server differ by less

		FastTicks: 2, SlowTicks: 4, WarnTicks: 10, // scenarios
		Quiet:    75 * time.Second, // attacks in pulses pause for up to 60 s
		Campaign: 30 * time.Minute, // chosen: what an operator calls one evening's attack
	}
}

// The rates and times that docs of thresholds mention.
const (
	// urgentRate is the rate in packets/s from which on a verdict needs to hold for a
	// shorter time. It is the default of surge_rate.
	urgentRate = 500
	// How long refused logins count, in seconds: rconWindow those of a source (chosen: longer
	// than a guesser can afford to pause), rconAll those of all sources, see
	// rcon_all_failures.
	rconWindow = 600
	rconAll    = 1800
)
