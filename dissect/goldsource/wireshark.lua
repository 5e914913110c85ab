-- GoldSource's own forms: Probe and Dissect of this folder. What both engines send alike is
-- read by the protocol that the Source engine shares with it, and shown as this one's.

local T = P.types
local mark = "\255\255\255\255"
local BLANKS = "\0\n\r \t"

local function isTerminator(b) return onlyOf(b, BLANKS) end
local function skipBlanks(b) return b:match("^[ \t]*(.*)$") end
local function foldStarts(b, word) return b:sub(1, #word):lower() == word end

-- skipNumber returns what is after a blank and a decimal number, or nil.
local function skipNumber(b) return b:match("^[ \t]+%d+(.*)$") end

local function isText(b)
	b = b:sub(1, 256):match("^[^\0]*")
	local _, controls = b:gsub("[\1-\8\11\12\14-\31]", "")
	return controls * 16 <= #b
end

local function skipTexts(b, n)
	local off = 0
	for _ = 1, n do
		local e = find(b, "\0", off)
		if not e then return nil end
		off = e + 1
	end
	return off
end

local function looksLikeAddress(b)
	b = b:match("^[^\0]*")
	if b:lower() == "loopback" then return true end
	return b:find("^[%d.:]*$") ~= nil and b:find("[.:]") ~= nil and #b >= 7
end

local function inSet(x, set) return x ~= nil and string.char(x):find(set) ~= nil end

local function rateInformation(b, wire, fixed)
	local off = skipTexts(b, 5)
	if not off or #b - off < fixed then
		if not looksLikeAddress(b) then return NO end
		return wire > #b and LIKELY or MAYBE
	end
	if fixed == 7 then
		if not inSet(at(b, off + 3), "[dlpDLP]") or not inSet(at(b, off + 4), "[lwmoLWMO]") then return NO end
		if at(b, off + 5) > 1 or at(b, off + 6) > 1 then return MAYBE end
		return looksLikeAddress(b) and CERTAIN or LIKELY
	end
	local left = wire - off - fixed
	return looksLikeAddress(b) and (left == 0 or left == 8) and CERTAIN or NO
end

local function request(typ, k)
	return function(_, rest)
		if not isTerminator(rest) then return NO end
		return k, typ
	end
end

local function rateInfo(t, rest)
	local body = skipBlanks(rest)
	local digits = body:match("^%d?%d?")
	local version = tonumber(digits) or 0
	if t.cut and rest == "\n" and t.wire > #t.b + 1 then return MAYBE, T.XASH_INFO end
	if isTerminator(body:sub(#digits + 1)) then
		return version >= 47 and version <= 49 and LIKELY or MAYBE, T.INFO
	end
	if rest:sub(1, 1) ~= "\n" then return NO end
	if rest:sub(2, 2) == "\\" then return LIKELY, T.XASH_INFO end
	if has(t.asked, T.INFO.asks) then return MAYBE, T.XASH_INFO end
	return NO
end

local function rateNetinfo(_, rest)
	local n = 0
	while n < 3 do
		local after = skipNumber(rest)
		if not after then break end
		rest, n = after, n + 1
	end
	if n == 3 and isTerminator(rest) then return LIKELY, T.NETINFO end
	if n == 2 and (isTerminator(rest) or starts(skipBlanks(rest), "\\")) then return LIKELY, T.XASH_INFO end
	return NO
end

local function rateGetChallenge(_, rest)
	local arg = skipBlanks(rest)
	if foldStarts(arg, "steam") and isTerminator(arg:sub(6)) then return LIKELY, T.GETCHALLENGE end
	if not isText(rest) then return NO end
	return MAYBE, T.GETCHALLENGE
end

local rconRequest, rconReply = T.RCON_CHALLENGE, T.RCON_CHALLENGE_2

local function rateRconChallenge(t, rest)
	local long = #"challenge rcon" + 2
	if #rest <= 5 and t.cut and starts(" rcon", rest:lower()) then return MAYBE, t.wire > long and rconReply or rconRequest end
	if not foldStarts(rest, " rcon") then return NO end
	rest = rest:sub(6)
	local after = skipNumber(rest)
	if after and isTerminator(after) then return CERTAIN, rconReply end
	if not isTerminator(rest) then return NO end
	if t.cut and t.wire > long then return MAYBE, rconReply end
	return CERTAIN, rconRequest
end

local function rateRcon(t, rest)
	if not isText(rest) then return NO end
	local r = parseRcon(rest)
	if r.challenge and (r.isQuoted or t.challenged or r.challenge[2] - r.challenge[1] >= 8) then return LIKELY, T.RCON end
	return MAYBE, T.RCON
end

local function rateLog(t, rest)
	if rest:sub(1, 1) ~= " " or not isLogLine(rest:sub(2)) then return NO end
	if #rest > logLineLen then return CERTAIN, T.LOG end
	if not t.cut then return NO end
	return #rest > 6 and LIKELY or MAYBE, T.LOG
end

local function ratePrintWord(t, rest)
	if not has(t.asked, T.RCON.asks) or rest:sub(1, 1) ~= "\n" then return NO end
	return MAYBE, T.A2A_PRINT
end

-- The words, the type of a message that the capture cut within its word, how much can
-- follow then, and what rates the rest.
local words = {
	{"details", T.DETAILS, 2, request(T.DETAILS, LIKELY)}, {"infostring", T.INFOSTRING, 2, request(T.INFOSTRING, LIKELY)},
	{"players", T.PLAYERS, 2, request(T.PLAYERS, LIKELY)}, {"rules", T.RULES, 2, request(T.RULES, LIKELY)},
	{"ping", T.PING, 2, request(T.PING, MAYBE)}, {"listen", T.LISTEN, 2, request(T.LISTEN, MAYBE)},
	{"info", T.INFO, 2, rateInfo},
	{"infostringresponse", T.INFOSTRING_RESPONSE, 65536, function(_, rest)
		return rest:sub(2, 2) == "\\" and CERTAIN or LIKELY, T.INFOSTRING_RESPONSE
	end},
	{"netinfo", T.NETINFO, 65536, rateNetinfo}, {"getchallenge", T.GETCHALLENGE, 65536, rateGetChallenge},
	{"challenge", rconRequest, 7, rateRconChallenge}, {"rcon", T.RCON, 65536, rateRcon},
	{"log", T.LOG, 65536, rateLog}, {"print", T.A2A_PRINT, 65536, ratePrintWord},
}

local function rateWord(t)
	for _, w in ipairs(words) do
		if foldStarts(t.b, w[1]) then
			local rest = t.b:sub(#w[1] + 1)
			if rest == "" or isTerminator(rest:sub(1, 1)) then
				local k, typ = w[4](t, rest)
				return true, k, typ
			end
		end
	end
	if t.cut and #t.b >= 4 then
		for _, w in ipairs(words) do
			if #t.b < #w[1] and starts(w[1], t.b:lower()) and t.wire >= #w[1] and t.wire <= #w[1] + w[3] then return true, MAYBE, w[2] end
		end
	end
	return false
end

local function ratePrint(t, body)
	local said = body:match("^[^\0]*")
	local rest = body:sub(#said + 1)
	if isTerminator(said) or not isText(said) or not onlyOf(rest, "\0") then return NO end
	if #rest > 0 and said:sub(-1) == "\n" or #rest > 1 then return LIKELY end
	return MAYBE
end

local function rateAddress(t, body)
	body = skipBlanks(body)
	local s = body:match("^%d[%d.:]*") or ""
	local dots, colons = count(s, "."), count(s, ":")
	if #s < #body then return dots == 3 and colons <= 1 and isTerminator(body:sub(#s + 1)) and LIKELY or NO end
	if dots == 3 and colons <= 1 or t.cut and #s > 0 and dots <= 3 and colons <= 1 then return MAYBE end
	return NO
end

local function rateConnect(t, body)
	local zeros = "00000000"
	if t.cut and t.wire ~= 5 and #body > 0 and #body <= 8 and starts(zeros, body) then return MAYBE end
	if not starts(body, zeros) then return NO end
	if skipNumber(body:sub(9)) then return CERTAIN end
	return t.cut and LIKELY or NO
end

local letters = {l = {T.A2A_PRINT, ratePrint}, G = {T.S2A_PROXY_LISTEN, rateAddress}, L = {T.S2A_PROXY_REDIRECT, rateAddress},
	A = {T.CONNECT_CHALLENGE, rateConnect}}

-- What came in this protocol's split format is its own, whoever reads it.
P.adopts = true

local function rateText(c, b)
	local t = {b = b:sub(5), wire = math.max(c.wire, #b) - 4, cut = c.wire > #b, asked = c.fromServer.asked, challenged = c.toServer.rcon ~= nil}
	local isWord, k, typ = rateWord(t)
	if not isWord then
		local l = letters[t.b:sub(1, 1)]
		if not l then return NO end
		k, typ = l[2](t, t.b:sub(2)), l[1]
	end
	if k == MAYBE and c.split == "goldsource" then k = LIKELY end
	return k, typ
end

function P.probe(c, b)
	local op, off
	if #b >= 5 and starts(b, mark) then
		local k, t = rateText(c, b)
		if k ~= NO then return k, t end
		op, off = b:sub(5, 5), 5
	elseif c.split and #b > 1 then
		op, off = b:sub(1, 1), 1
	end
	if op == "m" then return rateInformation(b:sub(off + 1), c.wire - off, 7), T.S2A_INFO_DETAILED end
	if op == "C" and off == 5 then return rateInformation(b:sub(6), c.wire - 5, 3), T.S2A_INFO end
	if c.split == "goldsource" then return ownerOf(12).probe(c, b) end
	return NO
end

local function wordLen(cur) return #cur:peek(18):match("^%a*") end
local function readWord(cur) cur:run("word", 0, wordLen(cur), 0) end

local function readHeadword(cur)
	local n = wordLen(cur)
	cur:run("word", 0, n, math.min(1, cur:left() - n))
end

local function readNumber(cur, name)
	local b = cur:peek()
	if not skipNumber(b) then return nil end
	return cur:digits(name, #b - #skipBlanks(b))
end

local function readToken(cur, name)
	local b = cur:peek()
	local rest = skipBlanks(b)
	local n = #rest:match("^[^\0\n\r \t]*")
	if n > 0 then cur:run(name, #b - #rest, n, 0) end
end

local function readTerminator(c, cur)
	local b = cur:peek()
	if isTerminator(b) then
		cur:rest("terminator")
	elseif findSecret(b, c.said) then
		cur:rest("behind")
	end
end

local function readConsole(c, cur, name, secret)
	local n, tail = find(cur:peek(), "\0"), 1
	if not n then n, tail = cur:left(), 0 end
	cur:pieces(name, secret, n, tail, c.said)
end

local function readRcon(c, cur, m)
	local b = cur:peek()
	local r = parseRcon(b)
	local off, said = 0, {}
	if r.challenge then
		local digits = b:sub(r.challenge[1] + 1, r.challenge[2])
		local isGiven = r.isCertain or tonumber(digits) ~= 0 and tonumber(digits) == c.toServer.rcon
		cur:digits(isGiven and "challenge" or "rcon.doubtful.challenge", r.challenge[1])
		if not isGiven then said[#said + 1] = digits end
		off = r.challenge[2]
	end
	if r.password then
		local password = b:sub(r.password[1] + 1, r.password[2])
		local blanks = #b:match("^[ \t]*", r.finish + 1)
		said[#said + 1] = password
		cur:run("rcon.password", r.password[1] - off, #password, r.finish - r.password[2] + blanks)
		off = r.finish + blanks
	end
	m.learn.said = said
	for _, s in ipairs(c.said or {}) do said[#said + 1] = s end
	local command = b:sub(off + 1):match("^([^\0]*)"):match("^(.-)[\r\n]*$")
	if command ~= "" and r.password then cur:pieces("rcon.command", "rcon.command_secret", #command, 0, said) end
	if not onlyOf(cur:peek(), "\r\n\0") then cur:rest("rcon.password") end
end

-- readPart reads a key or a value of at most n bytes with the separator before it.
local function readPart(cur, name, n, tail)
	local b = cur:peek(n)
	local rest = skipBlanks(b)
	local skip = starts(rest, "\\") and #b - #rest + 1 or 0
	local size = find(b, "\\", skip)
	if size then
		size, tail = size - skip, 0
	else
		size = n - skip
	end
	local value = b:sub(skip + 1, skip + size)
	cur:run(name, skip, size, tail)
	return skip + size, value
end

local function hidesValue(name, b, cut)
	local value, ended = skipBlanks(b):match("^\\?([^\\]*)(\\?)")
	if cut and ended == "" then return holdsSecret(name) end
	return hidesPair(name, value)
end

local function readPairs(cur, n, tail)
	cur:push("pairs", math.floor((count(cur:peek(n), "\\") + 1) / 2))
	local i = 0
	while n > 0 and cur:ok() do
		cur:push("pairs.pair", i)
		local size, name = readPart(cur, "pairs.name", n, tail)
		n = n - size
		local isHidden = hidesValue(name, cur:peek(n), cur:isCut() and n == cur:left())
		if n > 0 then
			n = n - readPart(cur, isHidden and "pairs.hidden.value" or "pairs.value", n, tail)
		elseif tail > 0 then
			cur:note("without a value")
		elseif not cur:isCut() then
			cur:take("pairs.value", 1)
		end
		cur:pop()
		i = i + 1
	end
	cur:pop()
end

local function readPairsReply(c, cur)
	if wordLen(cur) == #"netinfo" then
		readWord(cur)
		readNumber(cur, "netinfo.context")
		readNumber(cur, "netinfo.type")
	else
		readHeadword(cur)
	end
	if cur:left() == 0 then return end
	local n, tail = find(cur:peek(), "\0"), 1
	if not n then n, tail = cur:left(), 0 end
	local said = skipBlanks(cur:peek(n))
	if said ~= "" and not starts(said, "\\") and not isTerminator(said) then
		cur:pieces("print.text", "print.text_secret", n, tail, c.said)
	else
		readPairs(cur, n, tail)
	end
end

local function readCommon(cur)
	for _, name in ipairs({"address", "name", "map", "folder", "game"}) do cur:text("info." .. name) end
	for _, name in ipairs({"players", "max_players", "protocol"}) do cur:u8("info." .. name) end
end

local function readSpectators(cur)
	if cur:leftOnWire() ~= 8 then return end
	cur:i32("info.spectators")
	cur:i32("info.spectator_slots")
end

local function hasModBlock(cur)
	local n, b = cur:leftOnWire(), cur:peek()
	if n <= 2 or n == 9 or n == 10 then return false end
	local off = skipTexts(b, 3)
	if off and #b - off >= 10 or cur:isCut() and n >= 13 then return true end
	return #b > 0 and at(b, 0) > 1
end

local function readDetailed(cur)
	readCommon(cur)
	for _, name in ipairs({"server_type", "environment", "visibility"}) do cur:u8("info." .. name) end
	if cur:u8("info.mod") == 1 then
		if hasModBlock(cur) then
			for _, name in ipairs({"url", "download_url", "hl_version"}) do cur:text("info." .. name) end
			cur:i32("info.mod_version")
			cur:i32("info.mod_size")
			cur:u8("info.mod_type")
			cur:u8("info.mod_dll")
		else
			cur:note("but no block about it follows")
		end
	end
	local n = cur:leftOnWire()
	if n == 0 then return end
	cur:u8("info.vac")
	if n > 1 and n ~= 9 then cur:u8("info.bots") end
	readSpectators(cur)
end

local function obsolete(_, cur)
	readWord(cur)
	cur:raise("A2S-C07")
end

local function readRconChallenge(_, cur, m)
	readWord(cur)
	local b = cur:peek(5)
	if b == "" or not starts(" rcon", b:lower()) then return end
	cur:run("word", 1, #b - 1, 0)
	local v = readNumber(cur, "challenge")
	if v and v ~= 0 then m.learn.rcon = v end
end

local function readProxy(_, cur)
	cur:u8("opcode")
	readToken(cur, "proxy.address")
end

local readers = {
	[T.PING] = obsolete, [T.INFOSTRING] = obsolete, [T.DETAILS] = obsolete, [T.PLAYERS] = obsolete, [T.RULES] = obsolete,
	[T.LISTEN] = function(_, cur) readWord(cur) end,
	[rconRequest] = readRconChallenge, [rconReply] = readRconChallenge,
	[T.INFO] = function(_, cur)
		readWord(cur)
		if not readNumber(cur, "request.version") then cur:raise("A2S-C07") end
	end,
	[T.NETINFO] = function(_, cur)
		readWord(cur)
		readNumber(cur, "request.version")
		readNumber(cur, "netinfo.context")
		readNumber(cur, "netinfo.type")
	end,
	[T.GETCHALLENGE] = function(_, cur)
		readWord(cur)
		readToken(cur, "getchallenge.auth")
	end,
	[T.RCON] = function(c, cur, m)
		readWord(cur)
		readRcon(c, cur, m)
	end,
	[T.LOG] = function(c, cur)
		readHeadword(cur)
		readConsole(c, cur, "log.line", "log.line_secret")
	end,
	[T.INFOSTRING_RESPONSE] = readPairsReply, [T.XASH_INFO] = readPairsReply,
	[T.A2A_PRINT] = function(c, cur)
		if cur:peek(1) == "l" then cur:u8("opcode") else readHeadword(cur) end
		readConsole(c, cur, "print.text", "print.text_secret")
	end,
	[T.S2A_PROXY_LISTEN] = readProxy, [T.S2A_PROXY_REDIRECT] = readProxy,
	[T.CONNECT_CHALLENGE] = function(_, cur)
		cur:u8("opcode")
		local n = math.min(cur:left(), 8)
		if n > 0 then cur:run("connect.zeros", 0, n, 0) end
		for _, name in ipairs({"challenge", "connect.auth_protocol", "connect.steam_id", "connect.secure"}) do
			if not readNumber(cur, name) then return end
		end
	end,
}

function P.read(c, t, cur, m)
	if #m.data < 5 or starts(m.data, mark) then cur:i32("header") end
	if t == T.S2A_INFO_DETAILED or t == T.S2A_INFO then
		cur:u8("opcode")
		if t == T.S2A_INFO then
			readCommon(cur)
			readSpectators(cur)
		else
			readDetailed(cur)
		end
	else
		readers[t](c, cur, m)
		readTerminator(c, cur)
	end
	cur:done()
end
