package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/flood/measure"
)

// dawn is the time of the messages by their packets.
const dawn = int64(1_700_000_000e9)

// fill publishes two messages of each kind, and one that is none.
func fill(t *testing.T) (jetstream.JetStream, *fleet.Secret) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := broker.Start(broker.Options{Store: t.TempDir(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := s.Connect(broker.Dial{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	secret, err := fleet.NewSecret([]byte("of all sensors and hubs"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.New(t.Context(), hub.Options{Conn: c, Prefix: "qsniff", Secret: secret, Retention: hub.Retention{Age: time.Hour, Size: 64 << 20}, Log: log}); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	put := func(subject string, data []byte) {
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	seq := uint64(0)
	for range 2 {
		for _, m := range messages(secret) {
			seq++
			h := fleet.HeadOf(m)
			kind := kindOf(m)
			*h = fleet.Head{Version: fleet.Version, Kind: kind, Sensor: "ams-1", Run: "5f0c", Seq: seq, Time: dawn + int64(seq)}
			data, err := fleet.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			put(fleet.Subject("qsniff", "ams-1", kind), data)
		}
		data, err := json.Marshal(campaign.Campaign{ID: "c", Number: seq, Event: "open", How: campaign.Walk, Start: dawn, Detected: dawn + 1, Members: []campaign.Member{
			{Sensor: "ams-1", Server: netip.MustParseAddrPort("198.51.100.7:27015"), Start: dawn, Peak: 5}, {Sensor: "fra-1", Target: "a network", End: dawn + 9}},
			Top: network(secret), Evidence: []string{"one", "two"}, Peak: 12.5, Sources: 3})
		if err != nil {
			t.Fatal(err)
		}
		put("qsniff._hub.campaign", data)
	}
	put("qsniff.ams-1.server", []byte("no JSON"))
	return js, secret
}

func network(s *fleet.Secret) []fleet.Network {
	return []fleet.Network{{Prefix: s.SealNetwork(netip.MustParsePrefix("203.0.113.0/24")), Queries: 9}}
}

func kindOf(m fleet.Message) fleet.Kind {
	return fleet.Kind(strings.ToLower(reflect.TypeOf(m).Elem().Name()))
}

// messages returns one of each kind, with something in every member.
func messages(s *fleet.Secret) []fleet.Message {
	addr := netip.MustParseAddrPort("198.51.100.7:27015")
	server := &fleet.Server{Addr: addr, PacketsIn: 12, BytesIn: 700, Times: []uint64{1, 0, 3}, TimesNanos: 12345e6,
		Asked: []fleet.Asked{{Protocol: "a2s", Message: "A2S_INFO", Count: 12, Outcomes: map[string]uint64{"answered": 11, "late": 1}}, {Protocol: "a2s", Message: "S2A_INFO_SRC", Count: 11}}}
	server.IsMeasured = true
	server.Features[measure.Pace], server.Features[measure.Completion] = 0.5, math.NaN()
	for i := range uint64(5000) {
		server.Sources.Add(i * 0x9e3779b97f4a7c15)
	}
	server.Top, server.Forms = network(s), []fleet.Form{{Protocol: "a2s", Message: "A2S_INFO", HasKey: true, Min: 25, Max: 29, Packets: 12}}
	return []fleet.Message{server,
		&fleet.Host{Program: "1.0", Input: "eth0", Started: dawn, Servers: 3, Packets: 1 << 40, Others: fleet.Others{Junk: 7}},
		&fleet.Incident{ID: 4, Event: "open", Category: "scan", Level: "warn", Source: s.SealHost(netip.MustParseAddr("203.0.113.9")), Targets: []netip.AddrPort{addr},
			Start: dawn, Detected: dawn + 5, Peak: 1.5, Top: []fleet.Network{{Prefix: s.SealHost(netip.MustParseAddr("2001:db8::9")), Queries: 3}}, Networks: network(s), Line: json.RawMessage(`{"a":1}`)},
		&fleet.Finding{Code: "A2S-S07", Severity: "warn", Addr: addr, Count: 3},
		&fleet.Inventory{Addr: addr, Protocol: "a2s", Name: "a \u202e name\x00 <b>", Map: "de_dust2", Players: -1, MaxPlayers: 16}}
}

// TestForms: Parquet has the same rows as JSON lines, and both have all of them.
func TestForms(t *testing.T) {
	js, secret := fill(t)
	compareForms[ServerRow](t, js, secret, fleet.KindServer, 1)
	compareForms[HostRow](t, js, secret, fleet.KindHost, 0)
	compareForms[IncidentRow](t, js, secret, fleet.KindIncident, 0)
	compareForms[FindingRow](t, js, secret, fleet.KindFinding, 0)
	compareForms[InventoryRow](t, js, secret, fleet.KindInventory, 0)
	compareForms[CampaignRow](t, js, secret, KindCampaign, 0)
}

// write returns what Write writes.
func writeTo(t *testing.T, js jetstream.JetStream, o Options) ([]byte, Counts) {
	t.Helper()
	o.Prefix = "qsniff"
	var b bytes.Buffer
	counts, err := Write(t.Context(), js, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), counts
}

func compareForms[R any](t *testing.T, js jetstream.JetStream, secret *fleet.Secret, kind fleet.Kind, refused uint64) {
	t.Helper()
	text, counts := writeTo(t, js, Options{Kind: kind, Form: "jsonl", Secret: secret})
	if counts != (Counts{2, refused}) {
		t.Errorf("%s: %+v", kind, counts)
	}
	var lines []R
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		var r R
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, r)
	}
	packed, counts := writeTo(t, js, Options{Kind: kind, Form: "parquet", Secret: secret})
	if counts != (Counts{2, refused}) {
		t.Errorf("%s: %+v", kind, counts)
	}
	rows, err := parquet.Read[R](bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	utc := cmp.Transformer("utc", func(x time.Time) int64 { return x.UnixNano() })
	none := cmp.Transformer("none", func(x map[string]uint64) map[string]uint64 {
		if len(x) == 0 {
			return nil
		}
		return x
	})
	if d := cmp.Diff(lines, rows, utc, none); d != "" || len(rows) != 2 {
		t.Errorf("%s: %d rows: %s", kind, len(rows), d)
	}
}

// TestServerRow: sketches are counts, features have names, unknown ones are left out, and networks are
// opened with the secret only.
func TestServerRow(t *testing.T) {
	js, secret := fill(t)
	read := func(o Options) (r ServerRow) {
		text, _ := writeTo(t, js, o)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := read(Options{Kind: fleet.KindServer, Form: "jsonl", Secret: secret})
	if want := messages(secret)[0].(*fleet.Server).Measured.Sources.Count(); r.Sources != want || r.Server != "198.51.100.7:27015" || r.Time.UnixNano() != dawn+1 || r.Asked[0].Outcomes["answered"] != 11 {
		t.Errorf("%+v", r)
	}
	if _, isThere := r.Features["completion_share"]; isThere || r.Features["pace"] != 0.5 || len(r.Features) != int(measure.NumFeatures)-1 {
		t.Errorf("%d features: %v", len(r.Features), r.Features)
	}
	if r.Top[0].Prefix != "203.0.113.0/24" {
		t.Errorf("%+v", r.Top)
	}
	sealed := read(Options{Kind: fleet.KindServer, Form: "jsonl"})
	if sealed.Top[0].Prefix != "" || sealed.Top[0].Sealed != r.Top[0].Sealed {
		t.Errorf("without the secret: %+v", sealed.Top)
	}
}

// TestBounds: what the broker got before a time, and from it on, are apart.
func TestBounds(t *testing.T) {
	js, _ := fill(t)
	text, _ := writeTo(t, js, Options{Kind: fleet.KindHost, Form: "jsonl"})
	var rows []HostRow
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var r HostRow
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	second := rows[1].Broker
	if _, n := writeTo(t, js, Options{Kind: fleet.KindHost, Form: "jsonl", Since: second}); n.Rows != 1 {
		t.Errorf("since: %d rows", n.Rows)
	}
	if _, n := writeTo(t, js, Options{Kind: fleet.KindHost, Form: "jsonl", Until: second}); n.Rows != 1 {
		t.Errorf("until: %d rows", n.Rows)
	}
	if _, n := writeTo(t, js, Options{Kind: fleet.KindHost, Form: "parquet", Since: time.Now().Add(time.Hour)}); n.Rows != 0 {
		t.Errorf("of tomorrow: %d rows", n.Rows)
	}
}
