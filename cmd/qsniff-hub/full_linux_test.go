package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/test/freeport"
	"qsniff/internal/test/timing"
)

// TestFullDisk: a hub whose disk is nearly full says so; one whose broker could not write ends with a status that
// its unit restarts; and once there is room it works again, with what was stored, without a hand.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("mounts a file system and fills it")
	}
	store := t.TempDir()
	if err := syscall.Mount("tmpfs", store, "tmpfs", 0, "size=128m"); err != nil {
		t.Skipf("a file system of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(store, syscall.MNT_DETACH) })
	secret := writeSecret(t, t.TempDir(), "secret", "of all sensors and hubs")
	address := freeport.Addr(t)
	args := []string{"--secret", secret, "--store", filepath.Join(store, "streams"), "--nats-listen", address}
	p := start(t, args...)
	if got := p.get("/healthz"); got != "ok\n" || !strings.Contains(p.log.String(), "too small for --retention-size") {
		t.Errorf("with room: %q; log: %s", got, p.log.String())
	}
	conn, err := nats.Connect("nats://"+address, nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	// Random bytes, which the streams cannot compress.
	noise := make([]byte, 16<<10)
	f, err := os.Open("/dev/urandom")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	publish := func(js jetstream.JetStream) error {
		if _, err := f.Read(noise); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := js.Publish(ctx, "qsniff.ams-1.server", noise)
		return err
	}
	if err := publish(js); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(store, "ballast"))
	if err := os.Truncate(filepath.Join(store, "ballast"), size(t, filepath.Join(store, "ballast"))-4<<20); err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "it says that the disk is nearly full", func() bool { return strings.Contains(p.get("/healthz"), "the disk of --store has only") })
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	published := 1
	for isOver := false; !isOver; {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.Contains(p.log.String(), "the broker stores no more") {
				t.Errorf("it ended with %v", err)
			}
			isOver = true
		default:
			if published < 2000 && publish(js) == nil {
				published++
				continue
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if err := os.Remove(filepath.Join(store, "ballast")); err != nil {
		t.Fatal(err)
	}
	p = start(t, args...)
	if conn, err = nats.Connect("nats://"+address, nats.NoReconnect()); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	if err := publish(js); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if got := p.get("/healthz"); got != "ok\n" {
		t.Errorf("with room again: %q", got)
	}
	stream, err := js.Stream(t.Context(), "QSNIFF_COUNTS")
	if err != nil || stream.CachedInfo().State.Msgs < uint64(published) {
		t.Errorf("of %d messages that were acknowledged %+v are there, %v", published, stream.CachedInfo().State, err)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := bytes.Repeat([]byte{1}, 1<<20); ; {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
