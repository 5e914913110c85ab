-- All-Seeing Eye: Probe and Dissect of this folder, and the joining of reassembly/eye.

local T = P.types
local askFull, askLight, askXfire, askVersion, askPing = T.ASE_QUERY, T.ASE_QUERY_2, T.ASE_QUERY_3, T.ASE_QUERY_4, T.ASE_QUERY_5
local byLetter = {s = askFull, b = askLight, r = askLight, x = askXfire, v = askVersion, p = askPing}
local short = askLight.asks + askXfire.asks

-- numberOf returns the number in the header of b, nil if it has none.
local function numberOf(b)
	local n = b:match("^EYE([1-9])")
	return n and tonumber(n)
end

local function beginsEye(b) return #b > 0 and starts("EYE", b:sub(1, 3)) end
local function isMTA(b) return #b >= 4 and starts("\4mta", b:sub(5, 8)) end

-- textAt returns the string whose length byte is at off and the offset after it, or nil.
local function textAt(b, off)
	local n = at(b, off)
	if not n or n == 0 or off + n > #b then return nil end
	return b:sub(off + 2, off + n), off + n
end

local function typeOf(c, b)
	if #b == 0 then return nil end
	if beginsEye(b) then
		local n, asked = numberOf(b), bor(c.fromServer.asked, c.waiting)
		if not n then return nil end
		if not isMTA(b) and (not has(asked, short) or has(asked, askFull.asks)) then return T.EYE1 end
		return n == 2 and T.EYE2 or n == 3 and T.EYE3 or T.EYE1
	end
	if b:find("^%d") then return T.ASE_VERSION end
	return byLetter[b:sub(1, 1)]
end

local function skipTexts(b, n)
	local got, off = 0, 4
	while got < n do
		local _, e = textAt(b, off)
		if not e then break end
		got, off = got + 1, e
	end
	return got, off
end

