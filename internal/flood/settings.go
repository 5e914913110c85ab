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
