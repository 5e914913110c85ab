package fleettest

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/test/timing"
)

// BenchmarkHub measures what a machine takes that runs a hub with its broker, for a window of the messages
// of so many sensors: CPU time of all that is in this process, which publishes as well.
func BenchmarkHub(b *testing.B) {
	windows := Record(recordedHosts, time.Minute, 40*time.Second, dawn)
	for _, sensors := range []int{200, 1000, 5000} {
		b.Run(fmt.Sprint(sensors), func(b *testing.B) { measureHub(b, windows[4:], sensors) })
	}
}

// line is a message on its way.
type line struct {
	subject, id string
	data        []byte
}

// measureHub publishes windows, and waits until the hub has read each.
func measureHub(b *testing.B, windows []Window, sensors int) {
	broker := NewBroker(b, b.TempDir())
	broker.Start()
	defer broker.Stop()
	conn := broker.Link().Connect(b)
	defer conn.Close()
	var now atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	h, err := hub.New(ctx, hub.Options{Conn: conn, Prefix: fleet.DefaultPrefix, Secret: Secret(), Retention: hub.Retention{Age: time.Hour, Size: 4 << 30},
		Messenger: new(recorder), Log: slog.New(slog.DiscardHandler),
		Times: func(m fleet.Message, _, _ int64) (int64, int64) {
			t := fleet.HeadOf(m).Time + int64(time.Second)
			return t, t
		},
		Now: func(int64) int64 { return now.Load() }})
	if err != nil {
		b.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- h.Run(ctx) }()
	defer func() { stop(); <-over }()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(256))
	if err != nil {
		b.Fatal(err)
	}
	seq, end, total, bytes := map[string]uint64{}, windows[0].End, uint64(0), 0
	var spent time.Duration
	for i := range b.N {
		lines := encoded(b, windows[i%len(windows)].Clone(sensors/recordedHosts), windows[i%len(windows)].End, end, seq)
		before := cpuTime()
		for _, l := range lines {
			m := &nats.Msg{Subject: l.subject, Data: l.data, Header: nats.Header{}}
			m.Header.Set(jetstream.MsgIDHeader, l.id)
			if _, err := js.PublishMsgAsync(m); err != nil {
				b.Fatal(err)
			}
			bytes += len(l.data)
		}
		<-js.PublishAsyncComplete()
		total += uint64(len(lines))
		now.Store(end + 6*int64(time.Second))
		timing.Await(b, "the hub", func() bool { return h.View().Counters.Messages == total })
		spent += cpuTime() - before
		end += int64(fleet.Period)
	}
	each := spent.Seconds() / float64(b.N)
	b.ReportMetric(each*1e3, "cpu-ms/window")
	b.ReportMetric(each/fleet.Period.Seconds()*100, "%core")
	b.ReportMetric(float64(sensors)*fleet.Period.Seconds()/each, "sensors/core")
	b.ReportMetric(float64(total)/float64(b.N), "messages/window")
	b.ReportMetric(float64(bytes)/float64(b.N)/float64(sensors)/fleet.Period.Seconds(), "B/s/sensor")
	b.ReportMetric(float64(h.View().Streams[0].Bytes)/float64(b.N)/float64(sensors)/fleet.Period.Seconds(), "disk-B/s/sensor")
}

// encoded returns messages as lines, with the time of a window that ends at another time.
func encoded(b *testing.B, all []fleet.Message, was, end int64, seq map[string]uint64) []line {
	lines := make([]line, len(all))
	for i, m := range all {
		h := fleet.HeadOf(m)
		seq[h.Sensor]++
		h.Seq, h.Time = seq[h.Sensor], h.Time-was+end
		data, err := fleet.Encode(m)
		if err != nil {
			b.Fatal(err)
		}
		lines[i] = line{fleet.Subject(fleet.DefaultPrefix, h.Sensor, h.Kind), h.MessageID(), data}
	}
	return lines
}

// cpuTime returns what the process has taken so far.
func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
