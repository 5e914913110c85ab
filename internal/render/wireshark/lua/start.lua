-- Gives Wireshark the protocols: each for "Decode As" and by heuristics, over UDP and TCP.

-- What an ICMP error quotes is no message that was sent again.
local icmp, icmp6 = Field.new("icmp.type"), Field.new("icmpv6.type")
local function isQuoted() return icmp() ~= nil or icmp6() ~= nil end

-- dissectDatagram shows the message in a datagram, and reports whether there is one. forced is
-- the protocol that the user chose, or nil.
local function dissectDatagram(tvb, pinfo, tree, forced)
	if tvb:captured_len() == 0 or isQuoted() then return false end
	local b = tvb:raw(0, tvb:captured_len())
	local c = contextOf(pinfo, tvb:reported_len())
	if isSplit(b) then
		recall(c)
		return dissectPart(tvb, pinfo, tree, c, b)
	end
	if dissectFragment(tvb, pinfo, tree, c, b) then return true end
	local t = identify(c, b, pinfo.visited, 0, forced)
	if not t then return false end
	show(tree, pinfo, tvb, read(c, t, b, pinfo.visited))
	return true
end

-- What streams showed when their bytes came first, lists by frame: sessions do not go back.
local streamed = {}

-- recallStreamed returns the message with these bytes that connection and frame of c had first.
local function recallStreamed(c, bytes)
	for _, m in ipairs(streamed[keyOf(c, 0)] or {}) do
		if m.data == bytes then return m end
	end
end

-- readStreamed reads a message of a stream and stores it. One that is new at a later look may
-- follow anything, so it is read as after a gap.
local function readStreamed(p, c, bytes, visited, followsGap)
	if visited or followsGap then p.gap(c) end
	local m = read(c, p.typeOf(c, bytes), bytes, visited)
	m.followsGap = visited or followsGap
	local key = keyOf(c, 0)
	streamed[key] = streamed[key] or {}
	table.insert(streamed[key], 1, m)
	return m
end

-- A lost segment, as Wireshark sees it. It is unknown while packets come first, but for tshark without -2.
local lost = Field.new("tcp.analysis.lost_segment")

-- The starts of messages whose other bytes were asked for, by direction.
local awaited = newStore(MAX_FLOWS)

-- followsGap reports whether bytes are missing before b, the next piece of a connection: the
-- capture cut or lost them, or b is not what was asked for.
local function followsGap(c, tvb, b)
	local key = c.src .. "|" .. c.dst
	local start = awaited.get(key)
	awaited.set(key, nil)
	return lost() ~= nil or tvb:reported_len() > #b or start and (#b ~= start.want or not starts(b, start.bytes))
end

-- dissectStream shows the messages in a piece of a connection, and asks for the bytes that the
-- last one lacks.
local function dissectStream(tvb, pinfo, tree, p)
	local b, off = tvb:raw(0, tvb:captured_len()), 0
	local c = contextOf(pinfo, 0)
	watch(c)
	if not pinfo.visited then addFields(c) end
	local isTorn = pinfo.visited and lost() ~= nil or not pinfo.visited and followsGap(c, tvb, b)
	if isTorn and not pinfo.visited then p.gap(c) end
	while off < #b do
		c = contextOf(pinfo, 0)
		local rest = b:sub(off + 1)
		local n, need = p.frame(c, rest)
		if not n and need then
			pinfo.desegment_offset, pinfo.desegment_len = off, math.max(need - #rest, 1)
			if not pinfo.visited then awaited.set(c.src .. "|" .. c.dst, {bytes = rest, want = math.max(need, #rest + 1)}) end
			return
		elseif not n then
			n = #rest
		end
		c.wire = n
		local bytes = rest:sub(1, n)
		local m = pinfo.visited and recallStreamed(c, bytes)
		if not m or isTorn and not m.followsGap then m = readStreamed(p, c, bytes, pinfo.visited, isTorn) end
		isTorn = false
		if isDisputed(c) then hideTexts(m) end
		show(tree, pinfo, tvb:range(off, n):tvb(), m)
		off = off + n
	end
end

for _, p in ipairs(protos) do
	local ok, w = pcall(Proto, p.name, p.doc)
	if not ok then w = Proto("qsniff_" .. p.name, p.doc) end -- the name is taken
	p.wireshark = w
	local fields, experts = register(w, p.defs, p.codes, "")
	w.fields, w.experts = fields, experts
	if p.probe then
		function w.dissector(tvb, pinfo, tree)
			return dissectDatagram(tvb, pinfo, tree, p) and tvb:captured_len() or 0
		end
		DissectorTable.get("udp.port"):add_for_decode_as(w)
	end
	if p.frame then
		function w.dissector(tvb, pinfo, tree)
			dissectStream(tvb, pinfo, tree, p)
			return tvb:captured_len()
		end
		DissectorTable.get("tcp.port"):add_for_decode_as(w)
		w:register_heuristic("tcp", function(tvb, pinfo, tree)
			if tvb:captured_len() == 0 then return false end
			local c = contextOf(pinfo, 0)
			if not p.claims(c, tvb:raw(0, tvb:captured_len())) then return false end
			pinfo.conversation = w
			dissectStream(tvb, pinfo, tree, p)
			return true
		end)
	end
end

local segments = Proto("qsniff_segments", "segments of TCP that contradict each other, for qsniff's protocols")

function segments.dissector(tvb, pinfo)
	local isTCP = pinfo.port_type == 2
	if not isTCP or pinfo.visited or isQuoted() then return end
	local c = contextOf(pinfo, 0)
	if isWatched(c) and not addFields(c) then addFrame(c, tvb:raw(0, tvb:captured_len())) end
end

register_postdissector(segments)

local fields, experts = register(meta, sharedDefs, sharedCodes, "qsniff.")
for _, f in pairs(own) do fields[#fields + 1] = f end
experts[#experts + 1] = cannotInflate
meta.fields, meta.experts = fields, experts

function meta.init()
	forget()
	forgetParts()
	forgetCopies()
	streamed, awaited = {}, newStore(MAX_FLOWS)
	for _, p in ipairs(protos) do
		if p.forget then p.forget() end
	end
end

function meta.dissector(tvb, pinfo, tree)
	return dissectDatagram(tvb, pinfo, tree) and tvb:captured_len() or 0
end

meta:register_heuristic("udp", function(tvb, pinfo, tree) return dissectDatagram(tvb, pinfo, tree) end)
