-- Source's queries: Probe and Foreign of this folder. wireshark_read.lua follows in the same block.

local T = P.types
local infoText = "Source Engine Query"
local THE_SHIP, SHIP_ENTRY = 2400, 8

local byOpcode = {T = T.A2S_INFO, U = T.A2S_PLAYER, V = T.A2S_RULES, W = T.A2S_SERVERQUERY_GETCHALLENGE, i = T.A2A_PING,
	A = T.S2C_CHALLENGE, I = T.S2A_INFO_SRC, D = T.S2A_PLAYER, E = T.S2A_RULES, j = T.A2A_ACK, R = T.S2A_LOGSTRING, S = T.S2A_LOGSTRING2}

local function isZeros(b) return onlyOf(b, "\0") end

-- skipTexts returns the offset after n texts, or nil.
local function skipTexts(b, off, n)
	for _ = 1, n do
		local e = find(b, "\0", off)
		if not e then return nil end
		off = e + 1
	end
	return off
end

local function isEnvironment(x) return x ~= nil and string.char(x):find("[lwmoLWMO]") ~= nil end
local function isServerType(x) return x ~= nil and string.char(x):find("[dlpDLP]") ~= nil end

local function isMostlyText(b)
	local _, n = b:gsub("[\0\32-\255]", "")
	return n * 4 >= #b * 3
end

local function hasChallengeFirst(b, cut)
	if #b < 4 + #infoText and not cut or #b <= 4 then return false end
	local rest = b:sub(5)
	return starts(rest, infoText) or cut and starts(infoText, rest)
end

local function rateShort(p)
	if p.length > 1 or not onlyOf(p.b, "\0\n") then return NO end
	return MAYBE
end

local function rateInfoRequest(p)
	local b = p.b
	if starts(b, infoText) then return CERTAIN end
	if p.cut and starts(infoText, b) or hasChallengeFirst(b, p.cut) then return LIKELY end
	if p.length == 4 or p.length == 0 or p.length < #infoText and isMostlyText(b) then return MAYBE end
	return NO
end

local function rateChallengeRequest(p)
	local b = p.b
	if p.length == 4 and #b == 4 then
		if b == "\0\0\0\0" or b == "\255\255\255\255" then return CERTAIN end
		return LIKELY
	end
	if p.length > 4 and #b >= 4 and isZeros(b:sub(5)) then return LIKELY end
	return (p.length <= 16 or p.isKnown) and MAYBE or NO
end

local function rateInfo(p)
	local b = p.b
	if #b < 1 then return MAYBE end
	local off = skipTexts(b, 1, 4)
	if not off or #b - off < 9 then
		return (p.cut or isMostlyText(b:sub(2))) and MAYBE or NO
	end
	if at(b, off + 5) ~= 0 and not isServerType(at(b, off + 5)) or not isEnvironment(at(b, off + 6)) then return NO end
	if at(b, off + 7) > 1 or at(b, off + 8) > 1 then return MAYBE end
	return CERTAIN
end

-- playerLen returns the length of the entry at offset off, nil if it is not whole.
local function playerLen(b, off)
	local e = #b > off and find(b, "\0", off + 1)
	if not e or #b < e + 1 + 8 then return nil end
	return e + 1 + 8 - off
end

local function walkPlayers(b)
	if #b == 0 then return 0, 0, false end
	local n, off = 0, 1
	while n < at(b, 0) do
		local size = playerLen(b, off)
		if not size then break end
		off = off + size
		local t = f32(b, off - 4)
		if not (t >= -1 and t < 1e9) then return n, off, false end
		n = n + 1
	end
	return n, off, true
end

local function ratePlayers(p)
	local n, off, ok = walkPlayers(p.b)
	if not ok or n == 0 then return MAYBE end
	local left = #p.b - off
	if n < at(p.b, 0) or left == 0 or left == SHIP_ENTRY * n then return LIKELY end
	return MAYBE
end

local function isMisnamed(body, length, asked)
	return length == 4 and #body == 4 and has(asked, T.S2C_CHALLENGE.asks) and not isZeros(body:sub(3))
end

