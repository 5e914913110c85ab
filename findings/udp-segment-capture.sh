#!/bin/sh
# What a capture on a Linux host shows of UDP datagrams that a program sends with UDP_SEGMENT.
#
# The good guess: a packet socket is the last stop before the wire, so it shows what the wire carries; where
# offload spoils a capture, "ethtool -K IFACE gso off gro off" is the remedy that everybody knows.
#
# What happens (Linux 6.18, veth): one sendmsg of 20 datagrams of 25 bytes is captured, at the sender and at the
# receiver, as one packet of 500 bytes with lengths in IP and UDP that agree and a checksum that does not; the
# receiver's program gets 20 datagrams. "gso off" at the sender and "gro off" at the receiver change nothing:
# the feature is "tx-udp-segmentation". With that off, "rx-udp-gro-forwarding" or "rx-gro-list" at the receiver
# merge them again, and there "gro off" is the remedy.
#
# Why it matters: who counts packets in captures finds rates too low by up to 128 times, and who reads messages
# finds one of 500 bytes that no program sent. The rate of a flood is what decides about its rules.
#
# It needs root, ip, ethtool, tcpdump and python3, and makes two network namespaces that it removes. It exits
# with 1 if a capture shows something else.
set -eu
dir=$(mktemp -d)
a=usc-a-$$ b=usc-b-$$
trap 'ip netns del $a 2>/dev/null || :; ip netns del $b 2>/dev/null || :; rm -rf "$dir"' EXIT
cat >"$dir/send.py" <<'P'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(17, 103, 25)  # SOL_UDP, UDP_SEGMENT
s.sendto(bytes(range(25)) * 20, ("198.18.0.2", 27015))
P
cat >"$dir/receive.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("198.18.0.2", 27015))
s.settimeout(4)
n = 0
try:
    while s.recv(65536):
        n += 1
except TimeoutError:
    print(n)
P
failed=0
# capture NAMESPACE IFACE FILE
capture() { : >"$3.err"; ip netns exec "$1" tcpdump --immediate-mode -i "$2" -nn -U -w "$3" udp port 27015 2>"$3.err" & }
# one NAME WANT-AT-SENDER WANT-AT-RECEIVER SENDER-FEATURES RECEIVER-FEATURES: wanted are lengths of captured payloads
one() {
	ip netns add $a; ip netns add $b
	ip -n $a link add v0 type veth peer name v1 netns $b
	ip -n $a addr add 198.18.0.1/24 dev v0; ip -n $b addr add 198.18.0.2/24 dev v1
	ip -n $a link set v0 up; ip -n $b link set v1 up
	[ -z "$4" ] || ip netns exec $a ethtool -K v0 $4
	[ -z "$5" ] || ip netns exec $b ethtool -K v1 $5
	ip netns exec $b python3 "$dir/receive.py" >"$dir/got" &
	receiver=$!
	capture $a v0 "$dir/a"; one=$!
	capture $b v1 "$dir/b"; two=$!
	until grep -q listening "$dir/a.err" && grep -q listening "$dir/b.err"; do sleep 0.1; done
	ip netns exec $a python3 "$dir/send.py"
	wait $receiver
	kill -INT $one $two
	wait $one $two || :
	shows() { tcpdump -nn -r "$1" 2>/dev/null | awk '{n[$NF]++} END {for (k in n) print n[k] "x" k}'; }
	at=$(shows "$dir/a") to=$(shows "$dir/b")
	echo "$1: sender's capture $at, receiver's $to, receiver's program $(cat "$dir/got") datagrams"
	[ "$at $to $(cat "$dir/got")" = "$2 $3 20" ] || failed=1
	ip netns del $a; ip netns del $b
}
one "as it comes" 1x500 1x500 "" ""
one "gso off, gro off" 1x500 1x500 "gso off" "gro off"
one "tx-udp-segmentation off" 20x25 20x25 "tx-udp-segmentation off" ""
one "the same, rx-udp-gro-forwarding on" 20x25 1x500 "tx-udp-segmentation off" "gro on rx-udp-gro-forwarding on"
one "the same, gro off" 20x25 20x25 "tx-udp-segmentation off" "rx-udp-gro-forwarding on gro off"
exit $failed
