#!/bin/sh
# Rules of qsniff for iptables and ip6tables, made from 'my capture.pcap'
# load:   qsniff floods -o iptables --level=warn 'my capture.pcap' | sudo sh
#         Again does no harm. The rules of a new report replace these.
# undo:   qsniff floods -o iptables --level=warn 'my capture.pcap' | sudo sh -s undo
#         or: sudo iptables -t raw -D PREROUTING -j QSNIFF
#         or: sudo iptables -t mangle -D POSTROUTING -j QSNIFF
#         or: sudo ip6tables -t raw -D PREROUTING -j QSNIFF
# check:  qsniff floods -o iptables --level=warn 'my capture.pcap' | sudo sh -s check
# expiry: 90m after loading the rules match nothing any more
#
# alert: flood_spoofed at udp/198.51.100.17:27015, detected 2023-11-14T22:13:20Z
#   see the later one of this kind at this target
#
# alert: flood_few at udp/198.51.100.17:27015, detected 2023-11-14T22:13:20Z
#   UDP to 198.51.100.17, port 27015:
#   - sources that sent the most (203.0.113.7): dropped
#   - a limit for each source; packets of the game are not looked at: 10 a
#     second for each, 30 at once
#
# alert: reflection at udp/198.51.100.18:27015, detected 2023-11-14T22:13:20Z
#   UDP from 198.51.100.18, port 27015:
#   - what the victims are sent (203.0.113.99): 1 a second for all together, 5
#     at once
#
# alert: flood_distributed at udp/[2001:db8::17]:27015, detected 2023-11-14T22:13:20Z
#   UDP to 2001:db8::17, port 27015:
#   - a limit for each source; packets of the game are not looked at: 10 a
#     second for each, 30 at once
#   - a cap for queries that bring no challenge back: 300 a second for all
#     together, 600 at once
#
# alert: flood_spoofed at udp/192.0.2.0/24:27015, detected 2023-11-14T22:13:20Z
#   UDP to 192.0.2.0/24, port 27015:
#   - a cap for queries that bring no challenge back: 300 a second for all
#     together, 600 at once
#
# warn: flood_suspect at udp/198.51.100.18:27015, detected 2023-11-14T22:13:20Z
#   no rule helps against this; qsniff floods says what does
#
# alert: reply_flood_victim at 198.51.100.19, detected 2023-11-14T22:13:20Z
#   UDP to 198.51.100.19:
#   - a cap for replies to queries: 200 a second for all together, 400 at once
#
# alert: junk_flood at udp/198.51.100.20:27015, detected 2023-11-14T22:13:20Z
#   UDP to 198.51.100.20, port 27015:
#   - a cap for what begins like a query and is neither one nor a join: 20 a
#     second for all together, 40 at once
#
# alert: rcon_bruteforce at tcp/198.51.100.17:27015, detected 2023-11-14T22:13:20Z
#   new TCP connections to 198.51.100.17, port 27015:
#   - sources that sent the most (203.0.113.7): dropped
#   - attempts to log in: 4 a minute for each, 4 at once
#
# alert: flood_spoofed at udp/198.51.100.17:27015, detected 2023-11-14T22:13:20Z
#   UDP to 198.51.100.17, port 27015:
#   - a cap for queries that bring no challenge back: 100 a second for all
#     together, 200 at once
set -eu
mode=${1:-load}

# prune TOOL TABLE [CHAIN...]: removes all chains of qsniff but those named.
prune() {
  tool=$1 table=$2 old=
  shift 2
  for chain in $($tool-save -t $table | sed -n 's/^:\(QSNIFF[^ ]*\) .*/\1/p'); do
    case " $* " in
    *" $chain "*) ;;
    *) $tool -t $table -F $chain; old="$old $chain" ;;
    esac
  done
  for chain in $old; do $tool -t $table -X $chain; done
}

# remove TOOL TABLE HOOK: removes the jump and all chains.
remove() {
  command -v $1 >/dev/null || return 0
  while $1 -t $2 -D $3 -j QSNIFF 2>/dev/null; do :; done
  prune $1 $2 2>/dev/null
}

# load TOOL TABLE HOOK CHAIN...: loads the file on standard input, which flushes the chains.
load() {
  if [ "$mode" = check ]; then
    $1-restore -n --test
    return
  fi
  $1-restore -n
  $1 -t $2 -C $3 -j QSNIFF 2>/dev/null || $1 -t $2 -I $3 -j QSNIFF
  tool=$1 table=$2
  shift 3
  prune $tool $table "$@"
}

if [ "$mode" = undo ]; then
  remove iptables raw PREROUTING
  remove iptables mangle POSTROUTING
  remove ip6tables raw PREROUTING
  remove ip6tables mangle POSTROUTING
  for set in $(ipset -n list 2>/dev/null | grep '^qsniff[0-9]'); do ipset destroy $set; done
  exit 0
