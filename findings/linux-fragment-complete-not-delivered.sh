#!/bin/sh
# Is an IP datagram delivered once all of its fragments have arrived?
#
# The good guess: yes; and a datagram whose fragments overlap is dropped as a whole, with those that come later
# (RFC 5722).
# What happens (Linux 6.18, IPv4 and IPv6):
#   1. a fragment inside what came in order is ignored whatever its bytes: the datagram is delivered, with the
#      first copy;
#   2. if the fragment that is ignored is the first to say where the datagram ends, all bytes and the length are
#      known, and it is never delivered: the kernel looks for completeness only when it keeps a fragment;
#   3. after an overlap, later fragments of the same datagram open a new queue, out of which one is delivered.
# Why it matters: a decoder that joins by "all bytes are there" shows a reply that the client never saw, and one
# that refuses all of a datagram with an overlap hides a reply that it did see.
#
# Needs root, python3, unshare, ip and /dev/net/tun. Everything happens in a network namespace of its own.
set -eu
[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] || { echo "skipped: needs root and /dev/net/tun"; exit 0; }
echo "kernel $(uname -r)"
exec unshare -n python3 - <<'PY'
import fcntl, os, socket, struct, subprocess, sys

tun = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack('16sH', b'tun0', 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
for line in ('addr add 198.18.0.1/24 dev tun0', 'addr add 2001:db8::1/64 dev tun0 nodad', 'link set tun0 up'):
    subprocess.run(['ip'] + line.split(), check=True)
PROTO = 253  # for experiments: no checksum
socks = {4: socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTO), 6: socket.socket(socket.AF_INET6, socket.SOCK_RAW, PROTO)}
V4 = socket.inet_aton('198.18.0.2') + socket.inet_aton('198.18.0.1')
V6 = socket.inet_pton(socket.AF_INET6, '2001:db8::2') + socket.inet_pton(socket.AF_INET6, '2001:db8::1')

def checksum(b):
    n = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff

def send(version, ident, off, data, more):
    if version == 4:
        ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(data), ident, off // 8 | more << 13, 64, PROTO, 0) + V4
        ip = ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:]
    else:
        ip = struct.pack('>IHBB', 6 << 28, 8 + len(data), 44, 64) + V6 + struct.pack('>BBHI', PROTO, 0, off | more, ident)
    os.write(tun, ip + data)

def delivered(version, ident, fragments):
    for letter, off, end, more in fragments:
        send(version, ident, off, letter * (end - off), more)
    send(version, ident + 1, 0, b'!' * 8, 0)  # a whole one, to know that all were seen
    got = []
    while True:
        b = socks[version].recv(2000)[20 if version == 4 else 0:]
        if b == b'!' * 8:
            return ' and '.join(got) or 'nothing'
        got.append(b.decode())

cases = [
    ('1. other bytes inside what came in order', [(b'A', 0, 8, 1), (b'B', 8, 16, 1), (b'X', 0, 16, 1), (b'C', 16, 24, 0)], 'AAAAAAAABBBBBBBBCCCCCCCC'),
    ('2. the end is told by a copy', [(b'A', 0, 8, 1), (b'B', 8, 24, 1), (b'B', 16, 24, 0)], 'nothing'),
    ('3. an overlap, then all of it again', [(b'A', 0, 16, 1), (b'X', 8, 24, 1), (b'C', 0, 16, 1), (b'D', 16, 24, 0)], 'CCCCCCCCCCCCCCCCDDDDDDDD'),
]
bad = 0
for version in socks:
    for n, (name, fragments, want) in enumerate(cases):
        got = delivered(version, 100 + 2 * n, fragments)
        print('IPv%d  %-42s %s' % (version, name, got))
        bad += got != want
sys.exit(bad and 'this kernel does it otherwise than Linux 6.18')
PY
