-- Which connections have bytes that came twice with different values: Conflict of reassembly/tcpstream.
-- Wireshark gives a dissector one copy, and does not call it for a segment that only repeats bytes. So
-- a postdissector compares the segments of each connection in which a protocol was found.

-- MAX_COMPARED bytes and MAX_SEGMENTS segments of a direction are kept for that. Chosen: 256 of the
-- largest messages usual; segments of 256 bytes. A copy of bytes before them is taken for another one.
local MAX_COMPARED, MAX_SEGMENTS = 1048576, 4096

local watched, disputes = newStore(MAX_FLOWS), newStore(MAX_FLOWS)

local function forgetCopies() watched, disputes = newStore(MAX_FLOWS), newStore(MAX_FLOWS) end

local function connectionOf(c) return c.src < c.dst and c.src .. "|" .. c.dst or c.dst .. "|" .. c.src end

-- watch has the segments of the connection of c compared from its packet on.
local function watch(c)
	local key = connectionOf(c)
	if not watched.get(key) then watched.set(key, {}) end
end

local function isWatched(c) return watched.get(connectionOf(c)) ~= nil end

-- isDisputed reports whether bytes of the connection of c came twice with different values, the first
-- time in its packet or before.
local function isDisputed(c)
	local first = disputes.get(connectionOf(c))
	return first ~= nil and c.frame >= first
end

local function dispute(c, frame)
	local key = connectionOf(c)
	disputes.set(key, math.min(disputes.get(key) or frame, frame))
end

-- distance returns how far sequence number a is after b, negative if it is before it.
local function distance(a, b)
	local d = (a - b) % 4294967296
	return d < 2147483648 and d or d - 4294967296
end

-- compare compares segment s, which is kept, with the bytes b from sequence number seq on.
local function compare(c, s, seq, b)
	local d = distance(seq, s.seq)
	local skip, off = math.max(-d, 0), math.max(d, 0)
	local n = math.min(#s.bytes - off, #b - skip)
	if n > 0 and s.bytes:sub(off + 1, off + n) ~= b:sub(skip + 1, skip + n) then dispute(c, s.frame) end
end

-- keep adds a segment to those of its direction, and drops the oldest ones beyond the limits.
local function keep(side, s)
	local finish = (s.seq + #s.bytes) % 4294967296
	if not side.top or distance(finish, side.top) > 0 then side.top = finish end
	side.last, side.size = side.last + 1, side.size + #s.bytes
	side[side.last] = s
	while side.size > MAX_COMPARED or side.last - side.first >= MAX_SEGMENTS do
		local old = side[side.first]
		local gone = (old.seq + #old.bytes) % 4294967296
		if not side.gone or distance(gone, side.gone) > 0 then side.gone = gone end
		side[side.first], side.first, side.size = nil, side.first + 1, side.size - #old.bytes
	end
end

-- addSegment compares what a segment of c brings, b, with what came before, and keeps it. header is
-- the one of TCP.
local function addSegment(c, header, b)
	local sides = watched.get(connectionOf(c))
	if not sides or #b == 0 then return end
	local side = sides[c.src] or {first = 1, last = 0, size = 0}
	sides[c.src] = side
	if side.frame == c.frame then return end -- its dissector brought it
	local seq = u16be(header, 4) * 65536 + u16be(header, 6)
	if has(at(header, 13), 2) then seq = seq + 1 end -- a SYN takes a number
	side.frame = c.frame
	if side.gone and distance(seq, side.gone) < 0 then dispute(c, 0) end
	if side.top and distance(seq, side.top) < 0 then
		for i = side.first, side.last do compare(c, side[i], seq, b) end
	end
	keep(side, {seq = seq % 4294967296, bytes = b, frame = c.frame})
end

-- The header and the payload of a segment as fields. Without a tree, as where packets come first, there
-- are none, but for tshark without -2.
local tcp, payload = Field.new("tcp"), Field.new("tcp.payload")

-- addFields adds the segment that was dissected last, and reports whether there are fields of one.
local function addFields(c)
	local headers, payloads = {tcp()}, {payload()}
	if #headers == 0 then return false end
	if #payloads > 0 then addSegment(c, headers[#headers].range:raw(), payloads[#payloads].range:raw()) end
	return true
end

-- portsOf returns the ports of c as they are in a header.
local function portsOf(c)
	local function bytes(port) return string.char(math.floor(port / 256), port % 256) end
	return bytes(c.srcPort) .. bytes(c.dstPort)
end

-- addFrame adds the segment that is in frame b: that of the first header of IP which the ports of c follow.
local function addFrame(c, b)
	local ports = portsOf(c)
	local off = find(b, ports)
	while off do
		for _, n in ipairs({20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}) do
			local ip = off - n
			local finish
			if ip >= 0 and at(b, ip) == 64 + n / 4 and at(b, ip + 9) == 6 then
				finish = u16be(b, ip + 2)
			elseif ip >= 0 and n == 40 and math.floor(at(b, ip) / 16) == 6 and at(b, ip + 6) == 6 then
				finish = u16be(b, ip + 4) + 40
			end
			if finish and at(b, off + 13) then
				finish = finish > n and ip + finish or #b -- 0: the sender's network card cuts it
				local start = off + math.floor(at(b, off + 12) / 16) * 4
				addSegment(c, b:sub(off + 1, off + 14), b:sub(start + 1, finish))
				return
			end
		end
		off = find(b, ports, off + 1)
	end
end
