#!/bin/sh
# The priority of a nat chain of nftables is not the one at which the kernel translates.
#
# A good guess: base chains of a hook run in the order of their priorities, so that a filter chain
# at prerouting, priority 100, sees the destination before a nat chain at priority 200 changes it;
# and the source of a reply changes where the rule is, at prerouting, or where a chain of type nat
# hooks postrouting.
#
# What happens: Linux registers one hook for all nat chains, at fixed priorities: -100 for
# destinations at prerouting, 100 for sources at postrouting (nf_nat_register_fn). The chain's
# priority orders nat chains among themselves only. Replies of a DNAT flow get the outer address
# back at postrouting, priority 100, also where no chain hooks postrouting. A filter that is to see
# the address that clients see belongs to prerouting before -100, and to postrouting after 100.
# A nat chain at -200 or below, before connection tracking, is refused ("Operation not supported").
#
# Why it matters: rules that learn from replies (addresses that a server answered) stay empty with
# Docker if they hook postrouting at raw, mangle or filter, and no error says so.
#
# Seen with Linux 6.18 and nftables 1.0.6 (Debian 12). Needs root, nft, ip and python3 (Debian:
# apt-get install nftables iproute2 python3); makes three network namespaces and removes them.
# Exit status: 0 as described, 1 if the kernel does something else, 2 if it cannot be tried.
set -u
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 2; }
for tool in nft ip python3; do
	command -v $tool >/dev/null || { echo "needs $tool" >&2; exit 2; }
done
client=fc$$ host=fh$$ server=fs$$
trap 'for n in $client $host $server; do ip netns del $n 2>/dev/null; done' EXIT
trap 'exit 2' INT TERM

run() { # PRIORITY of the nat chain: prints what each filter chain counted
	for n in $client $host $server; do
		ip netns del $n 2>/dev/null
		ip netns add $n || exit 2
		ip -n $n link set lo up
	done
	ip -n $client link add c0 type veth peer name h0 netns $host
	ip -n $host link add h1 type veth peer name s0 netns $server
	ip -n $client addr add 198.51.100.1/24 dev c0
	ip -n $host addr add 198.51.100.254/24 dev h0
	ip -n $host addr add 172.17.0.1/16 dev h1
	ip -n $server addr add 172.17.0.2/16 dev s0
	ip -n $client link set c0 up
	ip -n $host link set h0 up
	ip -n $host link set h1 up
	ip -n $server link set s0 up
	ip -n $server route add default via 172.17.0.1
	ip netns exec $host sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
	ip netns exec $host nft -f - <<END || return 1
table ip nat {
  chain pre {
    type nat hook prerouting priority $1
    ip daddr 198.51.100.254 udp dport 7000 dnat to 172.17.0.2:7001
  }
}
table ip seen {
  chain q1 { type filter hook prerouting priority -101; ip daddr 198.51.100.254 udp dport 7000 counter; }
  chain q2 { type filter hook prerouting priority -99; ip daddr 198.51.100.254 udp dport 7000 counter; }
  chain q3 { type filter hook prerouting priority 100; ip daddr 198.51.100.254 udp dport 7000 counter; }
  chain r1 { type filter hook postrouting priority -300; ip saddr 198.51.100.254 udp sport 7000 counter; }
  chain r2 { type filter hook postrouting priority 99; ip saddr 198.51.100.254 udp sport 7000 counter; }
  chain r3 { type filter hook postrouting priority 101; ip saddr 198.51.100.254 udp sport 7000 counter; }
}
END
	ip netns exec $server python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("172.17.0.2", 7001)); s.settimeout(20)
while True:
    d, a = s.recvfrom(99); s.sendto(d, a)
    if d == b"3": break' &
	ip netns exec $client python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("198.51.100.254", 7000)); s.settimeout(0.5)
for d in (b"1", b"2", b"3"):
    for _ in range(40): # the server starts meanwhile; only a first request is repeated
        try:
            s.send(d); s.recv(99); break
        except OSError: pass' || exit 2
	wait
	for c in q1 q2 q3 r1 r2 r3; do
		seen=$(ip netns exec $host nft list chain ip seen $c | sed -n 's/.*priority \([^;]*\);.*/\1/p; s/.*counter packets \([0-9]*\) .*/\1/p' | tail -1)
		[ "$seen" -gt 0 ] && printf '%s=outer ' $c || printf '%s=inner ' $c
	done
	echo
}

want='q1=outer q2=inner q3=inner r1=inner r2=inner r3=outer '
echo "q1, q2, q3: queries at prerouting -101, -99, 100; r1, r2, r3: replies at postrouting -300, 99, 101"
status=0
for priority in -100 200; do
	got=$(run $priority)
	echo "nat chain at prerouting, priority $priority: $got"
	[ "$got" = "$want" ] || status=1
done
if refused=$(run -250 2>&1); then
	echo "nat chain at priority -250: loaded"
	status=1
else
	echo "nat chain at priority -250: $(echo "$refused" | head -1)"
fi
exit $status
