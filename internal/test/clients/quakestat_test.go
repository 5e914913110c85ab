package clients

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/responder"
)

func TestQuakestat(t *testing.T) {
	tests := []struct {
		name   string
		kind   string // the option that names the protocol
		server func([]byte) [][]byte
	}{
		{"Source", "-a2s", a2s(t, "a2s/full-poll", "a2s/full-poll", "a2s/full-poll")},
		{"Source, players in two parts and rules in six", "-a2s",
			a2s(t, "a2s/full-poll", "split/source-players-58", "split/source-six-parts")},
		// Its own players have names in UTF-8, which quakestat leaves out of its XML.
		{"Source of 2007", "-a2s", a2s(t, "a2s/css-2007", "a2s/players", "a2s/css-2007")},
		{"AppID that does not fit", "-a2s", a2s(t, "a2s/info-large-appid", "a2s/players", "a2s/rules")},
		{"GoldSource, rules in two parts", "-hla2s",
			a2s(t, "goldsource/info-cstrike", "a2s/players-54-bytes", "goldsource/rules-93")},
		{"GoldSource, rules in three parts", "-hla2s",
			a2s(t, "goldsource/info-cstrike", "a2s/players-54-bytes", "split/goldsource-full-size-parts")},
		{"GoldSource, asked in words", "-hls", words(t, "goldsource/text-requests", detailsWords...)},
		{"All-Seeing Eye, MTA", "-eye", words(t, "ase/mta-full", "s")},
		{"All-Seeing Eye, MTA, 140 players", "-eye", words(t, "ase/mta-full-large", "s")},
		{"All-Seeing Eye, Far Cry", "-eye", words(t, "ase/farcry-full", "s")},
		{"All-Seeing Eye, two fragments", "-eye", words(t, "ase/fragments", "s")},
	}
	needCapture(t)
	quakestat, qsniff := program(t, "quakestat"), binary.Path(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := listen(t, test.server)
			var got []byte
			capture := record(t, func() {
				got = output(t, quakestat, "-xml", "-utf8", "-P", "-R", "-noportoffset", test.kind, server.Addr().String())
			}, server)
			want, info := read(t, decode(t, qsniff, capture))
			if diff := cmp.Diff(want, quakestatView(t, got, want, info)); diff != "" {
				t.Errorf("qsniff -, quakestat +\n%s", diff)
			}
		})
	}
}

// quakestatXML is what quakestat prints about a server.
type quakestatXML struct {
	Server struct {
		Status  string `xml:"status,attr"`
		Name    string `xml:"name"`
		Map     string `xml:"map"`
		Players int    `xml:"numplayers"`
		Max     int    `xml:"maxplayers"`
		Rules   []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:",chardata"`
		} `xml:"rules>rule"`
		List []struct {
			Name  string `xml:"name"`
			Score int    `xml:"score"`
		} `xml:"players>player"`
	} `xml:"server"`
}

// quakestatView parses what quakestat printed. Before the rules of the server it
// lists some of its information as rules, which have to say what info says; of want
// it takes how many rules are the server's own.
func quakestatView(t *testing.T, out []byte, want view, info *message) view {
	t.Helper()
	var x quakestatXML
	if err := xml.Unmarshal(out, &x); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if x.Server.Status != "UP" {
		t.Fatalf("quakestat had no answer: %s", out)
	}
	v := view{Name: x.Server.Name, Map: x.Server.Map, Players: x.Server.Players, Max: x.Server.Max}
	for _, p := range x.Server.List {
		v.List = append(v.List, player{p.Name, p.Score})
	}
	v.sortPlayers()
	own := max(0, len(x.Server.Rules)-len(want.Rules))
	for i, r := range x.Server.Rules {
		if i >= own {
			v.Rules = append(v.Rules, rule{r.Name, r.Value})
			continue
		}
		field, known := infoRules[info.Message][r.Name]
		if !known {
			t.Errorf("rule %s of quakestat: qsniff has none", r.Name)
		} else if got := info.text(field); field != "" && got != r.Value {
			t.Errorf("field %s, rule %s\n qsniff    %q\n quakestat %q", field, r.Name, got, r.Value)
		}
	}
	return v
}

// infoRules are the rules that quakestat makes of information, with the field that
// says the same; an empty one where quakestat has words of its own.
var infoRules = map[string]map[string]string{
	"S2A_INFO_SRC": {
		"protocol": "", "gamedir": "folder", "gamename": "game", "bots": "bots", "dedicated": "", "sv_os": "",
		"password": "visibility", "secure": "vac", "version": "version", "game_port": "port", "hostport": "port",
		"spectator_port": "tv_port", "spectator_server_name": "tv_name", "game_tags": "keywords",
	},
	"S2A_INFO_DETAILED": {
		"gamedir": "folder", "gamename": "game", "version": "protocol", "protocol": "protocol", "dedicated": "", "sv_type": "",
		"sv_os": "", "password": "visibility", "sv_password": "visibility", "mod": "mod", "mod_url": "url",
		"mod_dl": "download_url", "mod_ver": "mod_version", "mod_size": "mod_size", "mod_svonly": "mod_type",
		"mod_cldll": "mod_dll", "secure": "vac", "bots": "bots",
	},
	"EYE1": {"gamename": "game", "hostport": "port", "gametype": "gametype", "_version": "version", "_password": "password"},
}

// twoPages returns a master server whose list has two pages, those of a capture.
func twoPages(t *testing.T) responder.Master {
	t.Helper()
	const list = "master/list-two-pages"
	return responder.Master{
		"0.0.0.0:0":            answered(t, list, "1\xff0.0.0.0:0")[0],
		"198.51.100.231:27029": answered(t, list, "1\xff198.51.100.231:27029")[0],
	}
}

func TestQuakestatMaster(t *testing.T) {
	needCapture(t)
	quakestat, qsniff := program(t, "quakestat"), binary.Path(t)
	pages := twoPages(t)
	server := listen(t, pages.Answer)
	file := filepath.Join(t.TempDir(), "list")
	// With a file for the list quakestat does not go on and ask its servers.
	capture := record(t, func() {
		output(t, quakestat, "-stm,outfile", fmt.Sprintf("%s,%s", server.Addr(), file))
	}, server)
	printed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(printed)) {
		_, address, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, address)
	}
	for _, m := range decode(t, qsniff, capture) {
		if m.Message != "M2A_SERVER_BATCH" {
			continue
		}
		for _, s := range m.Fields["servers"].([]any) {
			if s != "0.0.0.0:0" { // the end of the list
				want = append(want, s.(string))
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 233 {
		t.Errorf("%d servers; qsniff -, quakestat +\n%s", len(want), diff)
	}
}
