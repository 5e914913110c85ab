#!/usr/bin/env bash
# A good engineer would guess: a capture filter decides by the packet alone, so "inbound and udp" on the loopback interface
# captures every datagram once, from the line "listening on" on.
#
# What happens: the first second is missing (all that the ring's first block holds), and nothing is counted as dropped. libpcap
# makes the ring before the filter is set, and so filters the packets of its first block itself, too. There it has no
# metadata: inbound, outbound and ifindex, which the kernel reads from beside the packet, are never true. "udp" alone loses
# nothing.
#
# Seen with tcpdump 4.99.3 and libpcap 1.10.3 (Debian 12), Linux, TPACKET_V3. The block is delivered when its time is over:
# 1 s in tcpdump.
#
# Why it matters: "the filter lost the first query" looks like a server that did not answer, or a client that did not ask; and
# a program that adds "inbound", so that loopback does not deliver packets twice, loses its first ones.
#
# Takes root (a network namespace of its own), tcpdump, and iproute2. Exits with 1 if what is seen differs.
set -eu
[ "$(id -u)" = 0 ] && command -v tcpdump >/dev/null || { echo "skipped: needs root and tcpdump"; exit 0; }
if [ "${1-}" != inside ]; then exec unshare -n "$0" inside; fi
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
tcpdump --version 2>&1 | head -2
ip link set lo up

count() { # FILTER: sends ten datagrams every half second, six times, and prints how many were captured
	tcpdump -i lo -nn -w "$dir/out.pcap" "$1" 2>"$dir/err" & pid=$!
	for _ in $(seq 100); do grep -q 'listening on' "$dir/err" && break; sleep 0.05; done
	for _ in 1 2 3 4 5 6; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do printf x >/dev/udp/127.0.0.1/9999; done
		sleep 0.5
	done
	sleep 1.2; kill -INT $pid; wait $pid || true
	tcpdump -nn -r "$dir/out.pcap" 'udp' 2>/dev/null | wc -l
}

plain=$(count 'udp port 9999') inbound=$(count 'inbound and udp port 9999')
dropped=$(sed -n 's/ packets dropped by kernel//p' "$dir/err")
echo "udp port 9999:             $plain of 60"
echo "inbound and udp port 9999: $inbound of 60, dropped by the kernel: $dropped"
[ "$plain" = 60 ] && [ "$inbound" -lt 60 ] && [ "$inbound" -gt 0 ] && [ "$dropped" = 0 ]
