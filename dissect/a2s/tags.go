package a2s

import (
	"bytes"
	"encoding/binary"
	"math"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// tag is an element that a game writes into the keywords.
type tag struct {
	lead string // what it begins with
	form form   // what is after that
	def  *dissect.Def
	also *dissect.Def // second of two numbers
}

// dialect is how a game writes keywords.
type dialect struct {
	tags []tag
	seps string // bytes between elements
	// free is the lead of a text that may hold separators: it ends before the
	// next element that begins with a key.
	free string
}

// elements cuts keywords into elements and trims blanks. Empty ones are skipped.
type elements struct {
	b   []byte
	off int
	d   *dialect
}

// next returns the next element and its offset, or nil.
func (e *elements) next() (off int, element []byte) {
	for e.off < len(e.b) {
		off = e.off
		end := e.end(off)
		if e.d.free != "" && bytes.HasPrefix(e.b[off:end], []byte(e.d.free)) {
			for end < len(e.b) && !startsWithKey(e.b[end+1:e.end(end+1)]) {
				end = e.end(end + 1)
			}
		}
		e.off = end + 1
		element = bytes.TrimLeft(e.b[off:end], " ")
		off = end - len(element)
		if element = bytes.TrimRight(element, " "); len(element) > 0 {
			return off, element
		}
	}
	return 0, nil
}

// end returns where the element that starts at offset from ends.
func (e *elements) end(from int) int {
	if i := bytes.IndexAny(e.b[from:], e.d.seps); i >= 0 {
		return from + i
	}
	return len(e.b)
}

// startsWithKey reports whether an element begins with a key as Unreal Engine writes
// them: capitals, or a name that ends in _ and the letter of its type.
func startsWithKey(element []byte) bool {
	i := bytes.IndexByte(element, ':')
	if i < 1 {
		return false
	}
	typed := i > 2 && element[i-2] == '_'
	for _, c := range element[:i] {
		lower := c >= 'a' && c <= 'z'
		if !lower && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' || lower && !typed {
			return false
		}
	}
	return true
}

// finder finds which tag an element is. Every tag counts once: a repeat is a word
// like any other.
type finder struct {
	d    *dialect
	seen uint64 // bit i: d.tags[i] was found
}

// find returns the tag of element, its value and that as a number, or nil.
func (s *finder) find(element []byte) (t *tag, v []byte, num numbers) {
	for i := range s.d.tags {
		t = &s.d.tags[i]
		if s.seen&(1<<i) != 0 || !bytes.HasPrefix(element, []byte(t.lead)) {
			continue
		}
		v = element[len(t.lead):]
		if num, ok := t.form.parse(v); ok {
			s.seen |= 1 << i
			return t, v, num
		}
	}
	return nil, nil, numbers{}
}

// addTags adds what the keywords at at say in the dialect of game app: one field for
// each tag, and what is none as a list of words, so that nothing is lost.
func addTags(cur *dissect.Cursor, keywords []byte, at dissect.Extent, app uint32) {
	d := dialectOf(app)
	if d == nil || len(keywords) == 0 || len(d.tags) == 0 && !bytes.ContainsAny(keywords, d.seps) {
		return
	}
	p := cur.Parts(at)
	p.Push(&defTags, 0, dissect.Extent{Off: at.Off})
	s := finder{d: d}
	for e := (elements{b: keywords, d: d}); ; {
		off, element := e.next()
		if element == nil {
			break
		}
		if t, v, num := s.find(element); t != nil {
			place := dissect.Extent{Off: at.Off + uint32(off), Len: uint32(len(element))}
			t.addField(&p, place, v, num)
		}
	}
	addWords(&p, keywords, at, d)
	p.Pop()
}

// addWords adds the list of the elements that are no tags.
func addWords(p *dissect.Parts, keywords []byte, at dissect.Extent, d *dialect) {
	p.Push(&defWords, dissect.Undeclared, dissect.Extent{Off: at.Off + at.Len})
	s := finder{d: d}
	for e := (elements{b: keywords, d: d}); ; {
		off, element := e.next()
		if element == nil {
			break
		}
		if t, _, _ := s.find(element); t == nil {
			p.Text(&defWord, dissect.Extent{Off: at.Off + uint32(off), Len: uint32(len(element))}, element)
		}
	}
	p.Pop()
}

