-- Source RCON: Frame and Dissect of this folder, as far as one packet shows. What needs the memory
-- of a session (roles, parts, joined replies, most findings) is qsniff's alone.

local T = P.types
local MIN, USUAL, MAX, MAX_FIRST = 10, 4106, 1048572, 1500
local sessions = newStore(MAX_FLOWS)

function P.forget() sessions = newStore(MAX_FLOWS) end

local function keyOfSession(c) return c.src < c.dst and c.src .. "|" .. c.dst or c.dst .. "|" .. c.src end

-- sessionOf is what is known of a connection: the address of its server, and its login.
local function sessionOf(c)
	local key = keyOfSession(c)
	local s = sessions.get(key)
	if not s then
		s = {}
		sessions.set(key, s)
	end
	return s
end

local function headerOf(b)
	local x = b .. ("\0"):rep(12)
	return {n = math.min(#b, 12), size = u32(x, 0), id = i32(x, 4), num = i32(x, 8)}
end

local function fits(h, most) return h.size <= most and (h.n < 4 or h.size >= MIN) end

local function hasUsualType(h, toServer)
	if h.n < 12 then return h.num >= 0 and h.num <= 4 end
	if h.num == 0 or h.num == 2 then return true end
	if h.num == 3 then return toServer end
	return (h.num == 1 or h.num == 4) and not toServer
end

-- rate returns how sure it is that b begins with a packet in a direction.
local function rate(toServer, b, n)
	local h = headerOf(b)
	if not fits(h, toServer and MAX_FIRST or USUAL) or not hasUsualType(h, toServer) then return NO end
	if h.n < 12 then return MAYBE end
	local whole = #b >= n
	if whole and b:sub(n - 1, n) ~= "\0\0" then return NO end
	local body = b:sub(13, math.max(12, math.min(#b, n - 2)))
	if h.size == MIN + 1 and not toServer and onlyOf(body, "\0") then body = "" end
	if body:find(toServer and "[\0\1-\31\127]" or "[\0\1-\8\11\12\14-\26\28-\31\127]") then return NO end
	if toServer then
		if h.size == MIN and h.num ~= 3 then return MAYBE end
		if h.num == 3 and whole and #body > 0 and isUTF8(body) then
			local next = headerOf(b:sub(n + 1))
			return fits(next, MAX) and hasUsualType(next, true) and CERTAIN or MAYBE
		end
		return (h.num == 3 or h.num == 2) and LIKELY or MAYBE
	end
	if h.num == 2 and #body == 0 or h.num == 0 and #body >= 32 then return LIKELY end
	return MAYBE
end

-- isToServer reports the direction of a packet: that of the connection, if it is known.
local function isToServer(c, b)
	local s = sessionOf(c)
	if s.server then return s.server == c.dst end
	local n = headerOf(b).size + 4
	return rate(false, b, n) <= rate(true, b, n)
end

-- claims reports whether b, at the start of a segment, shows that its connection is RCON's.
function P.claims(c, b)
	local s = sessionOf(c)
	if s.server then return true end
	local h = headerOf(b)
	local n = h.size + 4
	local up, down = rate(true, b, n), rate(false, b, n)
	local k = math.max(up, down)
	local atPort = P.ports[c.srcPort] or P.ports[c.dstPort]
	if k < LIKELY and not (k == MAYBE and atPort and h.n == 12) then return false end
	if up > down or up == down and (P.ports[c.dstPort] or not P.ports[c.srcPort] and c.dstPort < c.srcPort) then
		s.server = c.dst
	else
		s.server = c.src
	end
	return true
end

-- wideEnd returns where a packet ends whose size counts characters.
local function wideEnd(b, h)
	local want, points, units, off = h.size - MIN, 0, 0, 12
	while off < #b and at(b, off) ~= 0 do
		local n = utf8Len(b, off)
		if not n then return nil end
		points, units, off = points + 1, units + (n == 4 and 2 or 1), off + n
		if points > want then return nil end
	end
	if points ~= want and units ~= want or b:sub(off + 1, off + 2) ~= "\0\0" then return nil end
	return off + 2
end

-- believable returns the length of a usual packet of a server at the start of b, or nil.
local function believable(b)
	local h = headerOf(b)
	if h.n < 12 or not fits(h, USUAL) or not hasUsualType(h, false) then return nil end
	local n = h.size + 4
	if #b < n or b:sub(n - 1, n) ~= "\0\0" then return nil end
	return n
end

-- miscountedEnd returns where a server's packet ends by its first NULs, if the size says something else.
local function miscountedEnd(b, h)
	if h.n < 12 or not hasUsualType(h, false) or h.size > MAX then return nil end
	local p = b:find("\0", 13, true)
	if not p or #b < p + 1 or at(b, p) ~= 0 then return nil end
	local more = p + 1 - (h.size + 4)
	if more == 0 or more > 0 and more ~= 1 and more ~= 2 and more ~= 8 and more ~= 10 then return nil end
	if more > 0 and wideEnd(b, h) then return nil end
	return p + 1
end

-- isStray reports whether b begins with the seven bytes of Squad's server that are no packet.
local function isStray(b, toServer)
	if toServer or #b < 7 or not starts(b, "\0\1\0\0\0") or #b >= 260 and b:sub(259, 260) == "\0\0" then return false end
	local following = headerOf(b:sub(8))
	return #b == 7 or fits(following, USUAL) and hasUsualType(following, false)
end

-- frame returns the length of the packet at the start of b, or nil and how many bytes are
-- needed to tell.
function P.frame(c, b)
	local toServer = isToServer(c, b)
	if isStray(b, toServer) then return 7 end
	if #b < 12 then return nil, 12 end
	local h = headerOf(b)
	local n = h.size + 4
	local stop = not toServer and miscountedEnd(b, h)
	if stop and stop > n then
		local next = headerOf(b:sub(stop + 1))
		if (h.size < MIN or not believable(b:sub(n + 1))) and (next.n == 0 or fits(next, USUAL + 10)) and
			(next.n < 12 or hasUsualType(next, false)) then return stop end
	elseif stop then
		if believable(b:sub(stop + 1)) then return stop end
		if #b < n then return nil, stop + 12 end
	end
	if not fits(h, MAX) then return #b end
	if #b < n then return nil, n end
	if b:sub(n - 1, n) ~= "\0\0" and not toServer then return wideEnd(b, h) or n end
	return n
end

-- gap notes that bytes around those of an end are missing: what follows may be the rest of a secret.
function P.gap(c)
	local s = sessions.get(keyOfSession(c))
	if s and s.server == c.src then s.isMissing, s.isServerTorn = true, true elseif s then s.isTorn = true end
end

function P.typeOf(c, b)
	local h, toServer = headerOf(b), isToServer(c, b)
	if isStray(b, toServer) then return T.SERVERDATA_OTHER_2 end
	if toServer then
		if h.num == 3 then return T.SERVERDATA_AUTH end
		if h.num == 2 then return T.SERVERDATA_EXECCOMMAND end
		return h.num == 0 and T.SERVERDATA_RESPONSE_VALUE or T.SERVERDATA_OTHER
	end
	if h.num == 2 then return T.SERVERDATA_AUTH_RESPONSE end
	return h.num == 0 and T.SERVERDATA_RESPONSE_VALUE_2 or T.SERVERDATA_OTHER_2
end

-- readText reads output or a command. A password can lie across two packets of output.
local function readText(cur, s, n, toServer)
	local body, before = cur:peek(n), not toServer and s.tail or ""
	local lo = findSecret(before .. body, s.said, cur:isCut())
	if lo then lo = math.max(0, lo - #before) end
	if not toServer and s.isMissing or toServer and s.isTorn then
		lo, s.isMissing = 0, false
	end
	if not toServer then
		s.tail = (before .. body):sub(-256):match(n >= 4086 and ".*" or "[^\n]*$") -- of what may go on
	end
	if lo == 0 then cur:derived("body", "") end
	if not lo then
		cur:run("body", 0, n, 0)
	else
		if lo > 0 then cur:span("body", 0, lo, 0) end
		cur:run("body_secret", 0, n - lo, 0)
	end
end

-- isMiscounted reports whether data is a server's packet whose size is wrong in a known way.
local function isMiscounted(data, h, toServer)
	return not toServer and #data ~= h.size + 4 and miscountedEnd(data, h) == #data
end

-- readBody reads the body and the NULs after it.
local function readBody(c, cur, m, h, toServer)
	local s, b = sessionOf(c), cur:peek()
	local n = h.size - MIN
	local wide = not toServer and wideEnd(m.data, h)
	if wide and wide ~= h.size + 4 then
		cur:raise("RCN-11", 1)
		n = wide - 14
	end
	if isMiscounted(m.data, h, toServer) then
		cur:raise(#m.data < h.size + 4 and "RCN-19" or "RCN-20", 1)
		n = #m.data - 14
	end
	local finish = 2
	if #b < n + 2 then
		n, finish = #b, nil
	else
		local last, before = at(b, n + 1), at(b, n)
		if last ~= 0 then
			n, finish = n + 2, 0
		elseif before ~= 0 then
			n, finish = n + 1, 1
		elseif n == 1 and at(b, 0) == 0 or n > 1 and at(b, n - 1) == 0 and at(b, n - 2) ~= 0 then
			n, finish = n - 1, 3
		end
	end
	local mayLeak = toServer and h.num ~= 2 and n > 0 and (not s.isLoggedIn or s.isTorn)
	if h.num == 3 or mayLeak then
		local password = b:sub(1, n)
		if n > 0 then cur:run("auth.body", 0, n, 0) elseif finish then cur:derived("auth.body", "") end
		if n > 0 then s.said = {password} end
	elseif n > 0 then
		readText(cur, s, n, toServer)
	elseif finish then
		cur:derived("body", "")
	end
	if finish and finish > 0 then cur:take("terminators", finish) end
	local isTorn = finish ~= nil and finish < 2
	if toServer then s.isTorn = isTorn else s.isServerTorn = isTorn end
	if not toServer and (not finish or isTorn) then s.isMissing = true end
	if not finish then cur:take("terminators", 2) elseif finish ~= 2 then cur:raise("RCN-13") end
	if not toServer and (h.num == 0 and n > 0 or h.num == 2 and h.id ~= -1) then s.isLoggedIn = true end
end

function P.read(c, t, cur, m)
	local toServer, h = isToServer(c, m.data), headerOf(m.data)
	if isStray(m.data, toServer) then
		cur:rest("trailing")
		cur:raise("RCN-12")
	elseif not fits(h, MAX) and not isMiscounted(m.data, h, toServer) then
		local s = sessionOf(c)
		if toServer and (s.isTorn or not s.isLoggedIn) or not toServer and s.isServerTorn then
			cur:rest("unread")
			cur:raise("RCN-09")
		else
			cur:i32("size")
			cur:raise("RCN-09")
			cur:i32("id")
			cur:i32("type")
			cur:rest("unread")
		end
		if toServer then s.isTorn = true else s.isMissing, s.isServerTorn = true, false end
		if m.status == "complete" then m.status = "malformed" end
	else
		cur:i32("size")
		if h.size > USUAL and not isMiscounted(m.data, h, toServer) then cur:raise("RCN-09") end
		cur:i32("id")
		cur:i32("type")
		if cur:ok() then readBody(c, cur, m, h, toServer) end
		local s = sessionOf(c)
		if toServer then
			if h.num == 3 then s.login = h.id end
		elseif h.num == 2 then
			s.login = nil
			if h.id == -1 then cur:raise("RCN-01", 0) end
		elseif h.num ~= 0 and s.login == h.id then -- an answer in a type of the server's own
			s.login = nil
			if h.num == -1 then cur:raise("RCN-01", 1) end
		end
	end
	cur:done()
end
