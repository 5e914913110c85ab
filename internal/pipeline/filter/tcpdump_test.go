package filter_test

import (
	"testing"

	"qsniff/capture/pcapfilter"
	"qsniff/internal/pipeline/filter"
)

// TestFromTcpdump: a simple expression of tcpdump means the same here, and no other one
// is taken for simple.
func TestFromTcpdump(t *testing.T) {
	for text, want := range map[string]string{
		"udp":                               "udp",
		"udp port 27015":                    "udp.port == 27015",
		"host 10.0.0.1":                     "(addr == 10.0.0.1)",
		"src host 10.0.0.1":                 "(src == 10.0.0.1)",
		"src 10.0.0.1":                      "(src == 10.0.0.1)",
		"ip6 dst net 2001:db8::/32":         "(ipv6 and dst == 2001:db8::/32)",
		"dst port 53":                       "(udp.dstport == 53 or tcp.dstport == 53)",
		"udp portrange 27000-27050":         "udp.port in {27000..27050}",
		"udp port 1 or 2":                   "(udp.port == 1 or udp.port == 2)",
		"udp or tcp and host 10.0.0.1":      "((udp or tcp) and (addr == 10.0.0.1))",
		"not (host 10.0.0.1 || tcp port 5)": "not (((addr == 10.0.0.1) or tcp.port == 5))",
		"udp[8:4] = 0xffffffff":             "",
		"ether host 00:11:22:33:44:55":      "",
		"port":                              "",
		"(udp":                              "",
		"":                                  "",
	} {
		expr, _ := pcapfilter.Parse(text)
		got, ok := filter.FromTcpdump(expr)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestLooksLikeTcpdump: what is in either language is not taken for the other.
func TestLooksLikeTcpdump(t *testing.T) {
	for text, want := range map[string]bool{
		"udp port 27015":              true,
		"host 10.0.0.1":               true,
		"vlan and (udp port 1)":       true,
		"port":                        true,
		"udp.port == 27015":           false,
		"udp and a2s":                 false,
		"udp.port in {1 2} or not ip": false,
		"players > 2":                 false,
		"":                            false,
	} {
		if got := filter.LooksLikeTcpdump(text); got != want {
			t.Errorf("%q\ngot  %v\nwant %v", text, got, want)
		}
	}
}
