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

-- What a stream showed when its bytes came first, by place: sessions do not go back.
local streamed = {}

-- A lost segment, as Wireshark sees it.
local lost = Field.new("tcp.analysis.lost_segment")

-- dissectStream shows the messages in a piece of a connection, and asks for the bytes that the
-- last one lacks.
local function dissectStream(tvb, pinfo, tree, p)
	local b, off, nth = tvb:raw(0, tvb:captured_len()), 0, 0
	if not pinfo.visited and (lost() ~= nil or tvb:reported_len() > tvb:captured_len()) then p.gap(contextOf(pinfo, 0)) end
	while off < #b do
		local c = contextOf(pinfo, 0)
		local rest = b:sub(off + 1)
		local n, need = p.frame(c, rest)
		if not n and need then
			pinfo.desegment_offset, pinfo.desegment_len = off, math.max(need - #rest, 1)
			return
		elseif not n then
			n = #rest
		end
		c.wire = n
		local key = keyOf(c, nth)
		local m = streamed[key]
		if not pinfo.visited or not m or m.wire ~= n then
			m = read(c, p.typeOf(c, rest), rest:sub(1, n), pinfo.visited)
			streamed[key] = m
		end
		show(tree, pinfo, tvb:range(off, n):tvb(), m)
		off, nth = off + n, nth + 1
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

local fields, experts = register(meta, sharedDefs, sharedCodes, "qsniff.")
for _, f in pairs(own) do fields[#fields + 1] = f end
experts[#experts + 1] = cannotInflate
meta.fields, meta.experts = fields, experts

function meta.init()
	forget()
	forgetParts()
	streamed = {}
	for _, p in ipairs(protos) do
		if p.forget then p.forget() end
	end
end

function meta.dissector(tvb, pinfo, tree)
	return dissectDatagram(tvb, pinfo, tree) and tvb:captured_len() or 0
end

meta:register_heuristic("udp", function(tvb, pinfo, tree) return dissectDatagram(tvb, pinfo, tree) end)
