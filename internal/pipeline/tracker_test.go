package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"qsniff/capture"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// collector keeps what the fold tells.
type collector struct {
	facts    []string
	findings int
}

func (c *collector) AddFact(f *track.Fact, found []track.Found, _ *track.ServerInfo) {
	s := fmt.Sprint(f.Frame, " ", f.Step, " ", f.ID)
	if f.Took >= 0 {
		s += fmt.Sprint(" after ", f.Took/ms)
	}
	for _, x := range found {
		s += " " + x.Code.ID
	}
	c.facts = append(c.facts, s)
}

func (c *collector) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {
	c.findings++
}

// exchanges runs datagrams through the pipeline, and returns the facts and what is
// written.
func exchanges(t *testing.T, jobs int, all []sent) (facts []string, out string) {
	t.Helper()
	var b bytes.Buffer
	var c collector
	run, err := Run(context.Background(), Config{Source: capturedOf(t, all), Registry: protos.Registry(t), Out: &b, Jobs: jobs,
		Listener: &c, Renderer: jsonl.New(jsonl.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); uint64(lines) != run.Messages {
		t.Errorf("got  %d lines\nwant %d, the messages", lines, run.Messages)
	}
	return c.facts, b.String()
}

// Facts say what each message is in its exchange, in the order of packets. What was
// not answered is a fact at the tick that decided it, and no line; nothing is said
// of a wait that the capture does not hold.
func TestExchangeFacts(t *testing.T) {
	const client, other, server = "10.64.0.1:40001", "10.64.0.2:40002", "198.18.0.1:27015"
	const (
		info      = "\xff\xff\xff\xffTSource Engine Query\x00"
		challenge = "\xff\xff\xff\xffA\x01\x02\x03\x04"
		ask       = "\xff\xff\xff\xffU\x01\x02\x03\x04"
		swapped   = "\xff\xff\xff\xffU\x04\x03\x02\x01"
		plain     = "\xff\xff\xff\xffU\xff\xff\xff\xff"
		players   = "\xff\xff\xff\xffD\x00"
		part      = "\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x00\xe0\x04\xff\xff\xff\xffE\x01\x00a\x00"
		rest      = "\xfe\xff\xff\xff\x07\x00\x00\x00\x02\x01\xe0\x041\x00"
		rules     = "\xff\xff\xff\xffV\x01\x02\x03\x04"
	)
	for _, tc := range []struct {
		name string
		in   []sent
		want string
	}{
		{"challenge", []sent{{0, client, server, plain}, {5, server, client, challenge}, {7, client, server, ask}, {11, server, client, players}},
			"1 ask 1, 2 challenge 1 after 5, 3 echo 1, 4 answer 1 after 4"},
		{"finding", []sent{{0, client, server, plain}, {5, server, client, challenge}, {7, client, server, swapped}},
			"1 ask 1, 2 challenge 1 after 5, 3 again 1 A2S-C04"},
		{"silence", []sent{{0, client, server, info}, {1000, client, server, info}, {5000, other, server, info}, {9000, other, server, plain}},
			"1 ask 1, 2 again 1, 2 silence 1, 3 ask 3, 3 silence 3, 4 ask 4"},
		{"parts", []sent{{0, client, server, rules}, {10, server, client, part}, {12, client, server, rules}, {30, server, client, rest}},
			"1 ask 1, 3 again 1, 4 answer 1"},
		{"first to last part", []sent{{0, client, server, rules}, {10, server, client, part}, {30, server, client, rest}},
			"1 ask 1, 3 answer 1 after 10"},
		{"a part is missing", []sent{{0, client, server, rules}, {10, server, client, part}, {9000, other, server, info}},
			"1 ask 1, 2 answer 1 after 10 SPL-01, 3 ask 3"},
		{"weak request", []sent{{0, client, "198.18.0.1:9999", "\xff\xff\xff\xffi"}, {20, "198.18.0.1:9999", client, "\xff\xff\xff\xffj00000000000000\x00"}},
			"1 ask 1 A2S-C07, 2 answer 1 after 20"},
	} {
		for _, jobs := range []int{1, 4} {
			got, _ := exchanges(t, jobs, tc.in)
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("%s, %d jobs\ngot  %s\nwant %s", tc.name, jobs, strings.Join(got, ", "), tc.want)
			}
		}
	}
	_, out := exchanges(t, 1, []sent{{0, client, server, rules}, {10, server, client, part}, {30, server, client, rest}})
	for _, want := range []string{`"frames":[2,3],"frames_ms":20,`, `"exchange":{"id":1,"request_frame":1,"rtt_ms":10}`} {
		if !strings.Contains(out, want) {
			t.Errorf("got  %s\nwant %s in it", out, want)
		}
	}
}

// A finding of several address pairs is a line after the message that decided it,
// and told, whatever the number of goroutines.
func TestHostFindings(t *testing.T) {
	const reply = "\xff\xff\xff\xffI\x11a\x00b\x00c\x00d\x00\x00\x00\x00\x00\x00dl\x00\x001\x00"
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	const client, server, other = "10.64.0.1:40001", "198.18.0.1:27015", "198.18.0.2:27015"
	for _, jobs := range []int{1, 4} {
		var file, out bytes.Buffer
		w, err := testpcap.NewWriter(&file, testpcap.Format{Link: testpcap.LinkRaw, SnapLen: capture.MaxCaptured})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []sent{{0, "10.64.0.9:40001", server, info}, {9000, client, server, info}, {9020, other, client, reply}, {9040, client, other, info}} {
			d := testpcap.Datagram{Src: netip.MustParseAddrPort(s.src), Dst: netip.MustParseAddrPort(s.dst), TTL: 64, Payload: []byte(s.payload)}
			if err := w.WritePacket(testpcap.Start+s.at*ms, d.Frame(testpcap.Link{Type: testpcap.LinkRaw})); err != nil {
				t.Fatal(err)
			}
		}
		var c collector
		if _, err := Run(context.Background(), Config{Source: open(t, file.Bytes()), Registry: protos.Registry(t), Out: &out, Jobs: jobs,
			Listener: &c, Renderer: jsonl.New(jsonl.Options{})}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 6 || !strings.Contains(lines[3], `"id":"NET-01","severity":"error"`) || !strings.Contains(lines[3], `"frames":[2,3]`) {
			t.Errorf("%d jobs\ngot  %s\nwant NET-01 after frame 3", jobs, out.String())
		}
		if c.findings != 1 {
			t.Errorf("%d jobs: told\ngot  %d findings\nwant 1", jobs, c.findings)
		}
	}
}
