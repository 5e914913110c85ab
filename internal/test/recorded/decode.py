#!/usr/bin/env python3
"""Decodes a recording, and prints as JSON what every message in it says.

usage: python3 decode.py NAME.pcap... > NAME.expected.json

It was written from descriptions of the protocols, shares no code with qsniff, takes nothing but Python's library, and
is as plain as it can be: files of classic pcap with Ethernet frames, IPv4, whole connections, no hostile bytes. Names
of messages and fields are those of qsniff's JSON, so that a test can compare value by value. A byte that it cannot
explain ends it: a recording is decoded as a whole or not at all.
"""
import bz2
import json
import re
import struct
import sys
import zlib


def frames(data):
    """Yields number, time in seconds and bytes of each frame."""
    magic, = struct.unpack_from("<I", data)
    link, = struct.unpack_from("<I", data, 20)
    assert magic == 0xA1B2C3D4 and link == 1, "not classic pcap of Ethernet"
    at, number = 24, 0
    while at < len(data):
        _, _, captured, length = struct.unpack_from("<4I", data, at)
        assert captured == length, "cut by the snap length"
        number += 1
        yield number, data[at + 16:at + 16 + captured]
        at += 16 + captured


class Reader:
    """Reads the payload of a message from its beginning to its end."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0]

    def bytes(self, n):
        out = self.data[self.at:self.at + n]
        assert len(out) == n, "too short"
        self.at += n
        return out

    def text(self):
        end = self.data.index(0, self.at)
        out = self.data[self.at:end]
        self.at = end + 1
        return printable(out)

    def counted(self):
        return printable(self.bytes(self.take("B") - 1))

    def letter(self):
        return chr(self.take("B"))

    def left(self):
        return len(self.data) - self.at

    def end(self):
        assert self.left() == 0, "%d bytes left of %r" % (self.left(), self.data)


def printable(raw):
    return raw.decode("utf-8", "replace")


def single(number):
    """The shortest decimal form of a 32-bit float, which is what qsniff prints."""
    for digits in range(1, 10):
        short = float("%.*g" % (digits, number))
        if struct.pack("<f", short) == struct.pack("<f", number):
            return int(short) if short == int(short) else short
    raise ValueError(number)


# A2S and GoldSource ------------------------------------------------------------------------------------------------

def info(r):
    f = {"protocol": r.take("B"), "name": r.text(), "map": r.text(), "folder": r.text(), "game": r.text(),
         "app_id": r.take("H"), "players": r.take("B"), "max_players": r.take("B"), "bots": r.take("B"),
         "server_type": r.letter(), "environment": r.letter(), "visibility": r.take("B"), "vac": r.take("B"),
         "version": r.text()}
    if r.left():
        f["edf"] = edf = r.take("B")
        if edf & 0x80:
            f["port"] = r.take("H")
        if edf & 0x10:
            f["steam_id"] = str(r.take("Q"))
        if edf & 0x40:
            f["tv_port"] = r.take("H")
            f["tv_name"] = r.text()
        if edf & 0x20:
            f["keywords"] = r.text()
        if edf & 0x01:
            f["game_id"] = str(r.take("Q"))
    r.end()
    return f


def detailed_info(r):
    f = {"address": r.text(), "name": r.text(), "map": r.text(), "folder": r.text(), "game": r.text(),
         "players": r.take("B"), "max_players": r.take("B"), "protocol": r.take("B"), "server_type": r.letter(),
         "environment": r.letter(), "visibility": r.take("B"), "mod": r.take("B")}
    assert f["mod"] == 0, "a mod, which no recording has"
    f["vac"] = r.take("B")
    if r.left():
        f["bots"] = r.take("B")
    r.end()
    return f


def players(r):
    f = {"count": r.take("B"), "players": []}
    while r.left():
        f["players"].append({"index": r.take("B"), "name": r.text(), "score": r.take("i"),
                             "duration": single(r.take("f"))})
    return f


def rules(r):
    f = {"count": r.take("H"), "rules": []}
    while r.left():
        f["rules"].append({"name": r.text(), "value": r.text()})
    return f


def challenge(r):
    f = {"challenge": r.take("i")}
    r.end()
    return f


def printed(r):
    return {"text": printable(r.data[r.at:].rstrip(b"\0"))}


REPLIES = {
    "I": ("S2A_INFO_SRC", info), "m": ("S2A_INFO_DETAILED", detailed_info), "D": ("S2A_PLAYER", players),
    "E": ("S2A_RULES", rules), "A": ("S2C_CHALLENGE", challenge), "l": ("A2A_PRINT", printed),
}


def brought(rest):
    """The challenge of a request, which has four bytes: others are none."""
    if len(rest) == 4:
        return {"challenge": struct.unpack("<i", rest)[0]}
    return {"trailing": rest.hex()} if rest else {}


def a2s_request(data):
    body = data[5:]
    opcode = chr(data[4])
    if opcode == "T" and body.startswith(b"Source Engine Query\0"):
        rest = body[20:]
        return "A2S_INFO", brought(rest)
    if opcode in "UV":
        return {"U": "A2S_PLAYER", "V": "A2S_RULES"}[opcode], brought(body)
    if opcode == "W":
        return "A2S_SERVERQUERY_GETCHALLENGE", {"trailing": body.hex()} if body else {}
    text = printable(data[4:].rstrip(b"\0"))
    if text.strip() in ("details", "players", "rules"):
        return text.strip().upper(), {}
    if text.strip() == "challenge rcon":
        return "RCON_CHALLENGE", {}
    m = re.fullmatch(r'rcon (\d+) (?:"([^"]*)"|(\S+)) (.*)\n', text)
    if m:
        return "RCON", {"challenge": int(m[1]), "password": m[2] or m[3], "command": m[4]}
    raise ValueError("request %r" % data)


def a2s_reply(data):
    m = re.fullmatch(rb"challenge rcon (\d+)\n\0?", data[4:])
    if m:
        return "RCON_CHALLENGE", {"challenge": int(m[1])}
    name, read = REPLIES[chr(data[4])]
    return name, read(Reader(data, 5))


class Parts:
    """Joins the parts of Source's and GoldSource's split replies."""

    def __init__(self):
        self.kept = {}

    def add(self, number, flow, data):
        """Returns the frames and the payload of a reply when a datagram completes it."""
        if data[:4] != b"\xfe\xff\xff\xff":
            return [number], data
        ident, = struct.unpack_from("<i", data, 4)
        # Source's second byte is the part's number, which is below the total; GoldSource has both in one byte.
        if self.is_goldsource(data):
            total, part, body, packed = data[8] & 15, data[8] >> 4, data[9:], None
        else:
            total, part = data[8], data[9]
            packed, at = None, 12
            if ident < 0:
                at = data.index(b"BZh") - 8 if part == 0 else 12
                if part == 0:
                    packed = struct.unpack_from("<II", data, at)
                    at += 8
            body = data[at:]
        kept = self.kept.setdefault((flow, ident), {})
        kept[part] = (number, body, packed)
        if len(kept) < total:
            return None
        del self.kept[flow, ident]
        payload = b"".join(kept[i][1] for i in range(total))
        if kept[0][2]:
            size, crc = kept[0][2]
            payload = bz2.decompress(payload)
            assert len(payload) == size and zlib.crc32(payload) == crc, "damaged on the way"
        return sorted(n for n, _, _ in kept.values()), payload

    @staticmethod
    def is_goldsource(data):
        first = data[9:13] == b"\xff\xff\xff\xff"
        return first or (data[8] >> 4 > 0 and data[9] >= data[8])


# Master servers ----------------------------------------------------------------------------------------------------

def master_request(data):
    assert data[:1] == b"1"
    r = Reader(data, 1)
    f = {"region": r.take("B"), "seed": r.text()}
    if r.left():
        f["filter"] = r.text()
    r.end()
    return "A2M_GET_SERVERS_BATCH2", f


def master_reply(data):
    assert data[:6] == b"\xff\xff\xff\xfff\n"
    entries = data[6:]
    assert len(entries) % 6 == 0
    return "M2A_SERVER_BATCH", {"servers": ["%d.%d.%d.%d:%d" % struct.unpack_from(">4BH", entries, i)
                                            for i in range(0, len(entries), 6)]}


# The All-Seeing Eye ------------------------------------------------------------------------------------------------

def eye_request(data):
    assert data == b"s"
    return "ASE_QUERY", {"query": "s"}


def eye_reply(data):
    assert data[:4] == b"EYE1"
    r = Reader(data, 4)
    f = {name: r.counted() for name in
         ("game", "port", "name", "gametype", "map", "version", "password", "players", "max_players")}
    f["rules"] = []
    while True:
        name = r.counted()
        if name == "":
            break
        f["rules"].append({"name": name, "value": r.counted()})
    f["player_list"] = []
    while r.left():
        flags = r.take("B")
        f["player_list"].append({name: r.counted() for bit, name in enumerate(
            ("name", "team", "skin", "score", "ping", "time")) if flags & 1 << bit})
    return "EYE1", f


# RCON --------------------------------------------------------------------------------------------------------------

def rcon(stream, is_request):
    """Yields name, fields and offset of the last byte of each packet in one direction of a connection."""
    at = 0
    while at < len(stream):
        size, ident, kind = struct.unpack_from("<3i", stream, at)
        body = stream[at + 12:at + 4 + size]
        assert len(body) == size - 8 and body[-2:] == b"\0\0", "no packet: %r" % stream[at:]
        at += 4 + size
        names = {0: "SERVERDATA_RESPONSE_VALUE", 2: "SERVERDATA_AUTH_RESPONSE"}
        if is_request:
            names = {0: "SERVERDATA_RESPONSE_VALUE", 2: "SERVERDATA_EXECCOMMAND", 3: "SERVERDATA_AUTH"}
        text = body[:-2]
        if text == b"\0":
            text = b""  # some servers end an empty body with three NULs
        yield (names.get(kind, "SERVERDATA_OTHER"),
               {"size": size, "id": ident, "type": kind, "body": printable(text)}, at - 1)


class Streams:
    """Collects the bytes of each direction of connections, and the frame that each byte came in."""

    def __init__(self):
        self.first, self.parts, self.order = {}, {}, []

    def add(self, number, src, dst, segment):
        sport, dport, seq, _, offset, flags = struct.unpack_from(">HHIIBB", segment)
        flow = ("%s:%d" % (src, sport), "%s:%d" % (dst, dport))
        if flags & 2:  # SYN
            self.first[flow] = seq + 1
            self.parts[flow] = {}
            self.order.append((flow, not flags & 16))
        data = segment[(offset >> 4) * 4:]
        if data:
            self.parts[flow].setdefault((seq - self.first[flow]) & 0xFFFFFFFF, (number, data))

    def messages(self):
        for flow, is_request in self.order:
            stream, frame_of = b"", []
            for at, (number, data) in sorted(self.parts[flow].items()):
                assert at == len(stream), "a gap"
                stream += data
                frame_of += [number] * len(data)
            for name, fields, last in rcon(stream, is_request):
                yield {"frame": frame_of[last], "src": flow[0], "dst": flow[1], "message": name, "fields": fields}


# Datagrams ---------------------------------------------------------------------------------------------------------

# By the server's port: how its requests and replies are read.
KINDS = {27015: (a2s_request, a2s_reply), 27011: (master_request, master_reply),
         22126: (eye_request, eye_reply), 49124: (eye_request, eye_reply)}
# What is none of our protocols is counted.
OTHERS = (8303,)


def ipv4(fragments, number, packet):
    """Returns frames, protocol, addresses and payload of a datagram when a packet completes it."""
    assert packet[0] >> 4 == 4
    total, ident, place = struct.unpack_from(">HHH", packet, 2)
    src, dst = (".".join(map(str, packet[i:i + 4])) for i in (12, 16))
    data = packet[(packet[0] & 15) * 4:total]
    offset, more = (place & 0x1FFF) * 8, place & 0x2000
    if not offset and not more:
        return [number], packet[9], src, dst, data
    kept = fragments.setdefault((src, dst, ident), {})
    kept[offset] = (number, data, more)
    whole, numbers = b"", []
    while len(whole) in kept:
        number, data, more = kept[len(whole)]
        whole += data
        numbers.append(number)
        if not more:
            return sorted(numbers), packet[9], src, dst, whole
    return None


def decode(data):
    messages, others = [], 0
    fragments, parts, streams = {}, Parts(), Streams()
    for number, frame in frames(data):
        assert frame[12:14] == b"\x08\x00", "not IPv4"
        whole = ipv4(fragments, number, frame[14:])
        if not whole:
            continue
        numbers, protocol, src, dst, datagram = whole
        if protocol == 6:
            streams.add(number, src, dst, datagram)
            continue
        if protocol == 1:
            continue  # an error, as when a client has gone
        assert protocol == 17
        sport, dport = struct.unpack_from(">HH", datagram)
        payload = datagram[8:]
        is_request = dport in KINDS or dport in OTHERS
        port = dport if is_request else sport
        if port in OTHERS:
            others += 1
            continue
        flow = ("%s:%d" % (src, sport), "%s:%d" % (dst, dport))
        joined = parts.add(number, flow, payload) if port == 27015 else (numbers, payload)
        if not joined:
            continue
        name, fields = KINDS[port][0 if is_request else 1](joined[1])
        messages.append({"frame": number, "src": flow[0], "dst": flow[1], "message": name, "fields": fields})
    messages += streams.messages()
    messages.sort(key=lambda m: m["frame"])
    return {"messages": messages, "others": others}


for name in sys.argv[1:]:
    with open(name, "rb") as f:
        print(json.dumps(decode(f.read()), ensure_ascii=False, indent=1))
