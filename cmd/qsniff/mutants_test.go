package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

// TestMutants damages captures in all the ways that disks and people do, and asks
// that each is read to an end, in bounded time and memory, with the status of a
// good or of a damaged capture and with output that is whole.
//
// It runs in a process of its own, whose memory no other test has a part in.
func TestMutants(t *testing.T) {
	t.Parallel()
	const own = "QSNIFF_MUTANTS"
	if os.Getenv(own) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMutants$")
		n := 400
		if testing.Short() {
			n = 150
		}
		cmd.Env = append(os.Environ(), own+"="+strconv.Itoa(n))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	debug.SetGCPercent(100) // as the program has it, unlike its tests
	n, err := strconv.Atoi(os.Getenv(own))
	if err != nil {
		t.Fatal(err)
	}
	readMutants(t, n)
	const memory = 256 << 20
	if n, ok := peak(); !ok {
		t.Log("how much memory a process took is unknown on this system")
	} else if n > memory {
		t.Errorf("%d MiB taken from the system, want at most %d", n>>20, memory>>20)
	}
}

func readMutants(t *testing.T, mutants int) {
	const patient = time.Minute // a mutant takes 7 ms; on a busy machine, as a share of it
	rng := rand.New(rand.NewPCG(1, 2))
	names := captures(t)
	dir := t.TempDir()
	for i := range mutants {
		name := names[rng.IntN(len(names))]
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mutant := filepath.Join(dir, "mutant.pcap")
		if err := os.WriteFile(mutant, mutate(rng, data), 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patient)
		var out, errs bytes.Buffer
		status := run(ctx, []string{"read", "-o", "json", "--layout", mutant}, streams{&out, &errs})
		cancel()
		if status != exitOK && status != exitFailed {
			t.Errorf("mutant %d of %s: exit status %d: %s", i, name, status, &errs)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("mutant %d of %s: no JSON: %s", i, name, line)
			}
		}
	}
}

// mutate damages a copy of data.
func mutate(rng *rand.Rand, data []byte) []byte {
	b := bytes.Clone(data)
	for range 1 + rng.IntN(4) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		n := min(rng.IntN(64), len(b)-at)
		switch rng.IntN(7) {
		case 0:
			b = b[:at]
		case 1:
			clear(b[at : at+n])
		case 2:
			b[at] ^= 1 << rng.IntN(8)
		case 3:
			for i := range n {
				b[at+i] = byte(rng.Uint32())
			}
		case 4:
			b = append(b[:at:at], b[at+n:]...)
		case 5:
			b = append(b[:at:at], append(bytes.Clone(b[at:at+n]), b[at:]...)...)
		case 6: // a length or a time, most likely
			for i := range min(4, n) {
				b[at&^3+i] = 0xff
			}
		}
	}
	return b
}
