-- What is known of flows, and which protocol a payload is: track.Flows, dissect.Registry and
-- the pipeline's identifier. Wireshark reads a packet again when it is shown, and packets in any
-- order then, so what was known when it came first is kept with it.

-- MAX_SAID passwords of a flow are remembered: a client has one or two.
local MAX_SAID = 8

-- MAX_FLOWS flows are known at a time, as are weak requests and connections: 14 MB of flows, 29 MB of
-- requests (measured with Lua 5.4). What is kept for a packet is not bounded, for Wireshark keeps the
-- packet, too, and may show it again.
local MAX_FLOWS = 65536

-- MAX_WAIT is how many seconds a weak request waits for its reply, and a part for the others.
local MAX_WAIT = 5

local flows, parked, kept = newStore(MAX_FLOWS), newStore(MAX_FLOWS), {}
local nothing = {asked = 0} -- what is known of a new flow; facts are never changed, but replaced

-- forget empties all that is known, before a capture is read.
local function forget() flows, parked, kept = newStore(MAX_FLOWS), newStore(MAX_FLOWS), {} end

local function learn(server, client, facts)
	local key = server .. "|" .. client
	local old = flows.get(key) or nothing
	local v = {asked = bor(old.asked, facts.asked or 0), app = facts.app or old.app, proto = facts.proto or old.proto,
		rcon = facts.rcon or old.rcon, said = old.said, tail = facts.tail or old.tail, isForeign = facts.isForeign}
	if facts.said then
		v.said = {}
		for _, s in ipairs(old.said or {}) do v.said[#v.said + 1] = s end
		for _, s in ipairs(facts.said) do
			if #v.said < MAX_SAID then v.said[#v.said + 1] = s end
		end
	end
	for k, x in pairs(v) do
		if old[k] ~= x then
			flows.set(key, v)
			return
		end
	end
end

local function fromServer(t) return t.isReply or t.isNotice end

-- contextOf is what a reader may know besides the bytes of a datagram of wire bytes.
local function contextOf(pinfo, wire)
	local src, dst = tostring(pinfo.src), tostring(pinfo.dst)
	return {src = src .. " " .. pinfo.src_port, dst = dst .. " " .. pinfo.dst_port, srcAddr = src, dstAddr = dst,
		srcPort = pinfo.src_port, dstPort = pinfo.dst_port, wire = wire, isV6 = src:find(":", 1, true) ~= nil,
		toServer = nothing, fromServer = nothing, waiting = 0, frame = pinfo.number, time = pinfo.abs_ts}
end

-- pick asks every protocol about b and takes the most confident, the first of equals.
local function pick(c, b)
	local conf, typ = NO, nil
	for _, p in ipairs(protos) do
		if p.probe then
			local k, t = p.probe(c, b)
			if k > conf then conf, typ = k, t end
		end
	end
	return conf, typ
end

-- believe reports whether a verdict stands: a weak one needs a question, earlier messages or
-- a port.
local function believe(c, conf, t)
	local flow, server = c.toServer, c.dstPort
	if fromServer(t) then flow, server = c.fromServer, c.srcPort end
	if flow.isForeign and (conf < CERTAIN or not t.isUnmistakable) then return false end
	if conf ~= MAYBE then return conf > MAYBE end
	local asked = flow.asked
	if t.onlyAsked then asked = bor(asked, c.waiting) end
	if t.isReply and has(asked, t.asks) then return true end
	return not t.onlyAsked and (flow.proto == t.proto or t.proto.ports[server] ~= nil)
end

-- recall fills in what is known of the ends of c.
local function recall(c)
	c.toServer = flows.get(c.dst .. "|" .. c.srcAddr) or nothing
	c.fromServer = flows.get(c.src .. "|" .. c.dstAddr) or nothing
	local p = parked.get(c.dst .. "|" .. c.src)
	if p and c.time - p.time <= MAX_WAIT then c.waiting = p.type.asks end
end

-- judge returns the type of the message b, nil if it is none, when it comes first.
local function judge(c, b, forced)
	local conf, t = pick(c, b)
	recall(c)
	if forced then
		local k, own = forced.probe(c, b)
		if own and (k > NO or conf == NO) then return own end
	end
	if conf < LIKELY then conf, t = pick(c, b) end
	if not t then
		for _, p in ipairs(protos) do
			local isForeign, isReply = false, false
			if p.foreign then isForeign, isReply = p.foreign(c, b) end
			if isForeign and isReply then
				learn(c.src, c.dstAddr, {isForeign = true})
			elseif isForeign and not c.toServer.proto then
				learn(c.dst, c.srcAddr, {isForeign = true})
			end
		end
		return nil
	end
	if believe(c, conf, t) then return t end
	if not fromServer(t) and not c.split and #b <= 64 then
		parked.set(c.src .. "|" .. c.dst, {type = t, time = c.time, context = c})
	end
	return nil
end

-- keyOf identifies datagram nth between the ends of c in its frame, which may have others in
-- a tunnel.
local function keyOf(c, nth) return c.frame .. "|" .. nth .. "|" .. c.src .. "|" .. c.dst end

-- identify returns the type of the message b, and fills in c. On a later look at the same
-- packet it returns what it returned first, and a weak request whose reply came meanwhile.
local function identify(c, b, visited, nth, forced)
	local key = keyOf(c, nth)
	if visited then
		local k = kept[key]
		if not k or forced and k.forced ~= forced then
			if not forced then return nil end
			return judge(c, b, forced)
		end
		c.toServer, c.fromServer, c.waiting = k.toServer, k.fromServer, k.waiting
		return k.type
	end
	local t = judge(c, b, forced)
	if not t then return nil end
	kept[key] = {type = t, toServer = c.toServer, fromServer = c.fromServer, waiting = c.waiting, forced = forced}
	if t.isReply then
		local waits = c.dst .. "|" .. c.src
		local p = parked.get(waits)
		if p and c.time - p.time <= MAX_WAIT and not p.type.isReply and has(p.type.asks, t.asks) then
			kept[keyOf(p.context, 0)] = {type = p.type, toServer = p.context.toServer, fromServer = nothing, waiting = 0}
		end
		parked.set(waits, nil)
	end
	return t
end

-- ownerOf returns the protocol that parts of a form of split messages belong to.
local function ownerOf(form)
	for _, p in ipairs(protos) do
		if p.splits[form] then return p end
	end
end

-- read makes a message of b, of type t, and remembers what it shows of its flow.
local function read(c, t, b, visited)
	local m = newMessage(t.proto, b, c.wire)
	m.type = t
	local owner = c.form and ownerOf(c.form)
	if owner and owner.adopts then m.shownAs = owner end
	local flow = fromServer(t) and c.fromServer or c.toServer
	c.said, c.tail = flow.said, flow.tail
	t.proto.read(c, t, m.cur, m)
	if not visited then
		m.learn.proto = t.proto
		if fromServer(t) then
			learn(c.src, c.dstAddr, m.learn)
		else
			m.learn.asked = m.learn.asked or t.asks
			learn(c.dst, c.srcAddr, m.learn)
		end
	end
	return m
end
