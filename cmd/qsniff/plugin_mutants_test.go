package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/capture/packet"
	"qsniff/internal/test/testpcap"
)

// TestPluginStands gives the plugin datagrams and segments that are cut at every length, or
// have bytes changed, and asks that Lua raises no error.
func TestPluginStands(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	file := filepath.Join(t.TempDir(), "mutants.pcap")
	n := 1500
	if testing.Short() {
		n = 300
	}
	if err := os.WriteFile(file, mutatedPayloads(t, n), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(string(tshark), "-X", "lua_script:"+plugin, "-2", "-n", "-V", "-r", file,
		"-o", "udp.try_heuristic_first:TRUE", "-o", "tcp.try_heuristic_first:TRUE")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out[max(0, len(out)-300):])
	}
	if i := bytes.Index(out, []byte("Lua Error")); i >= 0 {
		t.Errorf("%s", out[i:min(len(out), i+300)])
	}
	if shown := bytes.Count(out, []byte("\n    [status: ")); shown < n/4 {
		t.Errorf("%d of %d packets are messages to the plugin", shown, n)
	}
}

// mutatedPayloads returns a capture of n packets whose payloads are those of the captures, damaged.
func mutatedPayloads(t *testing.T, n int) []byte {
	t.Helper()
	const raw, udp, tcp, ipLen = 101, 17, 6, 20
	rng := rand.New(rand.NewPCG(3, 4))
	all := wholePayloads(t)
	le, be := binary.LittleEndian, binary.BigEndian
	out := le.AppendUint32(nil, 0xa1b2c3d4)
	out = le.AppendUint32(out, 2|4<<16)
	out = le.AppendUint32(append(out, 0, 0, 0, 0, 0, 0, 0, 0), 1<<18)
	out = le.AppendUint32(out, raw)
	for i := range n {
		d := all[rng.IntN(len(all))]
		b := bytes.Clone(d.payload)
		for range rng.IntN(3) {
			if len(b) > 0 {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
		}
		b = b[:rng.IntN(len(b)+1)]
		p := be.AppendUint16(nil, d.src)
		p = be.AppendUint16(p, d.dst)
		proto := byte(udp)
		if d.isTCP {
			proto = tcp
			p = append(p, 0, 0, 0, 1, 0, 0, 0, 1, 5<<4, 0x18, 0xff, 0xff, 0, 0, 0, 0)
		} else {
			p = append(be.AppendUint16(p, uint16(8+len(b))), 0, 0)
		}
		p = append(p, b...)
		ip := append([]byte{0x45, 0}, be.AppendUint16(nil, uint16(ipLen+len(p)))...)
		ip = append(ip, 0, 0, 0, 0, 64, proto, 0, 0, 10, byte(i>>16), byte(i>>8), byte(i), 198, 18, 0, 1)
		p = append(ip, p...)
		out = le.AppendUint64(out, uint64(1_700_000_000+i/1000))
		out = le.AppendUint32(le.AppendUint32(out, uint32(len(p))), uint32(len(p)))
		out = append(out, p...)
	}
	return out
}

// wholePayload is what one packet of a capture carries.
type wholePayload struct {
	payload  []byte
	src, dst uint16
	isTCP    bool
}

// wholePayloads lists the payloads of all packets of all captures, but of the long ones.
func wholePayloads(t *testing.T) (all []wholePayload) {
	t.Helper()
	for _, name := range captures(t) {
		if isRecorded(name) {
			continue
		}
		c, err := testpcap.ReadFile(strings.TrimSuffix(name, ".pcap") + ".hex")
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Packets[:min(len(c.Packets), 100)] {
			var p packet.Packet
			frame := c.Packets[i].Frame
			p.Decode(c.Link.Type, frame, len(frame))
			if len(p.Payload) > 0 && len(p.Payload) < 1<<15 && (p.Stop == packet.OK || p.Stop == packet.TCP) && !p.Frag.Set {
				all = append(all, wholePayload{bytes.Clone(p.Payload), p.Src.Port(), p.Dst.Port(), p.Stop == packet.TCP})
			}
		}
	}
	return all
}

// TestPluginHidesCopies: texts that other copies contradict are hidden, in two passes also those
// before the second copy, and in one, in which packets come with their fields.
func TestPluginHidesCopies(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	for _, tt := range []struct {
		capture, shown, hidden string
		passes                 []string
	}{
		{"rcon/rewritten-name", "<redacted>", "s3cr3t", []string{"-2"}},
		{"rcon/rewritten-name", "<redacted>", "s3cr3t", nil},
		{"hostile/rcon-overlap", "<redacted>", "status", []string{"-2"}},
		{"hostile/rcon-overlap", "status", "hostname", nil},
		{"goldsource/rcon-split-rewritten", "players: 3 of 16", "Secret", []string{"-2"}},
	} {
		args := append([]string{"-X", "lua_script:" + plugin, "-n", "-r", filepath.Join(pcapfiles, tt.capture+".pcap"), "-o", "tcp.try_heuristic_first:TRUE",
			"-T", "fields", "-e", "rcon.body", "-e", "rcon.body_secret", "-e", "goldsource.print.text", "-e", "goldsource.print.text_secret"}, tt.passes...)
		out, err := exec.Command(string(tshark), args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), tt.shown) || strings.Contains(string(out), tt.hidden) {
			t.Errorf("%s %v: want %q and no %q in\n%s", tt.capture, tt.passes, tt.shown, tt.hidden, out)
		}
	}
}

// TestPluginSecrets: passwords are shown where the preference says so, and nowhere else.
func TestPluginSecrets(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	const password = "Secret3 with blanks"
	for show, want := range map[string]string{"FALSE": "<redacted>", "TRUE": password} {
		out, err := exec.Command(string(tshark), "-X", "lua_script:"+plugin, "-n", "-r", filepath.Join(pcapfiles, "goldsource", "rcon-passwords.pcap"),
			"-o", "qsniff.show_secrets:"+show, "-T", "fields", "-e", "goldsource.rcon.password", "-e", "goldsource.rcon.command").Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out), want) || strings.Contains(string(out), password) != (want == password) {
			t.Errorf("show_secrets %s: got %q", show, out)
		}
	}
}