local function rateFull(b)
	local n = skipTexts(b, 9)
	if n == 0 then return MAYBE end
	if n < 9 then return LIKELY end
	local off = 4
	for i = 0, 8 do
		local s, e = textAt(b, off)
		if (i == 1 or i == 7 or i == 8) and not (s:find("^%d+$") and #s <= 5) then return LIKELY end
		off = e
	end
	return CERTAIN
end

local function rateLight(b, between)
	local n, off = skipTexts(b, 1 + between)
	if not isMTA(b) or n == 0 then return MAYBE end
	if n <= between then return LIKELY end
	local _, map = textAt(b, off)
	if not map then return LIKELY end
	local _, version = textAt(b, map)
	if not version or #b - version < 3 then return LIKELY end
	return CERTAIN
end

local FULL = 1364 -- the length of a fragment that another one follows
local MAX_REPLIES = 4096 -- replies that wait for fragments; each has nine of those at most
local fragments = newStore(MAX_REPLIES)

function P.forget() fragments = newStore(MAX_REPLIES) end

-- isWhole reports whether b reads as a whole EYE1 to its very end.
local function isWhole(b)
	local n, off = skipTexts(b, 9)
	if n < 9 then return false end
	local function skip(k)
		for _ = 1, k do
			local _, e = textAt(b, off)
			if not e then return false end
			off = e
		end
		return true
	end
	while off < #b and at(b, off) ~= 1 do
		if not skip(2) then return false end
	end
	off = off + 1
	while off < #b and at(b, off) ~= 0 do
		local flags, k = at(b, off), 0
		if flags >= 64 then return false end
		for i = 0, 5 do k = k + math.floor(flags / 2 ^ i) % 2 end
		off = off + 1
		if not skip(k) then return false end
	end
	return true
end

-- take adds b to its reply, if it is a fragment, and returns what it is in words, and the reply
-- that it completes.
function P.take(c, b)
	local n = numberOf(b)
	if not n or c.wire > #b or isMTA(b) or #b > FULL or n == 1 and (#b < FULL or isWhole(b)) or n > 1 and #b <= 8 then return nil end
	local key = c.src .. "|" .. c.dst .. "|" .. b:sub(-4)
	local set = fragments.get(key)
	if not set then
		local asked = bor(c.fromServer.asked, c.waiting)
		if n > 1 and has(asked, short) and not has(asked, askFull.asks) then return nil end
		set = {parts = {}, frames = {}}
		fragments.set(key, set)
	end
	local label = "fragment " .. n .. " of a reply"
	if set.parts[n] == b then return label .. ", once more" end
	if set.parts[n] then
		set.parts, set.frames = {}, {}
	end
	set.parts[n] = b
	set.frames[#set.frames + 1] = c.frame
	local out, k = {}, 0
	repeat
		k = k + 1
		if not set.parts[k] then return label end
		out[k] = set.parts[k]:sub(k == 1 and 1 or 5, -5)
	until #set.parts[k] < FULL or k == 9
	if #set.frames ~= k then return label end
	local data = table.concat(out)
	return label, {data = data, wire = #data, frames = set.frames}
end

function P.probe(c, b)
	local t, wire = typeOf(c, b), math.max(c.wire, #b)
	if not t then return NO end
	local k
	if t == T.EYE1 then
		k = numberOf(b) == 1 and rateFull(b) or MAYBE
	elseif t == T.EYE2 then
		k = rateLight(b, 3)
	elseif t == T.EYE3 then
		k = rateLight(b, 2)
	elseif t == T.ASE_VERSION then
		k = wire <= 32 and wire <= #b and b:find("^%d+%.%d[%w_.+-]*$") and MAYBE or NO
	else
		k = (wire > 100 or #b > 1 and b:find("^.[%w_]")) and NO or MAYBE
	end
	return k, t
end

-- readText reads a string after its length byte, and raises a length that cannot be.
local function readText(cur, name)
	local left, n, was = cur:leftOnWire(), at(cur:peek(1), 0), cur:ok()
	local s = cur:counted(name)
	if was and not cur:ok() and n and (n == 0 or n > left) then cur:raise("ASE-02") end
	return s
end

local function readSecret(cur, name, secret, key)
	local b = cur:peek()
	local n = at(b, 0)
	local whole = n and n <= #b
	if whole and n > 0 and hidesPair(key, b:sub(2, n)) or not whole and holdsSecret(key) then name = secret end
	return readText(cur, name)
end

local function readPort(c, cur)
	local s = readText(cur, "port")
	if s:find("^%d+$") and #s <= 5 and tonumber(s) + 123 == c.srcPort then cur:note("the query port is this plus 123") end
end

local function isAtZero(cur) return cur:peek(1) == "\0" end

-- readEnd reads the byte of 0 that ends a list of players, if one does.
local function readEnd(cur, isRight)
	if not cur:ok() or cur:left() == 0 then return end
	cur:take("end_of_players", 1)
	if not isRight then cur:raise("ASE-02") end
end

local function readRules(cur)
	cur:push("full.rules")
	local i = 0
	while cur:ok() and cur:left() > 0 and cur:peek(1) ~= "\1" do
		cur:push("full.rules.rule", i)
		local name = readText(cur, "full.rules.name")
		readSecret(cur, "full.rules.value", "full.rules.hidden.value", name)
		cur:pop()
		i = i + 1
	end
	cur:pop()
	if not cur:ok() or cur:left() == 0 then return cur:ok() and not cur:isCut() end
	cur:take("full.end_of_rules", 1)
	return true
end

local byFlag = {"name", "team", "skin", "score", "ping", "time"}

local function readPlayer(cur)
	local flags = cur:u8("full.player_list.flags")
	local place = cur:fields()
	if flags >= 64 then cur:note("flags of unknown meaning among them") end
	for i, name in ipairs(byFlag) do
		if math.floor(flags / 2 ^ (i - 1)) % 2 == 1 and cur:ok() then
			if isAtZero(cur) then return false end
			local none = cur:leftOnWire() == 0
			readText(cur, "full.player_list." .. name)
			if none and not cur:ok() then cur:raise("ASE-03", place) end
		end
	end
	return true
end

local function readFull(c, cur)
	readText(cur, "game")
	readPort(c, cur)
	for _, name in ipairs({"name", "gametype", "map", "version"}) do readText(cur, name) end
	local s = readSecret(cur, "full.password", "full.hidden.password", "password")
	if s == "0" then cur:note("not needed") elseif s == "1" then cur:note("needed") end
	readText(cur, "full.players")
	readText(cur, "full.max_players")
	if not readRules(cur) then return end
	cur:push("full.player_list")
	local whole, i = true, 0
	while whole and cur:ok() and cur:left() > 0 and not isAtZero(cur) do
		cur:push("full.player_list.player", i)
		whole = readPlayer(cur)
		cur:pop()
		i = i + 1
	end
	cur:pop()
	readEnd(cur, whole)
end

local lightItems = {"map", "light.online", "light.build_type", "light.build_number", "light.ping_status", "light.net_route",
	"light.uptime", "light.http_port"}

local function readItem(cur, name, last)
	local n = last - cur.off
	if not cur:ok() or n <= 0 then return end
	local i = find(cur:peek(n), "\0")
	if i then
		cur:span(name, 0, i, 1)
	else
		cur:take(name, n)
	end
end

local function readMapField(cur, known)
	local length = at(cur:peek(1), 0) or 0
	if length <= 1 or length > cur:leftOnWire() then
		readText(cur, "map")
		return
	end
	cur:u8("light.map_length")
	local last = cur.off + length - 1
	for i = 1, known do readItem(cur, lightItems[i], last) end
	if cur:ok() and cur.off < last then
		cur:push("light.extras")
		while cur:ok() and cur.off < last do readItem(cur, "light.extras.extra", last) end
		cur:pop()
	end
end

local function readLight(c, cur, isEye2)
	readText(cur, "game")
	if isEye2 then readPort(c, cur) end
	readText(cur, "name")
	readText(cur, "gametype")
	readMapField(cur, isEye2 and 8 or 2)
	readText(cur, "version")
	cur:u8("light.password")
	if isEye2 then cur:u8("light.serials") end
	cur:u8("light.players")
	cur:u8("light.max_players")
	if not isEye2 then return end
	cur:push("light.player_list")
	local i = 0
	while cur:ok() and cur:left() > 0 and not isAtZero(cur) do
		cur:push("light.player_list.player", i)
		readText(cur, "light.player_list.name")
		cur:pop()
		i = i + 1
	end
	cur:pop()
	readEnd(cur, false)
end

function P.read(c, t, cur, m)
	local isFragment = t == T.EYE1 and numberOf(m.data) ~= 1
	if t == T.EYE1 then
		cur:take("header", 4)
		if isFragment then cur:rest("piece") else readFull(c, cur) end
	elseif t == T.EYE2 or t == T.EYE3 then
		cur:take("header", 4)
		readLight(c, cur, t == T.EYE2)
	elseif t == T.ASE_VERSION then
		cur:rest("version")
	else
		cur:u8("query")
		cur:rest("text")
	end
	cur:done()
	if isFragment and m.status == "complete" then m.status = "fragment" end
end
