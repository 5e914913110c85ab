package broker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// start starts a broker with credentials for two sensors, and a stream of what sensors publish.
func start(t *testing.T) (s *Server, c *Credentials, dir string) {
	t.Helper()
	dir = t.TempDir()
	c, err := OpenCredentials(dir, "qsniff")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ams-1", "fra-1"} {
		if _, err := c.AddSensor(name); err != nil {
			t.Fatal(err)
		}
	}
	return run(t, c), c, dir
}

func run(t *testing.T, c *Credentials) *Server {
	t.Helper()
	s, js := runIn(t, c, t.TempDir())
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "QSNIFF_COUNTS", Subjects: []string{"qsniff.*.server"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	return s
}

// runIn starts a broker with its streams in a folder, and connects as the hub.
func runIn(t *testing.T, c *Credentials, store string) (*Server, jetstream.JetStream) {
	t.Helper()
	creds, err := LoadCreds(c.HubFile())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Listen: "127.0.0.1:0", Store: store, Config: c.ConfigFile(), Account: AccountOf(creds), IsShared: true, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	conn, err := s.Connect(Dial{Creds: creds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return s, js
}

// sensor connects as a sensor does.
func sensor(s *Server, dir, name string, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(s.URL(), append(more, nats.UserCredentials(filepath.Join(dir, name+".creds")), nats.CustomInboxPrefix(fleet.InboxPrefix(name)), nats.NoReconnect())...)
}

// TestCredentials: a sensor publishes as itself, and gets acks; it cannot publish as another, nor read.
func TestCredentials(t *testing.T) {
	s, _, dir := start(t)
	refused := make(chan error, 16)
	c, err := sensor(s, dir, "ams-1", nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "qsniff.ams-1.server", []byte("{}"), jetstream.WithMsgID("1")); err != nil {
		t.Errorf("it cannot publish as itself: %v", err)
	}
	isRefused := func(what string, do func()) {
		t.Helper()
		do()
		_ = c.Flush()
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: nobody refused that", what)
		}
	}
	for _, subject := range []string{"qsniff.fra-1.server", "qsniff._hub.campaign", "$JS.API.STREAM.INFO.QSNIFF_COUNTS", "$JS.API.STREAM.MSG.GET.QSNIFF_COUNTS",
		"$JS.API.DIRECT.GET.QSNIFF_COUNTS", "$JS.API.CONSUMER.CREATE.QSNIFF_COUNTS", "$JS.API.STREAM.PURGE.QSNIFF_COUNTS", "$KV.QSNIFF_HUB.leader", "_INBOX._hub.x"} {
		isRefused("publishing to "+subject, func() { _ = c.Publish(subject, []byte("{}")) })
	}
	for _, subject := range []string{"qsniff.>", "qsniff.ams-1.server", ">", "_INBOX.>", "_INBOX.fra-1.>", "_INBOX._hub.>", "$JS.>"} {
		isRefused("reading "+subject, func() { _, _ = c.SubscribeSync(subject) })
	}
	if _, err := nats.Connect(s.URL(), nats.NoReconnect()); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("without credentials: %v", err)
	}
}

// TestStolenSensor: a sensor that names subjects of hubs, of other sensors and of the broker's own API as those
// that acks are sent to changes nothing there, and what it publishes under its own name is taken.
func TestStolenSensor(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCredentials(dir, "qsniff")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ams-1", "fra-1"} {
		if _, err := c.AddSensor(name); err != nil {
			t.Fatal(err)
		}
	}
	s, js := runIn(t, c, t.TempDir())
	ctx := t.Context()
	counts, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "QSNIFF_COUNTS", Subjects: []string{"qsniff.*.server"}, AllowDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	campaigns, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "QSNIFF_CAMPAIGNS", Subjects: []string{"qsniff._hub.campaign"}})
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "QSNIFF_HUB"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"leader", "state"} {
		if _, err := bucket.PutString(ctx, key, "of the hub"); err != nil {
			t.Fatal(err)
		}
	}
	other, err := sensor(s, dir, "fra-1")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	inbox, err := other.SubscribeSync(fleet.InboxPrefix("fra-1") + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	stolen, err := sensor(s, dir, "ams-1", nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer stolen.Close()
	replies := []string{"$KV.QSNIFF_HUB.leader", "$KV.QSNIFF_HUB.state", "$KV.QSNIFF_HUB.new", "qsniff._hub.campaign", "qsniff.fra-1.server", fleet.InboxPrefix("fra-1") + ".x",
		"$JS.API.STREAM.PURGE.QSNIFF_COUNTS", "$JS.API.STREAM.DELETE.QSNIFF_COUNTS", "$JS.ACK.QSNIFF_COUNTS.x.1.1.1.1.0", "$SYS.REQ.SERVER.PING", "_R_.x"}
	for _, reply := range replies {
		if err := stolen.PublishMsg(&nats.Msg{Subject: "qsniff.ams-1.server", Reply: reply, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	own, err := jetstream.New(stolen)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := own.Publish(ctx, "qsniff.ams-1.server", []byte("{}")) // after all of them
	if err != nil {
		t.Fatalf("its own: %v", err)
	}
	info, err := counts.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil || info.State.Subjects["qsniff.fra-1.server"] != 0 || info.State.Msgs != ack.Sequence {
		t.Errorf("what others sent: %+v, %v", info.State, err)
	}
	if info, err := campaigns.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("campaigns: %+v, %v", info.State, err)
	}
	for _, key := range []string{"leader", "state"} {
		if e, err := bucket.Get(ctx, key); err != nil || string(e.Value()) != "of the hub" {
			t.Errorf("%s: %v, %v", key, e, err)
		}
	}
	if _, err := bucket.Get(ctx, "new"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("a new key: %v", err)
	}
	if m, err := inbox.NextMsg(100 * time.Millisecond); err == nil && m.Subject != fleet.InboxPrefix("fra-1")+".x" {
		t.Errorf("another sensor got %q", m.Subject)
	}
}

// TestHubFile: the credentials of the hub are those of a user: no key in them can sign others.
func TestHubFile(t *testing.T) {
	c, err := OpenCredentials(t.TempDir(), "qsniff")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.HubFile())
	if err != nil {
		t.Fatal(err)
	}
	seeds := regexp.MustCompile(`\bS[A-Z][A-Z2-7]{56}\b`).FindAllString(string(text), -1)
	if len(seeds) != 1 || !strings.HasPrefix(seeds[0], "SU") {
		t.Errorf("%d seeds, not one of a user", len(seeds))
	}
}

// TestOwnAccount: a folder of credentials in which hubs and sensors had one account is taken over, with what the
// broker stored; sensors keep their files.
func TestOwnAccount(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	c, err := OpenCredentials(dir, "qsniff")
	if err != nil {
		t.Fatal(err)
	}
	file, err := c.AddSensor("ams-1")
	if err != nil {
		t.Fatal(err)
	}
	// As it was: the hub is a user of the sensors' account, which has the streams.
	for _, name := range []string{ownFile, hubFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.addUser(fleet.HubName, hubFile, jwt.Permissions{}, c.account); err != nil {
		t.Fatal(err)
	}
	c.claims.Imports = nil
	c.claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	if err := errors.Join(c.writeAccount(), c.writeConfig()); err != nil {
		t.Fatal(err)
	}
	s, js := runIn(t, c, store)
	config := jetstream.StreamConfig{Name: "QSNIFF_COUNTS", Subjects: []string{"qsniff.*.server"}, Compression: jetstream.S2Compression}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	publish := func() {
		t.Helper()
		conn, err := sensor(s, dir, "ams-1")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		own, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := own.Publish(t.Context(), "qsniff.ams-1.server", []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	s.Close()
	creds, err := LoadCreds(c.HubFile())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Listen: "127.0.0.1:0", Store: store, Config: c.ConfigFile(), Account: AccountOf(creds), Log: quiet()}); !errors.Is(err, ErrShared) {
		t.Errorf("one account for all: %v", err)
	}

	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = OpenCredentials(dir, "qsniff"); err != nil || !c.IsMoved() {
		t.Fatalf("got %v, moved: %v", err, c.IsMoved())
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the sensor's file has changed: %v", err)
	}
	s, js = runIn(t, c, store)
	publish()
	stream, err := js.CreateOrUpdateStream(t.Context(), config)
	if err != nil || stream.CachedInfo().State.Msgs != 2 {
		t.Errorf("got %+v, %v", stream.CachedInfo().State, err)
	}
	if c, err = OpenCredentials(dir, "qsniff"); err != nil || c.IsMoved() {
		t.Errorf("opened again: %v, moved: %v", err, c.IsMoved())
	}
}

// TestRevoke: credentials that are revoked let nobody in, those of others do.
func TestRevoke(t *testing.T) {
	s, c, dir := start(t)
	kept := filepath.Join(dir, "stolen.creds")
	text, err := os.ReadFile(filepath.Join(dir, "ams-1.creds"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// A credential made in the second of its revocation counts as one made after it.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	if err := c.Revoke("ams-1"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = run(t, c)
	if _, err := sensor(s, dir, "stolen"); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("revoked credentials: %v", err)
	}
	other, err := sensor(s, dir, "fra-1")
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	if _, err := c.AddSensor("ams-1"); err != nil {
		t.Errorf("new credentials for the same sensor: %v", err)
	}
}

// TestOpenAgain: what is there stays as it is.
func TestOpenAgain(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenCredentials(dir, "qsniff")
	if err != nil {
		t.Fatal(err)
	}
	file, err := c.AddSensor("ams-1")
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = OpenCredentials(dir, "qsniff"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AddSensor("ams-1"); !errors.Is(err, ErrThere) {
		t.Errorf("made again: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("it has changed: %v", err)
	}
	for _, name := range []string{"_hub", "a.b", "a b", "", "*", ">"} {
		if _, err := c.AddSensor(name); err == nil {
			t.Errorf("%q is the name of a sensor", name)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if text, err := os.ReadFile(c.ConfigFile()); err != nil || strings.Contains(string(text), "SU") && strings.Contains(string(text), "SEED") {
		t.Errorf("a secret in the configuration: %v", err)
	}
}

// TestStart: whoever could reach a broker that asks nobody for credentials is kept off, and a folder
// has one broker.
func TestStart(t *testing.T) {
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:4222", "host.example:4222"} {
		if _, err := Start(Options{Listen: listen, Store: t.TempDir(), Log: quiet()}); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: %v", listen, err)
		}
	}
	dir := t.TempDir()
	s, err := Start(Options{Store: dir, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Store: dir, Log: quiet()}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second broker: %v", err)
	}
	c, err := s.Connect(Dial{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	s.Close()
	if s, err = Start(Options{Store: dir, Log: quiet()}); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// TestRestart: what a broker took is there when it is started again, and connections come back.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Options{Listen: "127.0.0.1:0", Store: dir, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	address := s.Addr().String()
	changed := make(chan error, 16)
	c, err := Dial{URL: s.URL(), Changed: func(err error) { changed <- err }}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := <-changed; err == nil {
		t.Error("it is gone, and the connection is there again")
	}
	if s, err = Start(Options{Listen: address, Store: dir, Log: quiet()}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		stream, err := js.Stream(ctx, "S")
		if err == nil && stream.CachedInfo().State.Msgs == 1 {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{"nats://u:SECRET@h.example:4222": "nats://h.example:4222", "tls://SECRET@h": "tls://h", "SECRET": "the given address", "nats://%SECRET": "the given address"} {
		if got := Redacted(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if _, err := (Dial{URL: "nats://u:SECRET@127.0.0.1:1"}).Connect(); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]uint16{"nats://h": 4222, "tls://h:44": 44, "nats://h:99999": 0, "%": 0} {
		if got := PortOf(text); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

// TestOwnBroker: the configuration in docs/fleet.md for a broker elsewhere lets sensors publish and get acks, and
// keeps them out of what hubs store.
func TestOwnBroker(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```\naccounts {")
	text, _, isThere := strings.Cut(text, "```")
	if !isThere {
		t.Fatal("there is no configuration in docs/fleet.md")
	}
	t.Setenv("HUB_PASSWORD", "of-the-hub")
	t.Setenv("AMS_1_PASSWORD", "of-ams-1")
	config := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(config, []byte("accounts {"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Start(Options{Listen: "127.0.0.1:0", Store: t.TempDir(), Config: config, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	connect := func(user, password string) (*nats.Conn, jetstream.JetStream) {
		c, err := nats.Connect(s.URL(), nats.UserInfo(user, password), nats.CustomInboxPrefix(fleet.InboxPrefix(user)), nats.NoReconnect(),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		js, err := jetstream.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return c, js
	}
	_, hub := connect("hub", "of-the-hub")
	bucket, err := hub.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "QSNIFF_HUB"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.CreateStream(t.Context(), jetstream.StreamConfig{Name: "QSNIFF_COUNTS", Subjects: []string{"qsniff.*.server"}}); err != nil {
		t.Fatal(err)
	}
	conn, own := connect("ams-1", "of-ams-1")
	if err := conn.PublishMsg(&nats.Msg{Subject: "qsniff.ams-1.server", Reply: "$KV.QSNIFF_HUB.state", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if ack, err := own.Publish(t.Context(), "qsniff.ams-1.server", []byte("{}")); err != nil || ack.Sequence != 2 {
		t.Errorf("got %+v, %v", ack, err)
	}
	if _, err := bucket.Get(t.Context(), "state"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("the state: %v", err)
	}
}
