package pipeline

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"

	"qsniff/capture"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
	"qsniff/reassembly/wire"
)

const ms = 1_000_000

// sent is one datagram of a small capture.
type sent struct {
	at       int64 // milliseconds
	src, dst string
	payload  string
}

// capturedOf returns a capture of datagrams.
func capturedOf(t *testing.T, all []sent) capture.Source {
	t.Helper()
	var file bytes.Buffer
	w, err := testpcap.NewWriter(&file, testpcap.Format{Link: testpcap.LinkRaw, SnapLen: capture.MaxCaptured})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		d := testpcap.Datagram{Src: netip.MustParseAddrPort(s.src), Dst: netip.MustParseAddrPort(s.dst), TTL: 64, Payload: []byte(s.payload)}
		if err := w.WritePacket(testpcap.Start+s.at*ms, d.Frame(testpcap.Link{Type: testpcap.LinkRaw})); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, file.Bytes())
}

// verdicts returns what becomes of datagrams: a line for each message, with its
// verdict.
func verdicts(t *testing.T, cfg Config, all ...sent) []string {
	t.Helper()
	var out bytes.Buffer
	cfg.Source, cfg.Registry, cfg.Out, cfg.Jobs = capturedOf(t, all), protos.Registry(t), &out, 2
	cfg.Renderer = text.NewTree(text.Options{Width: 200, UTC: true})
	if _, err := Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "frame ") {
			words := strings.Fields(line)
			lines = append(lines, words[1]+" "+strings.Join(words[7:], " "))
		}
	}
	return lines
}

// A message too weak to be believed needs a second witness; a request may get it
// from the reply that follows.
func TestWeakMessages(t *testing.T) {
	const (
		client, odd, usual = "10.64.0.1:40001", "198.18.0.1:9999", "198.18.0.1:27015"
		ping, ack          = "\xff\xff\xff\xffi", "\xff\xff\xff\xffj\x00"
		info               = "\xff\xff\xff\xffTSource Engine Query\x00"
		part               = "\xfe\xff\xff\xff\x07\x00\x00\x00\x12some text"
		rcon               = "\xff\xff\xff\xffrcon 584425803 \"pw\" status"
		source             = "\xff\xff\xff\xffj00000000000000\x00"
	)
	p := protos.Registry(t).SplitProto(wire.Source) // a2s
	for _, tc := range []struct {
		name string
		cfg  Config
		in   []sent
		want []string
	}{
		{"alone", Config{}, []sent{{0, client, odd, ping}}, nil},
		{"reply alone", Config{}, []sent{{0, odd, client, ack}}, nil},
		{"on the port", Config{}, []sent{{0, client, usual, ping}}, []string{"1 a2s A2A_PING request 5 bytes likely: port 1 note"}},
		{"as told", Config{DecodeAs: []DecodeAs{{Port: 9999, Proto: p}}}, []sent{{0, client, odd, ping}},
			[]string{"1 a2s A2A_PING request 5 bytes likely: as told 1 note"}},
		{"as told, but another's", Config{DecodeAs: []DecodeAs{{Port: 9999, Proto: p}}}, []sent{{0, client, odd, rcon}},
			[]string{"1 goldsource RCON request 30 bytes likely: structure"}},
		{"flow", Config{}, []sent{{0, client, odd, info}, {20, client, odd, ping}},
			[]string{"1 a2s A2S_INFO request 25 bytes certain: structure", "2 a2s A2A_PING request 5 bytes likely: earlier messages of this flow 1 note"}},
		{"its reply", Config{}, []sent{{0, client, odd, ping}, {10, client, "198.18.0.2:53", "x"}, {20, odd, client, source}},
			[]string{"1 a2s A2A_PING request 5 bytes likely: its reply came 1 note", "3 a2s A2A_ACK reply answers frame 1 after 20 ms 20 bytes likely: structure"}},
		{"its reply, too late", Config{}, []sent{{0, client, odd, ping}, {6000, odd, client, source}},
			[]string{"2 a2s A2A_ACK reply 20 bytes likely: structure"}},
		{"another's reply", Config{}, []sent{{0, client, odd, ping}, {20, odd, "10.64.0.2:40001", source}},
			[]string{"2 a2s A2A_ACK reply 20 bytes likely: structure"}},
		{"weak answer to a question", Config{}, []sent{{0, client, odd, info}, {10, client, odd, ping}, {20, odd, client, ack}},
			[]string{"1 a2s A2S_INFO request 25 bytes certain: structure",
				"2 a2s A2A_PING request 5 bytes likely: earlier messages of this flow 1 note",
				"3 a2s A2A_ACK reply answers frame 2 after 10 ms 6 bytes likely: answers a question of this flow"}},
		{"part of nobody's", Config{}, []sent{{0, odd, client, part}}, nil},
		{"part on the port", Config{}, []sent{{0, usual, client, part}}, []string{"1 goldsource unknown message reply 9 bytes fragment 2 note"}},
		{"part as told", Config{DecodeAs: []DecodeAs{{Port: 9999, Proto: p}}}, []sent{{0, odd, client, part}},
			[]string{"1 goldsource unknown message reply 9 bytes fragment 2 note"}},
		{"part after a question", Config{}, []sent{{0, client, odd, info}, {20, odd, client, part}},
			[]string{"1 a2s A2S_INFO request 25 bytes certain: structure", "2 goldsource unknown message reply answers frame 1 after 20 ms 9 bytes fragment 2 note"}},
		{"part after a weak question", Config{}, []sent{{0, client, odd, ping}, {20, odd, client, part}},
			[]string{"2 goldsource unknown message reply 9 bytes fragment 2 note"}},
	} {
		got := verdicts(t, tc.cfg, tc.in...)
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}
