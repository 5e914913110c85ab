package track

import (
	"fmt"
	"strings"
	"testing"
)

// limitScript makes scripts for a server that admits some requests of a window and none after these.
type limitScript struct {
	ports   int     // from which requests come
	clients string  // letters of addresses from which they come, in turn
	all     int     // admitted requests
	refused int     // after these
	pace    float64 // seconds between two requests
	back    float64 // when the server answers again, seconds from the first
	idle    float64 // seconds before the first
}

// String is the script: a request that is answered long before, and the window.
func (x limitScript) String() string {
	at, i := x.idle, 0
	who := func() string {
		i++
		return fmt.Sprintf("%c%d", x.clients[i%len(x.clients)], i%x.ports)
	}
	answered := func(at float64, c string) string {
		return fmt.Sprintf("%[1]f %[2]s>A U ask | %[1]f %[2]s<A A challenge 7 asked=1 | %[1]f %[2]s>A U echo 7 | %[1]f %[2]s<A D answer trip=1 brought=1", at, c)
	}
	lines := []string{answered(0, who())}
	for range x.all / 2 {
		lines = append(lines, answered(at, who()))
		at += 2 * x.pace
	}
	for range x.refused {
		lines = append(lines, fmt.Sprintf("%f %s>A U ask", at, who()))
		at += x.pace
	}
	return strings.Join(append(lines, answered(x.idle+x.back, who())), " | ")
}

// TestEngineLimits: replies that end and begin again as the limiters of engines have it, and other silences.
func TestEngineLimits(t *testing.T) {
	ofAll := limitScript{ports: 4, clients: "abcdefghijklmnopqrstuvwx", all: 1800, refused: 40, pace: 0.01, back: 31, idle: 100}
	ofOne := limitScript{ports: 9, clients: "a", all: 90, refused: 20, pace: 0.2, back: 31, idle: 100}
	with := func(x limitScript, change func(*limitScript)) limitScript {
		change(&x)
		return x
	}
	for _, x := range []struct {
		name   string
		script limitScript
		want   string
	}{
		{"source", ofAll, "DOS-L01 error [3605 3646]"},
		{"rehlds", with(ofAll, func(x *limitScript) { x.pace, x.back = 0.03, 61 }), "DOS-L01 error [3605 3646]"},
		{"csgo", with(ofAll, func(x *limitScript) { x.all, x.pace = 15_000, 0.001 }), "DOS-L01 error [30005 30046]"},
		{"fewer than any limit", with(ofAll, func(x *limitScript) { x.all = 1700 }), ""},
		{"more than the limit", with(ofAll, func(x *limitScript) { x.all = 1900 }), ""},
		{"too few refused", with(ofAll, func(x *limitScript) { x.refused = leastRefused - 2 }), ""},
		{"back before the window is over", with(ofAll, func(x *limitScript) { x.back = 25 }), ""},
		{"back long after", with(ofAll, func(x *limitScript) { x.back = 40 }), ""},
		{"the window may have begun before", with(ofAll, func(x *limitScript) { x.idle = 5 }), ""},
		{"one address", ofOne, "DOS-L02 warn [185 206]"},
		{"one address, csgo", with(ofOne, func(x *limitScript) { x.all, x.pace = 300, 0.05 }), "DOS-L02 warn [605 626]"},
		{"of one port", with(ofOne, func(x *limitScript) { x.ports = 1 }), ""},
		{"one address, fewer", with(ofOne, func(x *limitScript) { x.all = 80 }), ""},
		{"one address, too few refused", with(ofOne, func(x *limitScript) { x.refused = leastOfOne - 2 }), ""},
	} {
		got, texts := tell(t, NewHosts(1), x.script.String())
		var found []string
		for _, s := range got {
			if strings.HasPrefix(s, "DOS-L") {
				found = append(found, s)
			}
		}
		if s := strings.Join(found, ", "); s != x.want {
			t.Errorf("%s\ngot  %s %s\nwant %s", x.name, s, texts, x.want)
		}
	}
}
