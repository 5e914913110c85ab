#!/bin/sh
# Which of two copies of the same bytes does a program on Linux read, if both segments wait for an earlier one?
#
# The good guess: the first copy, as Linux keeps the first copy of what came in order (or the last one, as the
# older BSDs did): one rule.
# What happens (Linux 6.18): neither. The queue of segments that wait is ordered by their first bytes, so the
# segment that begins first counts, whichever came first; of two that begin at the same byte the longer one, and
# only of two equal ranges the first copy.
# Why it matters: a passive decoder that keeps "the first copy" shows another command than the server ran.
#
# Needs root, python3, unshare, ip and /dev/net/tun. Everything happens in a network namespace of its own.
set -eu
[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] || { echo "skipped: needs root and /dev/net/tun"; exit 0; }
echo "kernel $(uname -r)"
exec unshare -n python3 - <<'PY'
import fcntl, os, socket, struct, subprocess, sys, threading

tun = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack('16sH', b'tun0', 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
for line in ('addr add 198.18.0.1/24 dev tun0', 'link set tun0 up'):
    subprocess.run(['ip'] + line.split(), check=True)
HERE, THERE = socket.inet_aton('198.18.0.2'), socket.inet_aton('198.18.0.1')
listener = socket.create_server(('198.18.0.1', 27015))

def checksum(b):
    b += b'\0' * (len(b) % 2)
    n = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff

def send(port, seq, ack, flags, data=b''):
    tcp = struct.pack('>HHIIBBHHH', port, 27015, seq, ack, 0x50, flags, 65535, 0, 0) + data
    tcp = tcp[:16] + struct.pack('>H', checksum(HERE + THERE + struct.pack('>HH', 6, len(tcp)) + tcp)) + tcp[18:]
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, HERE, THERE)
    os.write(tun, ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:] + tcp)

def read(port, parts):
    """What a program reads of segments (offset, bytes), the last of which brings the first bytes."""
    send(port, 1000, 0, 2)
    while True:
        b = os.read(tun, 65535)
        if b[0] == 0x45 and b[9] == 6 and b[33] == 0x12 and struct.unpack('>H', b[22:24])[0] == port:
            break
    ack = struct.unpack('>I', b[24:28])[0] + 1
    send(port, 1001, ack, 16)
    conn, _ = listener.accept()
    end = 0
    for off, data in parts:
        send(port, 1001 + off, ack, 16, data)
        end = max(end, off + len(data))
    send(port, 1001 + end, ack, 17)
    got = b''
    conn.settimeout(5)
    while chunk := conn.recv(100):
        got += chunk
    conn.close()
    return got.decode()

cases = [
    ('the same bytes', [(4, b'bbbb'), (4, b'XXXX')], 'aaaabbbb'),
    ('the second begins earlier', [(5, b'bbb'), (4, b'XXX')], 'aaaaXXXb'),
    ('the second begins later', [(4, b'bbb'), (5, b'XXX')], 'aaaabbbX'),
    ('the second covers the first', [(5, b'bb'), (4, b'XXXX')], 'aaaaXXXX'),
    ('the same start, the second longer', [(4, b'bb'), (4, b'XXXX')], 'aaaaXXXX'),
]
bad = 0
for n, (name, parts, want) in enumerate(cases):
    got = read(2001 + n, parts + [(0, b'aaaa')])
    print('%-36s first b, then X: the program reads %s' % (name, got))
    bad += got != want
sys.exit(bad and 'this kernel does it otherwise than Linux 6.18')
PY