// addField adds the field of an element at at, with value v.
func (t *tag) addField(p *dissect.Parts, at dissect.Extent, v []byte, num numbers) {
	switch {
	case t.def.Kind == dissect.Text:
		p.Text(t.def, at, v)
	case t.form == letter: // a Char is its byte
		p.Num(t.def, dissect.Extent{Off: at.Off + at.Len - 1, Len: 1}, num.first)
	default:
		p.Num(t.def, at, num.first)
	}
	if t.also != nil {
		p.Num(t.also, at, num.second)
	}
}

// Fields that games write into the keywords. One definition serves all games that say the
// same thing, whatever letters they use.
var (
	defTags  = dissect.Def{Name: "a2s.info.tags", Label: "tags", Kind: dissect.Group, Flags: dissect.Experimental, Doc: "what the keywords say in this game"}
	defWords = dissect.Def{Name: "a2s.info.tags.words", Label: "words", Kind: dissect.List, Doc: "keywords that are nothing else here"}
	defWord  = dissect.Def{Name: "a2s.info.tags.words.word", Label: "word", Kind: dissect.Text, Doc: "one of them"}

	defTagPlayers    = dissect.Def{Name: "a2s.info.tags.players", Role: dissect.TagPlayerCount, Label: "players", Kind: dissect.Uint, Doc: "Rust: players, counted with more than one byte"}
	defTagMaxPlayers = dissect.Def{Name: "a2s.info.tags.max_players", Role: dissect.TagMaxPlayers, Label: "max_players", Kind: dissect.Uint, Doc: "Rust: slots, counted with more than one byte"}
	defTagQueue      = dissect.Def{Name: "a2s.info.tags.queue", Role: dissect.QueueLength, Label: "queue", Kind: dissect.Uint, Doc: "Rust, DayZ: players who wait for a slot"}
	defTagProtocol   = dissect.Def{Name: "a2s.info.tags.protocol", Label: "protocol", Kind: dissect.Uint, Doc: "Rust: network protocol of the game"}
	defTagBorn       = dissect.Def{Name: "a2s.info.tags.born", Label: "born", Kind: dissect.Uint, Doc: "Rust: when the map began, in seconds since 1970"}
	defTagMode       = dissect.Def{Name: "a2s.info.tags.mode", Label: "mode", Kind: dissect.Text, Doc: "Rust: game mode"}
	defTagHash       = dissect.Def{Name: "a2s.info.tags.hash", Label: "hash", Kind: dissect.Text, Doc: "Rust, Arma 3: hash of the content, hexadecimal"}
	defTagPT         = dissect.Def{Name: "a2s.info.tags.pt", Label: "pt", Kind: dissect.Text, Doc: "Rust: network layer (pt)"}

	defTagBattlEye = dissect.Def{Name: "a2s.info.tags.battleye", Label: "battleye", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3, DayZ: BattlEye is on"}
	defTagRequired = dissect.Def{Name: "a2s.info.tags.required_version", Label: "required_version", Kind: dissect.Uint,
		Doc: "Arma 3: version that players need, times 100"}
	defTagBuild      = dissect.Def{Name: "a2s.info.tags.build", Label: "build", Kind: dissect.Uint, Doc: "build of the game; Arma 3: the one that players need, 0 for any"}
	defTagState      = dissect.Def{Name: "a2s.info.tags.state", Label: "state", Kind: dissect.Uint, Values: armaStateName, Doc: "Arma 3: what the server does"}
	defTagDifficulty = dissect.Def{Name: "a2s.info.tags.difficulty", Label: "difficulty", Kind: dissect.Int, Values: difficultyName,
		Doc: "Arma 3: preset of the difficulty; -1 without a mission"}
	defTagEqualMods = dissect.Def{Name: "a2s.info.tags.equal_mods", Label: "equal_mods", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: players need the same mods"}
	defTagLock      = dissect.Def{Name: "a2s.info.tags.lock", Label: "lock", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: nobody may join"}
	defTagVerify    = dissect.Def{Name: "a2s.info.tags.verify_signatures", Label: "verify_signatures", Kind: dissect.Uint, Values: yesNo,
		Doc: "Arma 3: files of players are checked"}
	defTagDedicated = dissect.Def{Name: "a2s.info.tags.dedicated", Label: "dedicated", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: dedicated server"}
	defTagGameType  = dissect.Def{Name: "a2s.info.tags.game_type", Label: "game_type", Kind: dissect.Text, Doc: "Arma 3: type of the mission"}
	defTagLanguage  = dissect.Def{Name: "a2s.info.tags.language", Label: "language", Kind: dissect.Uint, Values: languageName, Doc: "Arma 3: language of the server"}
	defTagLongitude = dissect.Def{Name: "a2s.info.tags.longitude", Label: "longitude", Kind: dissect.Int, Values: placeName, Unit: "degrees",
		Doc: "Arma 3: where the server says it stands"}
	defTagLatitude = dissect.Def{Name: "a2s.info.tags.latitude", Label: "latitude", Kind: dissect.Int, Values: placeName, Unit: "degrees",
		Doc: "Arma 3: where the server says it stands"}
	defTagPlatform = dissect.Def{Name: "a2s.info.tags.platform", Label: "platform", Kind: dissect.Char, Values: dissect.EnvironmentName,
		Doc: "Arma 3: operating system of the server"}
	defTagMinutes  = dissect.Def{Name: "a2s.info.tags.minutes_left", Label: "minutes_left", Kind: dissect.Uint, Unit: "min", Doc: "Arma 3: until the mission ends"}
	defTagPatching = dissect.Def{Name: "a2s.info.tags.file_patching", Label: "file_patching", Kind: dissect.Uint,
		Doc: "Arma 3: who may run changed files; 0: nobody"}
	defTagCountry = dissect.Def{Name: "a2s.info.tags.country", Label: "country", Kind: dissect.Text, Doc: "Arma 3: country of the server"}
	defTagIsland  = dissect.Def{Name: "a2s.info.tags.island", Label: "island", Kind: dissect.Text, Doc: "Arma 3: island of the mission"}
	defTagParam1  = dissect.Def{Name: "a2s.info.tags.param1", Label: "param1", Kind: dissect.Int, Doc: "Arma 3: first parameter of the mission"}
	defTagParam2  = dissect.Def{Name: "a2s.info.tags.param2", Label: "param2", Kind: dissect.Int, Doc: "Arma 3: second parameter of the mission"}

	defTagNo3rd     = dissect.Def{Name: "a2s.info.tags.no3rd", Label: "no3rd", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: no third person view"}
	defTagExternal  = dissect.Def{Name: "a2s.info.tags.external", Label: "external", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: not run by the maker"}
	defTagPrivate   = dissect.Def{Name: "a2s.info.tags.private_hive", Label: "private_hive", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: characters are the server's own"}
	defTagShard     = dissect.Def{Name: "a2s.info.tags.shard", Label: "shard", Kind: dissect.Text, Doc: "DayZ: servers that share characters"}
	defTagTime      = dissect.Def{Name: "a2s.info.tags.time_acceleration", Label: "time_accel", Kind: dissect.Float, Doc: "DayZ: how much faster days pass"}
	defTagNight     = dissect.Def{Name: "a2s.info.tags.night_time_acceleration", Label: "night_accel", Kind: dissect.Float, Doc: "DayZ: how much faster nights pass, on top of that"}
	defTagMod       = dissect.Def{Name: "a2s.info.tags.mod", Label: "mod", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players need mods"}
	defTagPort      = dissect.Def{Name: "a2s.info.tags.port", Label: "port", Kind: dissect.Uint, Doc: "DayZ: game port"}
	defTagAllowed   = dissect.Def{Name: "a2s.info.tags.allowed_file_patching", Label: "file_patching", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players may run changed files"}
	defTagWhitelist = dissect.Def{Name: "a2s.info.tags.whitelisting", Label: "whitelisting", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: only listed players may join"}
	defTagDLC       = dissect.Def{Name: "a2s.info.tags.dlc", Label: "dlc", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players need a DLC"}
	defTagClock     = dissect.Def{Name: "a2s.info.tags.time", Label: "time", Kind: dissect.Text, Doc: "DayZ: time of day in the game, HH:MM"}

	defTagGamemode = dissect.Def{Name: "a2s.info.tags.gamemode", Label: "gamemode", Kind: dissect.Text, Doc: "Garry's Mod: game mode"}
	defTagWorkshop = dissect.Def{Name: "a2s.info.tags.workshop_id", Label: "workshop_id", Kind: dissect.Uint, Flags: dissect.AsString,
		Doc: "Garry's Mod: game mode in the Steam Workshop"}
	defTagCategory = dissect.Def{Name: "a2s.info.tags.category", Label: "category", Kind: dissect.Text, Doc: "Garry's Mod: kind of game mode"}
	defTagLocation = dissect.Def{Name: "a2s.info.tags.location", Label: "location", Kind: dissect.Text, Doc: "Garry's Mod: country of the server"}
	defTagVersion  = dissect.Def{Name: "a2s.info.tags.version", Label: "version", Kind: dissect.Text, Doc: "Garry's Mod: version of the game"}

	defTagOwner = dissect.Def{Name: "a2s.info.tags.owning_id", Label: "owning_id", Kind: dissect.Uint, Flags: dissect.AsString | dissect.Identifying,
		Values: steamIDName, Doc: "Unreal Engine: SteamID of who opened the session"}
	defTagOwnerName   = dissect.Def{Name: "a2s.info.tags.owning_name", Label: "owning_name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "Unreal Engine: name of who opened the session"}
	defTagOpen        = dissect.Def{Name: "a2s.info.tags.open_public", Label: "open_public", Kind: dissect.Uint, Doc: "Unreal Engine: free slots for everybody"}
	defTagOpenPrivate = dissect.Def{Name: "a2s.info.tags.open_private", Label: "open_private", Kind: dissect.Uint, Doc: "Unreal Engine: free slots for who is invited"}
	defTagP2PAddr     = dissect.Def{Name: "a2s.info.tags.p2p_addr", Label: "p2p_addr", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "Unreal Engine: address in Steam's network, a SteamID"}
	defTagP2PPort     = dissect.Def{Name: "a2s.info.tags.p2p_port", Label: "p2p_port", Kind: dissect.Uint, Doc: "Unreal Engine: port of the game"}
	defTagSession     = dissect.Def{Name: "a2s.info.tags.session_flags", Label: "session_flags", Kind: dissect.Uint, Flags: dissect.Hex, Doc: "Unreal Engine: settings of the session, a bit each"}

	defTagGroup = dissect.Def{Name: "a2s.info.tags.group", Label: "group", Kind: dissect.Uint, Doc: "Source: number of the Steam group that the server belongs to"}
)

var tagDefs = []*dissect.Def{
	&defTags, &defWords, &defWord, &defTagPlayers, &defTagMaxPlayers, &defTagQueue, &defTagProtocol, &defTagBorn, &defTagMode, &defTagHash, &defTagPT,
	&defTagBattlEye, &defTagRequired, &defTagBuild, &defTagState, &defTagDifficulty, &defTagEqualMods, &defTagLock, &defTagVerify,
	&defTagDedicated, &defTagGameType, &defTagLanguage, &defTagLongitude, &defTagLatitude, &defTagPlatform, &defTagMinutes, &defTagPatching,
	&defTagCountry, &defTagIsland, &defTagParam1, &defTagParam2,
	&defTagNo3rd, &defTagExternal, &defTagPrivate, &defTagShard, &defTagTime, &defTagNight, &defTagMod, &defTagPort, &defTagAllowed, &defTagWhitelist,
	&defTagDLC, &defTagClock, &defTagGamemode, &defTagWorkshop, &defTagCategory, &defTagLocation, &defTagVersion,
	&defTagOwner, &defTagOwnerName, &defTagOpen, &defTagOpenPrivate, &defTagP2PAddr, &defTagP2PPort, &defTagSession, &defTagGroup,
}

// armaStateName names the states that the maker's documentation lists.
func armaStateName(v uint64) string {
	names := [...]string{"no server", "selecting mission", "editing mission", "assigning roles", "sending mission",
		"loading game", "briefing", "playing", "debriefing", "mission aborted"}
	if v < uint64(len(names)) {
		return names[v]
	}
	return ""
}

// languageName names the languages that Arma 3 and DayZ number: Windows' number of the language, after a 1.
func languageName(v uint64) string {
	switch v - 1<<16 {
	case 4:
		return "Chinese"
	case 5:
		return "Czech"
	case 7:
		return "German"
	case 9:
		return "English"
	case 10:
		return "Spanish"
	case 12:
		return "French"
	case 14:
		return "Hungarian"
	case 16:
		return "Italian"
	case 17:
		return "Japanese"
	case 21:
		return "Polish"
	case 22:
		return "Portuguese"
	case 25:
		return "Russian"
	}
	return ""
}

// placeName names the numbers that are no place: servers that do not know theirs
// send the least or the greatest of some width.
func placeName(v uint64) string {
	const farthest = 180 // degrees
	if n := int64(v); n < -farthest || n > farthest {
		return "not known"
	}
	return ""
}

// form is how the value of a tag is written.
type form uint8

const (
	exact   form = iota // nothing: the element is a switch that is on
	yes                 // t or f
	number              // decimal
	signed              // decimal, maybe negative
	decimal             // with a fraction
	letter              // one letter
	text                // anything
	hexText             // eight hexadecimal digits at most
	point               // two signed numbers with a - between them
	clock               // HH:MM
	group               // a number between a key and i
)

// numbers are the values of a tag; only a point has two.
type numbers struct{ first, second uint64 }

// parse reads v. ok is false if it is not of the form.
func (f form) parse(v []byte) (n numbers, ok bool) {
	switch f {
	case exact:
		return numbers{first: 1}, len(v) == 0
	case yes:
		if len(v) != 1 || v[0] != 't' && v[0] != 'f' {
			return n, false
		}
		if v[0] == 't' {
			n.first = 1
		}
		return n, true
	case number:
		n.first, ok = parseUint(v)
	case signed:
		n.first, ok = parseInt(v)
	case decimal:
		n.first, ok = parseDecimal(v)
	case letter:
		if ok = len(v) == 1; ok {
			n.first = uint64(v[0])
		}
	case text:
		ok = len(v) > 0
	case hexText:
		ok = len(v) > 0 && len(v) <= 8 && len(bytes.Trim(v, "0123456789abcdefABCDEF")) == 0
	case point:
		return parsePoint(v)
	case clock:
		ok = isClock(v)
	case group:
		if i := len(v) - 1; i > 0 && v[i] == 'i' {
			n.first, ok = parseUint(v[:i])
		}
	}
	return n, ok
}

// parseUint reads digits. More than 64 bits are none.
func parseUint(v []byte) (n uint64, ok bool) {
	for _, c := range v {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(v) > 0
}

// parseInt returns the number sign-extended.
func parseInt(v []byte) (n uint64, ok bool) {
	digits := bytes.TrimPrefix(v, []byte("-"))
	limit := uint64(math.MaxInt64)
	if len(digits) < len(v) {
		limit++
	}
	if n, ok = parseUint(digits); !ok || n > limit {
		return 0, false
	}
	if len(digits) < len(v) {
		n = -n
	}
	return n, true
}

// parseDecimal returns the bits of a float64, which is exact up to rounding.
func parseDecimal(v []byte) (n uint64, ok bool) {
	whole, fraction, _ := bytes.Cut(v, []byte("."))
	a, ok := parseUint(whole)
	if !ok || len(whole)+len(fraction) > maxDecimals {
		return 0, false
	}
	scale := 1.0
	for _, c := range fraction {
		if c < '0' || c > '9' {
			return 0, false
		}
		a = a*10 + uint64(c-'0')
		scale *= 10
	}
	return math.Float64bits(float64(a) / scale), true
}

// parsePoint reads two numbers of which either may be negative: 97-33, -1--1.
func parsePoint(v []byte) (n numbers, ok bool) {
	if len(v) == 0 {
		return n, false
	}
	i := 1 + bytes.IndexByte(v[1:], '-')
	if i == 0 {
		return n, false
	}
	n.first, ok = parseInt(v[:i])
	if ok {
		n.second, ok = parseInt(v[i+1:])
	}
	return n, ok
}

func isClock(v []byte) bool {
	if len(v) != len("HH:MM") || v[2] != ':' {
		return false
	}
	h, ok := parseUint(v[:2])
	m, fine := parseUint(v[3:])
	return ok && fine && h < 24 && m < 60
}

// dialectOf returns how game app writes its keywords, or nil if it has no way of
// its own. The applications were seen to do so in recorded replies.
func dialectOf(app uint32) *dialect {
	switch app {
	case appRust:
		return &rust
	case appArma3, 33930: // and Arma 2: Operation Arrowhead
		return &arma
	case appDayZ:
		return &dayZ
	case 4000:
		return &garrysMod
	case 251570, 383120: // 7 Days to Die, until it wrote them in base64, and Empyrion
		return &semicolons
	case 892970:
		return &valheim
	case 346110, 393380, 440900, 489940, // ARK, Squad, Conan Exiles, Battalion 1944
		529180, 593600, 686810, 736220: // Dark and Light, PixARK, Hell Let Loose, Post Scriptum
		return &unreal
	case 240, 300, 320, 440, 500, 550, 730: // Counter-Strike, Day of Defeat, Half-Life 2, Team Fortress, Left 4 Dead
		return &source
	}
	return nil
}

const appRust = 252490

var rust = dialect{seps: ",", tags: []tag{
	{lead: "mp", form: number, def: &defTagMaxPlayers},
	{lead: "cp", form: number, def: &defTagPlayers},
	{lead: "qp", form: number, def: &defTagQueue},
	{lead: "v", form: number, def: &defTagProtocol},
	{lead: "born", form: number, def: &defTagBorn},
	{lead: "gm", form: text, def: &defTagMode},
	{lead: "h", form: hexText, def: &defTagHash},
	{lead: "pt", form: text, def: &defTagPT},
}}

var arma = dialect{seps: ",", tags: []tag{
	{lead: "b", form: yes, def: &defTagBattlEye},
	{lead: "r", form: number, def: &defTagRequired},
	{lead: "n", form: number, def: &defTagBuild},
	{lead: "s", form: number, def: &defTagState},
	{lead: "i", form: signed, def: &defTagDifficulty},
	{lead: "m", form: yes, def: &defTagEqualMods},
	{lead: "l", form: yes, def: &defTagLock},
	{lead: "v", form: yes, def: &defTagVerify},
	{lead: "d", form: yes, def: &defTagDedicated},
	{lead: "t", form: text, def: &defTagGameType},
	{lead: "g", form: number, def: &defTagLanguage},
	{lead: "h", form: hexText, def: &defTagHash},
	{lead: "c", form: point, def: &defTagLongitude, also: &defTagLatitude},
	{lead: "p", form: letter, def: &defTagPlatform},
	{lead: "e", form: number, def: &defTagMinutes},
	{lead: "f", form: number, def: &defTagPatching},
	{lead: "o", form: text, def: &defTagCountry},
	{lead: "y", form: text, def: &defTagIsland},
	{lead: "j", form: signed, def: &defTagParam1},
	{lead: "k", form: signed, def: &defTagParam2},
}}

var dayZ = dialect{seps: ",", tags: []tag{
	{lead: "battleye", form: exact, def: &defTagBattlEye},
	{lead: "no3rd", form: exact, def: &defTagNo3rd},
	{lead: "external", form: exact, def: &defTagExternal},
	{lead: "privHive", form: exact, def: &defTagPrivate},
	{lead: "mod", form: exact, def: &defTagMod},
	{lead: "whitelisting", form: exact, def: &defTagWhitelist},
	{lead: "allowedFilePatching", form: exact, def: &defTagAllowed},
	{lead: "isDLC", form: exact, def: &defTagDLC},
	{lead: "shard", form: text, def: &defTagShard},
	{lead: "lqs", form: number, def: &defTagQueue},
	{lead: "etm", form: decimal, def: &defTagTime},
	{lead: "entm", form: decimal, def: &defTagNight},
	{lead: "port", form: number, def: &defTagPort},
	{lead: "", form: clock, def: &defTagClock},
}}

// garrysMod puts blanks between elements.
var garrysMod = dialect{seps: ", ", tags: []tag{
	{lead: "gm:", form: text, def: &defTagGamemode},
	{lead: "gmws:", form: number, def: &defTagWorkshop},
	{lead: "gmc:", form: text, def: &defTagCategory},
	{lead: "loc:", form: text, def: &defTagLocation},
	{lead: "ver:", form: text, def: &defTagVersion},
}}

var unreal = dialect{seps: ",", free: "OWNINGNAME:", tags: []tag{
	{lead: "BUILDID:", form: number, def: &defTagBuild},
	{lead: "OWNINGID:", form: number, def: &defTagOwner},
	{lead: "OWNINGNAME:", form: text, def: &defTagOwnerName},
	{lead: "NUMOPENPUBCONN:", form: number, def: &defTagOpen},
	{lead: "NUMOPENPRIVCONN:", form: number, def: &defTagOpenPrivate},
	{lead: "P2PADDR:", form: text, def: &defTagP2PAddr},
	{lead: "P2PPORT:", form: number, def: &defTagP2PPort},
	{lead: "SESSIONFLAGS:", form: number, def: &defTagSession},
}}

var source = dialect{seps: ",", tags: []tag{
	{lead: "*grp:", form: group, def: &defTagGroup},
}}

// semicolons is what recorded replies show of games whose keywords no document explains: words.
var semicolons = dialect{seps: ";"}

// valheim writes its version, and after it the mods of the server with theirs: 0.208.1-OdinPlusQOL0.5.0.
var valheim = dialect{seps: "-"}

// Frontlines: Fuel of War asks for challenge, players and rules with the bytes of
// A2S. Its servers are known by two answers with a layout of their own, and its
// clients by the word that they ask for information with.

var frontlinesAsks = []byte("FLSQ")

// Foreign reports whether b is one of those messages.
func (*Dissector) Foreign(c *dissect.Context, b []byte) (reply, ok bool) {
	if len(b) < bodyOff || !wire.IsSingle(b) {
		return false, false
	}
	if bytes.HasPrefix(b[headerLen:], frontlinesAsks) {
		return false, true
	}
	p := probe{b: b[bodyOff:], cut: c.Wire > len(b), length: max(c.Wire, len(b)) - bodyOff}
	switch b[headerLen] {
	case opInfo:
		return true, p.isFrontlinesInfo()
	case opRules:
		return true, p.isFrontlinesRules()
	}
	return false, false
}

// isFrontlinesInfo: version 2, six texts (name, map, mod, mode, description,
// version), the game's port, players, slots, and the letters for kind and system.
func (p *probe) isFrontlinesInfo() bool {
	const version, texts, fixed = 2, 6, 6
	if len(p.b) < 1 || p.b[0] != version {
		return false
	}
	off := p.skipTexts(1, texts)
	if off < 0 || len(p.b)-off < fixed {
		return false
	}
	kind, system := p.b[off+4], p.b[off+5]
	return dissect.ServerTypeName(uint64(kind)) != "" && dissect.EnvironmentName(uint64(system)) != ""
}

// isFrontlinesRules: as many pairs as a big-endian count says, and not as the same
// bytes say in A2S.
func (p *probe) isFrontlinesRules() bool {
	if len(p.b) < 2 || p.cut {
		return false
	}
	n, off := 0, 2
	for off < len(p.b) {
		if off = p.skipTexts(off, 2); off < 0 {
			return false
		}
		n++
	}
	return n > 0 && n == int(binary.BigEndian.Uint16(p.b)) && n != int(binary.LittleEndian.Uint16(p.b))
}

// limit: maxDecimals bounds the digits of a decimal fraction in the keywords: as many as
// a float64 holds exactly. Servers send seven.
const maxDecimals = 15
