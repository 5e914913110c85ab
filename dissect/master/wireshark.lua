-- Master servers: Probe and Dissect of this folder.

local T = P.types
local mark = "\255\255\255\255"
local PLAIN, TAG, XASH = 10, 13, 255

local byLetter = {["1"] = T.A2M_GET_SERVERS_BATCH2, e = T.A2M_GET_SERVERS_BATCH, c = T.A2M_GET_SERVERS, M = T.C2M_CHECKMD5,
	q = T.S2M_JOIN, ["0"] = T.S2M_HEARTBEAT2, a = T.S2M_HEARTBEAT, b = T.S2M_SHUTDOWN}
local byMarked = {f = T.M2A_SERVER_BATCH, d = T.M2A_SERVERS, N = T.M2C_ISVALIDMD5, s = T.M2A_CHALLENGE, O = T.M2S_REQUESTRESTART,
	c = T.A2M_GET_SERVERS, ["1"] = T.A2M_GET_SERVERS_BATCH2}

local function typeOf(b)
	if not starts(b, mark) then return byLetter[b:sub(1, 1)], 0 end
	if starts(b, "c ", 4) then return T.M2S_NAT_CONNECT, 4 end
	return byMarked[b:sub(5, 5)], 4
end

local function isPort(b) return b:find("^:%d%d?%d?%d?%d?$") ~= nil end

-- isAddress reports whether b is "a.b.c.d", with ":port" or without, or "[IPv6]:port".
local function isAddress(b)
	local v6, port = b:match("^%[([%x:.]+)%](.*)$")
	if v6 then return #v6 > 1 and isPort(port) end
	local _, _, rest = b:find("^%d%d?%d?%.%d%d?%d?%.%d%d?%d?%.%d%d?%d?(.*)$")
	return rest ~= nil and (rest == "" or isPort(rest))
end

local function isRegion(x) return x ~= nil and (x <= 7 or x == 255) end
local function isPrintable(b) return not b:match("^[^\0]*"):find("[\1-\31\127]") end

local function groupWord(b)
	for _, w in ipairs({"nand", "nor", "and", "or"}) do
		if starts(b, w) then return #w end
	end
	return 0
end

local function isFilter(b)
	local i = find(b, "\0")
	if i and i < #b - 1 then return false end
	if b == "" or i == 0 then return true end
	return (starts(b, "\\") or groupWord(b) > 0) and isPrintable(b)
end

-- isOldQuery reports whether b has a start number in place of region and seed.
local function isOldQuery(b)
	if #b < 4 or at(b, 1) == 0 and at(b, 2) == 92 then return false end
	if #b == 4 then return not b:find("^.%d") end
	return at(b, 4) == 92
end

local function rateQuery(p)
	local b = p.b
	if isOldQuery(b) then
		local filter = b:sub(5)
		if filter == "" then return MAYBE end
		return (count(filter, "\\") < 2 or not isPrintable(filter)) and NO or LIKELY
	end
	if #b < 2 then return p.cut and MAYBE or NO end
	local seed = b:sub(2)
	local e = find(seed, "\0")
	if not e then
		if not p.cut or not seed:find("^[%d.:]*$") then return NO end
		return #seed >= 7 and LIKELY or MAYBE
	elseif e == 0 then
		local fits = isRegion(at(b, 0)) and #seed > 1 and (#seed == 2 and at(seed, 1) == 0 or at(seed, 1) == 92 and isFilter(seed:sub(2)))
		return fits and MAYBE or NO
	end
	local address = seed:sub(1, e)
	if not isAddress(address) then
		return isRegion(at(b, 0)) and isAddress(address:match("^[%d.:]*")) and MAYBE or NO
	end
	return isRegion(at(b, 0)) and isFilter(seed:sub(e + 2)) and CERTAIN or LIKELY
end

