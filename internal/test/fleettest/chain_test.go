package fleettest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/fleet"
	"qsniff/fleet/outbox"
)

func TestTry(t *testing.T) {
	KeepClock(t)
	dir := t.TempDir()
	begun := time.Now()
	hosts := 20
	synctest.Test(t, func(t *testing.T) {
		b := NewBroker(t, dir+"/broker")
		b.Start()
		l := b.Link()
		nc := l.Connect(t)
		js, _ := jetstream.New(nc)
		st, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"qsniff.>"}})
		if err != nil {
			t.Fatal(err)
		}
		p := NewPost(t, b, dir, outbox.LeastSpool)
		start := time.Now()
		f := NewFleet(FleetOptions{World: Options{Hosts: hosts, Seed: 1, Start: start}, Secret: Secret(), Put: p.Put})
		f.PlayDay(10 * time.Minute)
		for sec := time.Second; sec < 5*time.Minute; sec += time.Second {
			time.Sleep(time.Until(start.Add(sec)))
			switch sec {
			case 60 * time.Second:
				b.Stop()
			case 120 * time.Second:
				b.Start()
			case 180 * time.Second:
				p.Box(f.Hosts[3]).Link.Cut()
			case 240 * time.Second:
				p.Box(f.Hosts[3]).Link.Mend()
			}
			f.Pass(sec, nil)
			if sec%(20*time.Second) == 0 {
				t.Log(sec, p.Waiting())
			}
		}
		time.Sleep(time.Minute)
		t.Log("waiting", p.Waiting())
		made := uint64(0)
		for _, x := range p.boxes {
			made += x.Made
		}
		info, err := st.Info(context.Background())
		t.Log(made, info.State.Msgs, err)
		p.Close()
		nc.Close()
		b.Stop()
	})
	t.Log(time.Since(begun))
	_ = fleet.DefaultPrefix
}
