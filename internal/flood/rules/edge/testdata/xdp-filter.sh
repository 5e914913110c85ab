#!/bin/sh
# What xdp-filter can do of the rules of qsniff, made from 'my capture.pcap'
# load:   qsniff floods -o xdp-filter --level=warn 'my capture.pcap' | sudo sh -s eth0
#         eth0 is the interface that the packets come in at. Again does no harm.
#         Before rules of a new report, undo these: the list has no owners.
# undo:   qsniff floods -o xdp-filter --level=warn 'my capture.pcap' | sudo sh -s eth0 undo
#         or, with the whole list: sudo xdp-filter unload eth0
# expiry: 1h after loading the rules match nothing any more
# It drops all packets of an address, to whatever host and port, before the
# kernel sees them. If an address is forged, its owner is shut out.
#
# xdp-filter has no limits, looks at no bytes and takes no networks, so it
# cannot do the following. On the server's host this does:
#   qsniff floods -o nft --level=warn 'my capture.pcap' | sudo nft -f -
#   - flood_few at udp/198.51.100.17:27015: a limit for each source; packets
#     of the game are not looked at: 10 a second for each, 30 at once
#   - reflection at udp/198.51.100.18:27015: what the victims are sent
#     (203.0.113.99): 1 a second for all together, 5 at once
#   - flood_distributed at udp/[2001:db8::17]:27015: a limit for each source;
#     packets of the game are not looked at: 10 a second for each, 30 at once
#   - flood_distributed at udp/[2001:db8::17]:27015: a cap for queries that
#     bring no challenge back: 300 a second for all together, 600 at once
#   - flood_spoofed at udp/192.0.2.0/24:27015: a cap for queries that bring no
#     challenge back: 300 a second for all together, 600 at once
#   - reply_flood_victim at 198.51.100.19: a cap for replies to queries: 200 a
#     second for all together, 400 at once
#   - junk_flood at udp/198.51.100.20:27015: a cap for what begins like a
#     query and is neither one nor a join: 20 a second for all together, 40 at
#     once
#   - rcon_bruteforce at tcp/198.51.100.17:27015: attempts to log in: 4 a
#     minute for each, 4 at once
#   - flood_spoofed at udp/198.51.100.17:27015: a cap for queries that bring
#     no challenge back: 100 a second for all together, 200 at once
set -eu
iface=${1:?"name the interface that the packets come in at: sh -s eth0"}
mode=${2:-load}
addresses="203.0.113.7"
seconds=3600

status=$(xdp-filter status 2>/dev/null) || status=
if printf '%s\n' "$status" | grep -q 'xdpfilt_dny'; then
  echo "xdp-filter runs with the policy deny: its list is who may send. Nothing is changed." >&2
  exit 1
fi
if [ "$mode" = undo ]; then
  for a in $addresses; do xdp-filter ip -r -m src "$a"; done
  exit 0
fi
if ! printf '%s\n' "$status" | grep -q "^  $iface "; then
  xdp-filter load -f ipv4,ipv6 "$iface" 2>/dev/null || xdp-filter load -m skb -f ipv4,ipv6 "$iface"
fi
for a in $addresses; do xdp-filter ip -m src "$a"; done
if [ "$seconds" -gt 0 ]; then
  # xdp-filter has no time limits. The time counts from the first load.
  (sleep "$seconds"; for a in $addresses; do
    for try in 1 2 3; do xdp-filter ip -r -m src "$a" && break || sleep 1; done
  done) </dev/null >/dev/null 2>&1 &
fi
