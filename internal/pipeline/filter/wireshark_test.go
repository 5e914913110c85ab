package filter_test

import (
	"slices"
	"testing"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/test/protos"
)

// wireshark are expressions on fields that tshark has as well, and the frames of
// pcapfiles/a2s/full-poll.pcap that tshark 4.0.17 prints for each. One expression is not here: "all udp.port in {27015, 40001}" has no frame in
// that version, which wants all values to be the same element of the set.
var wireshark = []struct {
	text string
	want []uint64
}{
	{"frame.number", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"frame.number == 1", []uint64{1}},
	{"frame.number eq 1", []uint64{1}},
	{"frame.number != 1", []uint64{2, 3, 4, 5, 6, 7, 8}},
	{"frame.number ne 1", []uint64{2, 3, 4, 5, 6, 7, 8}},
	{"frame.number > 3 and frame.number <= 6", []uint64{4, 5, 6}},
	{"frame.number gt 3 && frame.number le 6", []uint64{4, 5, 6}},
	{"frame.number === 1", []uint64{1}},
	{"frame.number !== 1", []uint64{2, 3, 4, 5, 6, 7, 8}},
	{"frame.number in {1, 3..5}", []uint64{1, 3, 4, 5}},
	{"frame.number not in {1,2}", []uint64{3, 4, 5, 6, 7, 8}},
	{"not frame.number in {1..3}", []uint64{4, 5, 6, 7, 8}},
	{"frame.number < 012", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"frame.number < 0b100", []uint64{1, 2, 3}},
	{`frame.number < '\x04'`, []uint64{1, 2, 3}},
	{"frame.number == 0x2", []uint64{2}},
	{"frame.number == 1 or frame.number == 2 and frame.number == 3", []uint64{1}},
	{"frame.number == 1 and udp or tcp and ip", []uint64{1}},
	{"(frame.number == 1 or frame.number == 2) and frame.number == 2", []uint64{2}},
	{"!frame.number == 1", []uint64{2, 3, 4, 5, 6, 7, 8}},
	{"not not frame.number == 1", []uint64{1}},
	{"not frame.number == 1 and frame.number < 4", []uint64{2, 3}},
	{"frame.number & 1", []uint64{1, 3, 5, 7}},
	{"frame.number & 3 == 2", []uint64{2, 6}},
	{"frame.number & 3 == 2 and udp", []uint64{2, 6}},
	{"ip", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ipv6", nil},
	{"tcp", nil},
	{"udp.payload[0:5] == ff:ff:ff:ff:54", []uint64{1, 3}},
	{"udp.payload[4] == 55", []uint64{5}},
	{"tcp.payload", nil},
	{"udp && !tcp", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.addr == 10.64.0.36", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.addr != 10.64.0.36", nil},
	{"ip.addr !== 10.64.0.36", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.addr === 10.64.0.36", nil},
	{"any ip.addr != 10.64.0.36", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"all ip.addr == 10.64.0.36", nil},
	{"all ip.addr == 0.0.0.0/0", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"all ip.addr != 1.2.3.4", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.src any_eq 10.64.0.36", []uint64{1, 3, 5, 7}},
	{"ip.addr all_eq 10.64.0.36", nil},
	{"ip.addr any_ne 10.64.0.36", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.addr all_ne 10.64.0.37", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.src == 10.0.0.0/8", []uint64{1, 3, 5, 7}},
	{"ip.src != 10.0.0.0/8", []uint64{2, 4, 6, 8}},
	{"ip.src == 198.18.0.0/15 or frame.number == 1", []uint64{1, 2, 4, 6, 8}},
	{"ip.addr in {10.0.0.0/8}", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.src in {10.64.0.0 .. 10.64.0.255, 1.2.3.4}", []uint64{1, 3, 5, 7}},
	{"ip.src > 10.64.0.36", []uint64{2, 4, 6, 8}},
	{"ip.src >= 10.64.0.36", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.src == ip.dst", nil},
	{"ip.src != ip.dst", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"ip.src < ip.dst", []uint64{1, 3, 5, 7}},
	{"ip.src < 11.0.0.0 and udp.dstport == 27015", []uint64{1, 3, 5, 7}},
	{"ipv6.src == 2001:db8::1", nil},
	{"ipv6.src != 2001:db8::1", nil},
	{"not ipv6.src == 2001:db8::1", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"udp.port == 27015", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"udp.port != 27015", nil},
	{"udp.port !== 27015", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"all udp.port > 27000", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"all udp.port > 28000", nil},
	{"udp.srcport > 40000", []uint64{1, 3, 5, 7}},
	{"udp.srcport > udp.dstport", []uint64{1, 3, 5, 7}},
	{"udp.port > 30000 and udp.port < 30000", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"udp.port in {27015}", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"udp.port in {30000..50000}", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"tcp.port == 80", nil},
	{"tcp.port != 80", nil},
	{"not tcp.port == 80", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"not tcp.port != 80", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"len(payload) > 50", []uint64{4}},
	{"len(payload) == 9", []uint64{2, 5, 7}},
	{"count(ip.addr) == 2", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"count(udp.port) > 2", nil},
	{"count(tcp.port) == 0", nil},
	{"payload", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{`payload contains "de_"`, []uint64{4}},
	{`payload contains "DE_"`, nil},
	{"payload contains 64:65:5f", []uint64{4}},
	{`payload contains "Source Engine Query\x00"`, []uint64{1, 3}},
	{`payload contains "Source\040Engine"`, []uint64{1, 3}},
	{`payload matches "DE_DUST"`, []uint64{4}},
	{`payload matches "(?-i)DE_DUST"`, nil},
	{`payload matches "source engine|de_dust"`, []uint64{1, 3, 4}},
	{`payload ~ r"de_[a-z]+\d"`, []uint64{4}},
	{`payload contains r"de_"`, []uint64{4}},
	{"payload[4] == 54", []uint64{1, 3}},
	{"payload[4] == 0x54", []uint64{1, 3}},
	{`payload[4] == "T"`, []uint64{1, 3}},
	{"payload[4] != 54", []uint64{2, 4, 5, 6, 7, 8}},
	{"payload[4] > 54", []uint64{5, 7}},
	{"payload[0:4] == ff:ff:ff:ff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[0:4] == ff.ff.ff.ff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[0:4] == ff-ff-ff-ff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[0:4] == ffffffff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[:4] == ff:ff:ff:ff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[0-3] == ff:ff:ff:ff", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[3-4] == ff:54", []uint64{1, 3}},
	{"payload[1,2-3,4:1] == ff:ff:ff:54", []uint64{1, 3}},
	{"payload[-1:] == 00", []uint64{1, 4, 8}},
	{"payload[-1] == 00", []uint64{1, 4, 8}},
	{"payload[-4:2] == 00:00", []uint64{4}},
	{"payload[-4:]", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[20:]", []uint64{1, 3, 4, 6, 8}},
	{"payload[100:]", []uint64{4}},
	{"payload[100] == 00", nil},
	{"payload[20:10]", []uint64{4, 6, 8}},
	{"payload[24:1]", []uint64{1, 3, 4, 6, 8}},
	{"payload[24]", []uint64{1, 3, 4, 6, 8}},
	{"payload[25]", []uint64{3, 4, 6, 8}},
	{`payload[5:3] contains "Sou"`, []uint64{1, 3}},
	{`payload[4:1] matches "t"`, []uint64{1, 3}},
	{"payload[0:2] & ff:00", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload[4] & 0f == 04", []uint64{1, 3, 6}},
	{"payload == ff:ff:ff:ff:55:ff:ff:ff:ff", nil},
	{`payload > "a"`, []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
	{"payload < fe", nil},
	{"frame.time_relative > 0.05", []uint64{4, 5, 6, 7, 8}},
	{"frame.time_relative <= 0.1", []uint64{1, 2, 3, 4, 5, 6}},
	{"frame.time_relative in {0.02 .. 0.07}", []uint64{2, 3, 4}},
	{`frame.time >= "2023-11-14 22:13:20.1" and frame.time < "2023-11-14T22:13:20.13"`, []uint64{6, 7}},
	{`frame.time < "2000-01-01 00:00:00"`, nil},
	{`frame.time >= "2023-11-14T22:13:20.1Z"`, []uint64{6, 7, 8}},
	{`frame.time >= "2023-11-14 23:13:20.1+01:00"`, []uint64{6, 7, 8}},
	{`frame.time > "Nov 14, 2023 22:13:20 UTC"`, []uint64{2, 3, 4, 5, 6, 7, 8}},
	{"frame.number == 1 || frame.number == 3", []uint64{1, 3}},
	{"frame.number>1&&frame.number<4", []uint64{2, 3}},
	{"not (udp and frame.number > 2)", []uint64{1, 2}},
}

func TestWireshark(t *testing.T) {
	reg := protos.Registry(t)
	k := readCapture(t, reg, "../../../pcapfiles/a2s/full-poll.pcap")
	for _, tc := range wireshark {
		m := compile(t, tc.text, filter.Options{UTC: true}).Matcher()
		var got []uint64
		for _, e := range k.events {
			if m.Match(e) == filter.All {
				got = append(got, e.Frame)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s\ngot  %v\nwant %v", tc.text, got, tc.want)
		}
	}
}