fi
until=$(date -u -d "@$(($(date +%s) + 5400))" +%Y-%m-%dT%H:%M:%S)
# With NAT (Docker), replies of a server have its inner address here, and connection
# tracking has the outer one. Where nothing is tracked and no rule translates,
# such lines are comments, as they would start it; if NAT comes later, load again.
nat='#'
if [ "$(cat /proc/sys/net/netfilter/nf_conntrack_count 2>/dev/null || echo 0)" != 0 ] ||
  { iptables-save; ip6tables-save; nft list ruleset; } 2>/dev/null | grep -qE -- '-j (DNAT|REDIRECT)|dnat .*to|redirect'; then
  nat=
fi
[ "$mode" = check ] || remove ip6tables mangle POSTROUTING

load iptables raw PREROUTING QSNIFF QSNIFF2 QSNIFF2Q QSNIFF10F QSNIFF5 QSNIFF5F QSNIFF7 QSNIFF7U QSNIFF8 QSNIFF8J QSNIFF9 QSNIFF9L <<END
*raw
:QSNIFF - [0:0]
:QSNIFF2 - [0:0]
:QSNIFF2Q - [0:0]
:QSNIFF10F - [0:0]
:QSNIFF5 - [0:0]
:QSNIFF5F - [0:0]
:QSNIFF7 - [0:0]
:QSNIFF7U - [0:0]
:QSNIFF8 - [0:0]
:QSNIFF8J - [0:0]
:QSNIFF9 - [0:0]
:QSNIFF9L - [0:0]
-A QSNIFF -d 198.51.100.17 -p udp --dport 27015 -m comment --comment "flood_few, flood_spoofed at udp/198.51.100.17:27015" -m time --datestop $until -j QSNIFF2
-A QSNIFF -d 192.0.2.0/24 -p udp --dport 27015 -m comment --comment "flood_spoofed at udp/192.0.2.0/24:27015" -m time --datestop $until -j QSNIFF5
-A QSNIFF -d 198.51.100.19 -p udp -m comment --comment "reply_flood_victim at 198.51.100.19" -m time --datestop $until -j QSNIFF7
-A QSNIFF -d 198.51.100.20 -p udp --dport 27015 -m comment --comment "junk_flood at udp/198.51.100.20:27015" -m time --datestop $until -j QSNIFF8
-A QSNIFF -d 198.51.100.17 -p tcp --dport 27015 --tcp-flags SYN,ACK SYN -m comment --comment "rcon_bruteforce at tcp/198.51.100.17:27015" -m time --datestop $until -j QSNIFF9
-A QSNIFF2 -s 203.0.113.7 -j DROP
-A QSNIFF2 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x54:0x57,0x69" -j QSNIFF2Q
-A QSNIFF2Q -m hashlimit --hashlimit-above 10/sec --hashlimit-burst 30 --hashlimit-mode srcip --hashlimit-htable-max 131072 --hashlimit-htable-expire 60000 --hashlimit-name qs17856794q -j DROP
-A QSNIFF2 -m length --length 53 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x54" -j QSNIFF10F
-A QSNIFF2 -m length --length 37 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x55,0x56&&0>>22&0x3C@13=0x0,0xFFFFFFFF" -j QSNIFF10F
-A QSNIFF2 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x57,0x69" -j QSNIFF10F
-A QSNIFF10F -m hashlimit --hashlimit-above 100/sec --hashlimit-burst 200 --hashlimit-name qs59005183f -j DROP
-A QSNIFF5 -m length --length 53 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x54" -j QSNIFF5F
-A QSNIFF5 -m length --length 37 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x55,0x56&&0>>22&0x3C@13=0x0,0xFFFFFFFF" -j QSNIFF5F
-A QSNIFF5 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x57,0x69" -j QSNIFF5F
-A QSNIFF5F -m hashlimit --hashlimit-above 300/sec --hashlimit-burst 600 --hashlimit-name qs49800261f -j DROP
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x41,0x43:0x45,0x47,0x49,0x4C,0x6A,0x6C,0x6D" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@10&0xDFDF=0x494E&&0>>22&0x3C@14&0xDFDFDFDF=0x464F5354&&0>>22&0x3C@18&0xDFDFDFDF=0x52494E47&&0>>22&0x3C@22&0xDFDFDFDF=0x52455350&&0>>22&0x3C@26&0xDFDFDFDF=0x4F4E5345" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xDF=0x49&&0>>22&0x3C@13&0xDFDFDFFF=0x4E464F0A" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@12&0xDFDFDFDF=0x4E455449&&0>>22&0x3C@16&0xDFDFDFFF=0x4E464F20" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@11&0xDFDFDF=0x434841&&0>>22&0x3C@15&0xDFDFDFDF=0x4C4C454E&&0>>22&0x3C@19&0xDFDFFFDF=0x47452052&&0>>22&0x3C@23&0xDFDFDFFF=0x434F4E20" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@10&0xDFDF=0x5052&&0>>22&0x3C@14&0xDFDFDFFF=0x494E540A" -j QSNIFF7U
-A QSNIFF7 -m u32 --u32 "0>>22&0x3C@8=0xFEFFFFFF" -j QSNIFF7U
-A QSNIFF7U -m hashlimit --hashlimit-above 200/sec --hashlimit-burst 400 --hashlimit-name qs1a0e48b7u -j DROP
-A QSNIFF8 -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF" -j QSNIFF8J
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@12&0xDFDFDFDF=0x494E464F,0x50494E47,0x52434F4E" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@11&0xDFDFDF=0x444554&&0>>22&0x3C@15&0xDFDFDFDF=0x41494C53" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@11&0xDFDFDF=0x504C41&&0>>22&0x3C@15&0xDFDFDFDF=0x59455253" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xDF=0x52&&0>>22&0x3C@13&0xDFDFDFDF=0x554C4553" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@10&0xDFDF=0x4C49&&0>>22&0x3C@14&0xDFDFDFDF=0x5354454E" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@11&0xDFDFDF=0x474554,0x4E4554&&0>>22&0x3C@15&0xDFDFDFDF=0x494E464F" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@12&0xDFDFDFDF=0x47455443&&0>>22&0x3C@16&0xDFDFDFDF=0x48414C4C&&0>>22&0x3C@20&0xDFDFDFDF=0x454E4745" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@10&0xDFDF=0x4348&&0>>22&0x3C@14&0xDFDFDFDF=0x414C4C45&&0>>22&0x3C@18&0xDFDFDFFF=0x4E474520&&0>>22&0x3C@22&0xDFDFDFDF=0x52434F4E" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xFF=0x31,0x4D,0x54:0x57,0x63,0x65,0x69,0x6B,0x71" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@11&0xDFDFDF=0x434F4E&&0>>22&0x3C@15&0xDFDFDFDF=0x4E454354" -j RETURN
-A QSNIFF8J -m u32 --u32 "0>>22&0x3C@8=0xFFFFFFFF&&0>>22&0x3C@9&0xDF=0x47&&0>>22&0x3C@13&0xDFDFDFDF=0x45545354&&0>>22&0x3C@17&0xDFDFDFDF=0x41545553" -j RETURN
-A QSNIFF8J -m limit --limit 5/sec --limit-burst 5 -j NFLOG --nflog-group 5 --nflog-size 96
-A QSNIFF8J -m hashlimit --hashlimit-above 20/sec --hashlimit-burst 40 --hashlimit-name qs455da29dj -j DROP
# let in: -A QSNIFF9 -s ADDRESS -j RETURN
-A QSNIFF9 -s 203.0.113.7 -j DROP
-A QSNIFF9 -j QSNIFF9L
-A QSNIFF9L -m hashlimit --hashlimit-above 4/min --hashlimit-burst 4 --hashlimit-mode srcip --hashlimit-htable-max 131072 --hashlimit-htable-expire 600000 --hashlimit-name qsae71b061l -j DROP
COMMIT
END

