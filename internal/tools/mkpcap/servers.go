package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The servers, by kind. Source servers are the first.
const (
	firstOld        = 150 // Source without the size field, compressed rules
	firstGoldSource = 160
	firstASE        = 180
	firstMaster     = 198
	numServers      = 200
)

// Ports other than serverPort.
const (
	asePort    = 22126 // MTA's: 123 above that of the game
	masterPort = 27011
)

// longestReply is the longest datagram that Ethernet carries in one packet.
const longestReply = 1472

// engine decides the forms of a server's replies.
type engine uint8

const (
	source engine = iota
	oldSource
	goldSource
	otherEngine
)

// Part sizes of the engines, in bytes.
const (
	sourcePart     = 1248
	goldSourcePart = 1391
)

// partSize is how many bytes of a message a part carries, by engine.
var partSize = [...]int{source: sourcePart, oldSource: sourcePart, goldSource: goldSourcePart, otherEngine: longestReply}

// server is a server and its state, which changes with each reply.
type server struct {
	endpoint
	index    int
	engine   engine
	room     int    // most bytes of an ASE reply
	script   []step // of its RCON session
	mapName  string
	mapEnds  int64
	slots    int
	roster   []player
	rules    []rule
	splitID  uint32 // of its last reply in parts: the engines count
	features string // its keywords
}

// player is somebody on a server.
type player struct {
	name   string
	score  uint32
	joined int64 // nanoseconds
}

// rule is a variable of a server.
type rule struct {
	name, value string
	live        int // digits of the value that each reply draws anew, after value
}

var (
	maps     = []string{"de_dust2", "cs_office", "cp_badlands", "pl_upward", "crossfire", "surf_ski_2", "koth_harvest_final", "de_nuke", "zm_panic", "ctf_2fort"}
	prefixes = []string{"mp", "sv", "sm", "tf", "tv", "sb", "rcon", "hlstats"}
	subjects = []string{"respawn", "timelimit", "friendly", "autoteam", "voice", "vote", "map", "bonus", "weapon", "round", "spectator", "cheats", "gravity", "password", "upload"}
	aspects  = []string{"enabled", "time", "delay", "limit", "factor", "mode", "interval", "version", "max", "min"}
	values   = []string{"0", "1", "2", "30", "300", "800", "0.5", "1.000", "", "on", "cfg/server.cfg", "1.11.0.6934", "https://example.org/motd", "crossfire,surf_ski_2"}
	keywords = []string{"cp", "ctf", "payload", "increased_maxplayers", "nocrits", "norespawntime", "alltalk", "friendlyfire", "gravity", "replays"}
	tags     = []string{"", "", "", "[FF] ", "=TdA= ", "«GT» ", "|OwN| ", "★ "}
	heads    = []string{"Iron", "Silent", "Lucky", "Captain", "Wild", "Döner", "Nether", "Mad", "El", "Пётр"}
	tails    = []string{"Fox", "Sniper", "Medic", "Gopnik", "Panda", "Potato", "Wizard", "Ninja", "Kebab", "Björn"}
)

// numNames is how many names players choose from.
const numNames = 4096

// world is the servers and who plays on them.
type world struct {
	rng     *rand.Rand
	names   []string
	servers []server
}

func newWorld(seed uint64, now int64) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), names: make([]string, numNames), servers: make([]server, numServers)}
	for i := range w.names {
		w.names[i] = fmt.Sprintf("%s%s%s%d", w.draw(tags), w.draw(heads), w.draw(tails), w.rng.IntN(100))
	}
	for i := range w.servers {
		w.servers[i] = w.newServer(i, now)
	}
	return w
}

func (w *world) draw(from []string) string { return from[w.rng.IntN(len(from))] }

func (w *world) newServer(i int, now int64) server {
	s := server{endpoint: endpoint{serverNet + 1 + uint32(i), serverPort}, index: i, slots: 24 + w.rng.IntN(9),
		features: w.draw(keywords) + "," + w.draw(keywords) + "," + w.draw(keywords)}
	switch {
	case i >= firstMaster:
		s.engine, s.port = otherEngine, masterPort
		return s
	case i >= firstASE:
		s.engine, s.port, s.slots = otherEngine, asePort, 128
		s.room = longestReply // which every third one fills
		if i%3 != 0 {
			s.room = 200 + w.rng.IntN(1000)
		}
	case i >= firstGoldSource:
		s.engine = goldSource
		w.addRules(&s, 80+w.rng.IntN(40), false)
	case i >= firstOld:
		// Half of the replies fit into one part, as all recorded ones do.
		s.engine = oldSource
		w.addRules(&s, 60+i%2*140, true)
	default:
		w.addRules(&s, 70+w.rng.IntN(60), false)
		s.script = w.rconScript(&s)
	}
	s.roster = make([]player, s.slots/2+w.rng.IntN(s.slots/2), s.slots)
	if s.engine != otherEngine {
		s.roster = s.roster[:1+w.rng.IntN(s.slots)]
	}
	for n := range s.roster {
		s.roster[n] = player{w.draw(w.names), w.rng.Uint32N(60), now - w.rng.Int64N(int64(2*time.Hour))}
	}
	w.startMap(&s, now)
	return s
}

// addRules adds rules, names in order as engines send them. Of all the rules, or of every
// eighth, each reply draws the value: where all are, the reply does not compress well.
func (w *world) addRules(s *server, count int, allLive bool) {
	for i := range count {
		r := rule{name: fmt.Sprintf("%s_%s_%s_%d", prefixes[i*len(prefixes)/count], w.draw(subjects), w.draw(aspects), i)}
		switch {
		case allLive:
			r.live = 8
		case i%8 == 0:
			r.live = 3
		default:
			r.value = w.draw(values)
		}
		s.rules = append(s.rules, r)
	}
}

// The least and the most time between two maps. Chosen: short, so that a capture of a
// million packets, which is of 20 seconds, has some hundred changes.
const (
	shortestMap = 10 * time.Second
	longestMap  = 100 * time.Second
)

// startMap changes the map, and what changes with it: scores, and a tenth of the rules.
func (w *world) startMap(s *server, now int64) {
	s.mapName = w.draw(maps)
	s.mapEnds = now + int64(shortestMap) + w.rng.Int64N(int64(longestMap-shortestMap))
	for i := range s.roster {
		s.roster[i].score = 0
	}
	for range len(s.rules) / 10 {
		if r := &s.rules[w.rng.IntN(len(s.rules))]; r.live == 0 {
			r.value = w.draw(values)
		}
	}
}

// advance changes what a reply at the time now finds changed since the one before it:
// somebody's score, sometimes who plays and the map.
func (w *world) advance(s *server, now int64) {
	if len(s.roster) == 0 {
		return
	}
	if now >= s.mapEnds {
		w.startMap(s, now)
	}
	n := len(s.roster)
	s.roster[w.rng.IntN(n)].score += 1 + w.rng.Uint32N(3)
	switch left := w.rng.IntN(n); {
	case w.rng.IntN(4) > 0:
	case n > 1 && (n == s.slots || w.rng.IntN(2) == 0):
		s.roster = append(s.roster[:left], s.roster[left+1:]...)
	case n < s.slots:
		s.roster = append(s.roster, player{name: w.draw(w.names), joined: now})
	}
}
