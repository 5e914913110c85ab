package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"qsniff/internal/test/testpcap"
)

// hostNames are the hosts of the fleet, each with hostServers servers. Chosen: an attack of which each
// server gets less than an alarm takes, and all together more.
var hostNames = []string{"ams-1", "ams-2", "fra-1"}

const hostServers = 8

// A server is asked usualRate times a second. In the second minute of each attackEvery it gets attackRate
// more, from forged addresses, without an answer.
const (
	usualRate   = 2
	attackRate  = 22
	attackEvery = 300 // seconds
	attackFrom  = 60
	attackUntil = 120
)

// A capture of the ring has fileSeconds seconds, and a ring filesKept captures.
const (
	fileSeconds = 600
	filesKept   = 3
)

// fleet writes what the hosts of a fleet capture, as time goes on.
type fleet struct {
	dir   string
	start time.Time
	rng   *rand.Rand
	frame *assembler
	rings []*hostRing
}

// hostRing is the ring of captures of one host.
type hostRing struct {
	dir  string
	net  uint32 // of its servers
	file *os.File
	buf  *bufio.Writer
	out  *testpcap.Writer
	kept []string
}

// datagram is a packet that was not written yet.
type datagram struct {
	nanos    int64
	src, dst endpoint
	payload  []byte
}

// runFleet writes rings of captures, a folder for each host, until their length is reached.
func runFleet(args []string) error {
	flags := flag.NewFlagSet("mkpcap fleet", flag.ContinueOnError)
	dir := flags.String("o", "", "folder to write to")
	since := flags.Duration("since", 2*time.Minute, "begin so long ago: that much is written at once")
	length := flags.Duration("for", 0, "end after so much of capture time; 0: never")
	seed := flags.Uint64("seed", 1, "seed of everything random")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 || *dir == "" || *since < 0 || *length < 0 {
		return errors.New("mkpcap fleet: wrong arguments; -h lists them")
	}
	f := &fleet{dir: *dir, start: time.Now().Add(-*since), rng: newRand(*seed), frame: newAssembler()}
	for i, name := range hostNames {
		h := &hostRing{dir: filepath.Join(*dir, name), net: serverNet + uint32(i+1)<<8}
		if err := os.MkdirAll(h.dir, 0o755); err != nil {
			return err
		}
		f.rings = append(f.rings, h)
	}
	for second := 0; *length == 0 || time.Duration(second)*time.Second < *length; second++ {
		time.Sleep(time.Until(f.start.Add(time.Duration(second+1) * time.Second)))
		if err := f.writeSecond(second); err != nil {
			return err
		}
	}
	var err error
	for _, h := range f.rings {
		err = errors.Join(err, h.file.Close())
	}
	return err
}

// writeSecond writes what all hosts capture in a second.
func (f *fleet) writeSecond(second int) error {
	for _, h := range f.rings {
		if second%fileSeconds == 0 {
			if err := h.begin(second / fileSeconds); err != nil {
				return err
			}
		}
		for _, d := range f.drawSecond(h, second) {
			if err := h.out.WritePacket(d.nanos, f.frame.buildUDP(d.src, d.dst, 60, d.payload)); err != nil {
				return err
			}
		}
		if err := h.buf.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// drawSecond returns the packets of a host in a second, in order of time.
func (f *fleet) drawSecond(h *hostRing, second int) (all []datagram) {
	from := f.start.Add(time.Duration(second) * time.Second).UnixNano()
	phase := second % attackEvery
	for i := range uint32(hostServers) {
		server := endpoint{h.net + 1 + i, serverPort}
		for range usualRate {
			client := endpoint{clientNet + f.rng.Uint32N(200), uint16(40_000 + f.rng.IntN(1000))}
			at := from + f.rng.Int64N(int64(900*time.Millisecond))
			all = append(all, datagram{at, client, server, infoRequest},
				datagram{at + int64(20*time.Millisecond), server, client, fleetReply})
		}
		if phase < attackFrom || phase >= attackUntil {
			continue
		}
		for range attackRate {
			forged := endpoint{drawSource(f.rng), uint16(1024 + f.rng.IntN(65_536-1024))}
			all = append(all, datagram{from + f.rng.Int64N(int64(time.Second)), forged, server, infoRequest})
		}
	}
	slices.SortStableFunc(all, func(a, b datagram) int { return cmp.Compare(a.nanos, b.nanos) })
	return all
}

// begin begins the next capture of the ring, and removes the oldest of more than filesKept.
func (h *hostRing) begin(n int) error {
	if h.file != nil {
		if err := h.file.Close(); err != nil {
			return err
		}
	}
	name := filepath.Join(h.dir, fmt.Sprintf("fleet-%05d.pcap", n))
	var err error
	if h.file, err = os.Create(name); err != nil {
		return err
	}
	h.buf = bufio.NewWriterSize(h.file, 1<<16)
	if h.out, err = testpcap.NewWriter(h.buf, testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 262_144, Nano: true}); err != nil {
		return err
	}
	if h.kept = append(h.kept, name); len(h.kept) > filesKept {
		err = os.Remove(h.kept[0])
		h.kept = h.kept[1:]
	}
	return err
}

// fleetReply is the answer of a server to infoRequest.
var fleetReply = []byte("\xff\xff\xff\xffI\x11Fleet\x00de_dust2\x00csgo\x00Counter-Strike: Global Offensive\x00" +
	"\xda\x02\x0c\x18\x00dl\x00\x011.38.7.9\x00\x80\x87\x69")