local function isEntry(b)
	local port, x = u16be(b, #b - 2), at(b, 0)
	if port == 0 then return x == 0 end
	return port >= 1024 and (#b == 18 or x > 0 and x < 224)
end

local function rateEntries(p, off, size)
	local n = p.length - off
	if n < 0 or not p.cut and n % size > 0 and n < 2 * size then return NO end
	local whole, good = 0, 0
	while off + size <= #p.b do
		whole = whole + 1
		if isEntry(p.b:sub(off + 1, off + size)) then good = good + 1 end
		off = off + size
	end
	if good * 4 < whole * 3 then return p.isAsked and MAYBE or NO end
	if whole == 0 or (p.length - off) % size > 0 then return MAYBE end
	return whole == 1 and LIKELY or CERTAIN
end

local function entryLen(isV6, n)
	return isV6 and (n % 18 == 0 or n % 6 ~= 0) and 18 or 6
end

local function hasKey(b) return at(b, 0) == 0x7f and not starts(b, "\127\0") end

local function ratePage(p)
	local form = at(p.b, 0)
	if form == TAG then return rateEntries(p, 5, 6) end
	if form ~= PLAIN and form ~= XASH then return NO end
	local off = hasKey(p.b:sub(2)) and 7 or 1
	return rateEntries(p, off, entryLen(p.isV6, p.length - off))
end

local function rateHeartbeat(p)
	if not starts(p.b, "\n\\") then return p.cut and starts("\n\\", p.b) and MAYBE or NO end
	return (find(p.b, "\\challenge\\") or find(p.b, "\\protocol\\")) and CERTAIN or LIKELY
end

local function rateNAT(p)
	local b = p.b:sub(2):match("^(.-)[\n\0]*$")
	if isAddress(b) then return LIKELY end
	return p.cut and b:find("^[%d.:]*$") and MAYBE or NO
end

local function isBlank(b) return onlyOf(b, "\n\0") end

local function rateShort(p, t)
	local n, first = p.length, at(p.b, 0)
	if t == T.A2M_GET_SERVERS_BATCH then return (n == 3 or n == 4) and MAYBE or NO end
	if t == T.A2M_GET_SERVERS or t == T.S2M_SHUTDOWN then return (n == 1 or n == 2) and first == PLAIN and isBlank(p.b) and MAYBE or NO end
	if t == T.C2M_CHECKMD5 then return n == 1 and first == XASH and MAYBE or NO end
	if t == T.M2S_REQUESTRESTART then return n == 4 and MAYBE or NO end
	if first == XASH then return (n == 1 or n == 5) and MAYBE or NO end
	return n <= 2 and isBlank(p.b) and MAYBE or NO
end

local function rate(p, t)
	local first = at(p.b, 0)
	if t == T.A2M_GET_SERVERS_BATCH2 then return rateQuery(p) end
	if t == T.M2A_SERVER_BATCH then return ratePage(p) end
	if t == T.M2A_SERVERS then return first == PLAIN and least(rateEntries(p, 1, 6), MAYBE) or NO end
	if t == T.S2M_HEARTBEAT2 then return rateHeartbeat(p) end
	if t == T.S2M_HEARTBEAT then
		if p.length > 256 or not p.b:find("^\n[%d-]") or p.b:find("[\1-\9\11-\31\127-\255]") then return NO end
		return MAYBE
	end
	if t == T.M2S_NAT_CONNECT then return rateNAT(p) end
	if t == T.M2A_CHALLENGE then return first == PLAIN and (p.length == 5 or p.length == 9) and LIKELY or NO end
	if t == T.M2C_ISVALIDMD5 then
		if p.length ~= 5 then return NO end
		return first == PLAIN and LIKELY or MAYBE
	end
	return rateShort(p, t)
end

function P.probe(c, b)
	local t, off = typeOf(b)
	if not t or c.split then return NO end
	return rate({b = b:sub(off + 2), cut = c.wire > #b, length = math.max(c.wire, #b) - off - 1, isV6 = c.isV6,
		isAsked = has(c.fromServer.asked, t.asks)}, t), t
end

local function readTerminator(cur)
	if onlyOf(cur:peek(), "\n\r\0") then cur:rest("terminator") end
end

local function readQuery(cur)
	local isOdd = false
	if isOldQuery(cur:peek()) then
		cur:u32("list.next")
	else
		cur:u8("query.region")
		local seed = cur:text("query.seed")
		isOdd = cur:ok() and seed ~= "" and not isAddress(seed)
	end
	if cur:leftOnWire() == 0 then
		cur:note(isOdd and "not an address, and no filter follows" or "no filter follows")
		return
	end
	if isOdd then cur:note("not an address") end
	local filter = cur:lastText("query.filter")
	if #filter > 190 then cur:note("longer than masters are known to take") end
end

local function readServers(cur, size)
	cur:push("list.servers", math.floor(cur:leftOnWire() / size))
	local n, ended = 0, false
	while cur:ok() and cur:left() > 0 do
		local b = cur:address("list.servers.server", size)
		if #b == size and u16be(b, size - 2) == 0 then
			cur:note("end of the list")
			ended = true
		end
		n = n + 1
	end
	cur:pop()
	return n, ended
end

local function readPage(c, cur)
	if cur:u8("form") == TAG then
		cur:note(cur:u32("list.next") == 0 and "the list ends here" or "tag of the next page")
		readServers(cur, 6)
		return
	end
	if cur:isCut() and cur:left() == 0 then return end
	if hasKey(cur:peek(6)) then
		cur:u8("list.key_mark")
		cur:u32("list.key")
		cur:u8("list.reserved")
	end
	local size, place = entryLen(c.isV6, cur:leftOnWire()), cur:fields()
	local n, ended = readServers(cur, size)
	if cur:ok() and not cur:isCut() and not ended and n < 231 then cur:raise("MST-03", place + 1) end
end

local function readHeartbeat(cur)
	cur:u8("form")
	cur:push("pairs", math.floor((count(cur:peek(), "\\") + 1) / 2))
	local i = 0
	while cur:ok() and cur:peek(1) == "\\" do
		cur:push("pairs.pair", i)
		local name = cur:word("pairs.name", "\\", "\\\n\0")
		local value, after = cur:peek():match("^\\?([^\\\n\0]*)()")
		local isCutOff = after > cur:left() and cur:isCut()
		local isHidden = isCutOff and holdsSecret(name) or hidesPair(name, value)
		cur:word(isHidden and "pairs.hidden.value" or "pairs.value", "\\", "\\\n\0")
		cur:pop()
		i = i + 1
	end
	cur:pop()
	readTerminator(cur)
end

local function readJoin(cur)
	if cur:peek(1) == "\255" then
		cur:u8("form")
		if cur:leftOnWire() > 0 then cur:u32("challenge") end
		return
	end
	readTerminator(cur)
end

local readers = {
	[T.A2M_GET_SERVERS_BATCH2] = function(_, cur) readQuery(cur) end,
	[T.A2M_GET_SERVERS_BATCH] = function(_, cur)
		if cur:leftOnWire() == 4 then cur:u32("list.next") else cur:u24("list.next") end
	end,
	[T.M2A_SERVER_BATCH] = readPage,
	[T.M2A_SERVERS] = function(_, cur)
		cur:u8("form")
		readServers(cur, 6)
	end,
	[T.C2M_CHECKMD5] = function(_, cur) cur:u8("form") end,
	[T.M2C_ISVALIDMD5] = function(_, cur)
		cur:u8("form")
		cur:u32("challenge")
	end,
	[T.S2M_JOIN] = function(_, cur) readJoin(cur) end,
	[T.S2M_HEARTBEAT2] = function(_, cur) readHeartbeat(cur) end,
	[T.S2M_HEARTBEAT] = function(_, cur)
		cur:word("text", "\n", "\0")
		readTerminator(cur)
	end,
	[T.A2M_GET_SERVERS] = function(_, cur) readTerminator(cur) end,
	[T.S2M_SHUTDOWN] = function(_, cur) readTerminator(cur) end,
	[T.M2A_CHALLENGE] = function(_, cur)
		cur:u8("form")
		cur:u32("challenge")
		if cur:leftOnWire() >= 4 then cur:u32("echo") end
	end,
	[T.M2S_REQUESTRESTART] = function(_, cur) cur:u32("challenge") end,
	[T.M2S_NAT_CONNECT] = function(_, cur)
		cur:word("address", " ", "\n\0")
		readTerminator(cur)
	end,
}

function P.read(c, t, cur, m)
	if starts(m.data, mark) or starts(mark, m.data) then
		cur:i32("header")
		if t == T.A2M_GET_SERVERS_BATCH2 then cur:note("masters expect the query without it") end
	end
	cur:u8("opcode")
	cur:note(t.name)
	readers[t](c, cur)
	cur:done()
end