local function hasRuleName(b)
	local name = b:sub(3)
	local e = find(name, "\0")
	if e then
		name = name:sub(1, e)
		if #name == 2 then return true end
	end
	return #name > 0 and not name:find("[\0\1-\31\127]")
end

local function rateRules(p)
	local b = p.b
	if #b < 2 then return MAYBE end
	local declared, swapped, n, off = u16(b, 0), u16be(b, 0), 0, 2
	while off < #b do
		local e = skipTexts(b, off, 2)
		if not e then break end
		off, n = e, n + 1
	end
	local whole = off == #b
	if n == declared and n > 0 and whole then return CERTAIN end
	if whole and n == swapped and n ~= declared then return NO end
	if n == 0 and whole or isMisnamed(b, p.length, p.asked) then return MAYBE end
	if n == 0 and not p.cut and not has(p.asked, T.S2A_RULES.asks) or not hasRuleName(b) then return NO end
	return n < declared and LIKELY or MAYBE
end

local function rateAck(p)
	if p.length == 15 and count(p.b, "0") >= #p.b - 1 then return LIKELY end
	return rateShort(p)
end

local function findLogLine(b)
	local i = b:find(logLine)
	return i and i - 1
end

local function rateLog(p)
	local b = p.b
	if isWholeLogLine(b) then return CERTAIN end
	return p.cut and #b >= 6 and isLogLine(b) and LIKELY or NO
end

local rates = {T = rateInfoRequest, U = rateChallengeRequest, V = rateChallengeRequest, W = rateChallengeRequest, i = rateShort, j = rateAck,
	A = function(p) return p.length == 4 and LIKELY or NO end, I = rateInfo, D = ratePlayers, E = rateRules, R = rateLog,
	S = function(p) return findLogLine(p.b) and CERTAIN or NO end}

-- fitsExactly is what is asked of a message without FF FF FF FF.
local function fitsExactly(op, p)
	if op ~= "D" then return rates[op](p) == CERTAIN end
	local n, off, ok = walkPlayers(p.b)
	local left = #p.b - off
	return ok and n > 0 and n == at(p.b, 0) and (left == 0 or left == SHIP_ENTRY * n)
end

local mark = "\255\255\255\255"

-- bodyOffset returns the offset after the opcode.
local function bodyOffset(c, b)
	if #b >= 5 and starts(b, mark) then
		local second = #b >= 9 and starts(b, mark, 4) and byOpcode[b:sub(9, 9)]
		if second and second.isReply then return 9 end
		return 5
	end
	if c.split and #b > 1 and b:find("^[IDE]") then return 1 end
end

function P.probe(c, b)
	local off = bodyOffset(c, b)
	if not off then
		local t = T.ZEROS
		if #b >= 9 and c.wire <= #b and not c.split and isZeros(b) and has(c.fromServer.asked, t.asks) then return MAYBE, t end
		return NO
	end
	local op = b:sub(off, off)
	local t = byOpcode[op]
	if not t then return NO end
	local p = {b = b:sub(off + 1), cut = c.wire > #b, length = math.max(c.wire, #b) - off, asked = c.fromServer.asked,
		isKnown = c.toServer.proto ~= nil}
	if off == 1 and not fitsExactly(op, p) or off == 9 and not has(p.asked, t.asks) then return NO end
	local k = rates[op](p)
	if off == 9 then k = least(k, MAYBE) end
	return k, t
end

-- foreign reports whether b is a message of Frontlines: Fuel of War, and whether it is a reply.
function P.foreign(c, b)
	if #b < 5 or not starts(b, mark) then return false end
	if starts(b, "FLSQ", 4) then return true, false end
	local op, p = b:sub(5, 5), b:sub(6)
	if op == "I" then
		if at(p, 0) ~= 2 then return false end
		local off = skipTexts(p, 1, 6)
		return off ~= nil and #p - off >= 6 and isServerType(at(p, off + 4)) and isEnvironment(at(p, off + 5)), true
	elseif op == "E" and #p >= 2 and c.wire <= #b then
		local n, off = 0, 2
		while off < #p do
			off = skipTexts(p, off, 2)
			if not off then return false end
			n = n + 1
		end
		return n > 0 and n == u16be(p, 0) and n ~= u16(p, 0), true
	end
	return false
end