load iptables mangle POSTROUTING QSNIFF QSNIFF3 QSNIFF3V <<END
*mangle
:QSNIFF - [0:0]
:QSNIFF3 - [0:0]
:QSNIFF3V - [0:0]
-A QSNIFF -s 198.51.100.18 -p udp --sport 27015 -m comment --comment "reflection at udp/198.51.100.18:27015" -m time --datestop $until -j QSNIFF3
${nat}-A QSNIFF -p udp -m conntrack --ctstate DNAT --ctdir REPLY --ctorigdst 198.51.100.18 --ctorigdstport 27015 -m time --datestop $until -j QSNIFF3
-A QSNIFF3 -d 203.0.113.99 -j QSNIFF3V
-A QSNIFF3V -m hashlimit --hashlimit-above 1/sec --hashlimit-burst 5 --hashlimit-name qsd109aeefv -j DROP
COMMIT
END

load ip6tables raw PREROUTING QSNIFF QSNIFF4 QSNIFF4Q QSNIFF4F <<END
*raw
:QSNIFF - [0:0]
:QSNIFF4 - [0:0]
:QSNIFF4Q - [0:0]
:QSNIFF4F - [0:0]
-A QSNIFF -d 2001:db8::17 -p udp --dport 27015 -m comment --comment "flood_distributed at udp/[2001:db8::17]:27015" -m time --datestop $until -j QSNIFF4
-A QSNIFF4 -m u32 --u32 "48=0xFFFFFFFF&&49&0xFF=0x54:0x57,0x69" -j QSNIFF4Q
-A QSNIFF4Q -m hashlimit --hashlimit-above 10/sec --hashlimit-burst 30 --hashlimit-mode srcip --hashlimit-srcmask 64 --hashlimit-htable-max 131072 --hashlimit-htable-expire 60000 --hashlimit-name qsb399a0d6q -j DROP
-A QSNIFF4 -m length --length 73 -m u32 --u32 "48=0xFFFFFFFF&&49&0xFF=0x54" -j QSNIFF4F
-A QSNIFF4 -m length --length 57 -m u32 --u32 "48=0xFFFFFFFF&&49&0xFF=0x55,0x56&&53=0x0,0xFFFFFFFF" -j QSNIFF4F
-A QSNIFF4 -m u32 --u32 "48=0xFFFFFFFF&&49&0xFF=0x57,0x69" -j QSNIFF4F
-A QSNIFF4F -m hashlimit --hashlimit-above 300/sec --hashlimit-burst 600 --hashlimit-name qs1197c67ef -j DROP
COMMIT
END
