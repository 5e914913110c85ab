-- GoldSource's own forms: Probe of this folder; wireshark_read.lua follows in the same block.
-- What both engines send alike is read by the protocol that the Source engine shares with
-- it, and shown as this one's.

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

-- beginsPlayers reports whether b is a blank and then the list of players of old Xash3D.
local function beginsPlayers(b)
	return b:find("^[ \t]+%d+\\") ~= nil or b:find("^[ \t]+[\1-\31]\\") ~= nil
end

local function rateNetinfo(_, rest)
	local n, first = 0, nil
	while n < 3 do
		if n == 2 then first = rest end
		local after = skipNumber(rest)
		if not after then break end
		rest, n = after, n + 1
	end
	if n == 3 and isTerminator(rest) then return LIKELY, T.NETINFO end
	if n == 2 and (isTerminator(rest) or starts(skipBlanks(rest), "\\")) then return LIKELY, T.XASH_INFO end
	if first and beginsPlayers(first) then return LIKELY, T.XASH_INFO end
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
	if isWholeLogLine(rest:sub(2)) then return CERTAIN, T.LOG end
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
