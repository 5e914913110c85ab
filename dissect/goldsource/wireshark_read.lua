-- Dissect of this folder, after wireshark.lua in the same block.

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
	elseif findSecret(b, c.said, cur:isCut()) then
		cur:rest("behind")
	end
end

local function readConsole(c, cur, name, secret, before)
	local n, tail = find(cur:peek(), "\0"), 1
	if not n then n, tail = cur:left(), 0 end
	cur:pieces(name, secret, n, tail, c.said, before)
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

local function readOldPlayers(cur, n, tail)
	cur:push("netinfo.players", math.floor((count(cur:peek(n), "\\") + 3) / 4))
	local i = 0
	while n > 0 and cur:ok() do
		cur:push("netinfo.players.player", i)
		for _, name in ipairs({"number", "name", "frags", "time"}) do
			if n == 0 then break end
			local b = cur:peek(n)
			local skip = #b - #skipBlanks(b)
			local size, after = find(b, "\\", skip), 1
			if size then size = size - skip else size, after = n - skip, 0 end
			n = n - skip - size - after
			if n == 0 then after = after + tail end
			cur:run("netinfo.players." .. name, skip, size, after)
		end
		cur:pop()
		i = i + 1
	end
	cur:pop()
end

local function readPairsReply(c, cur)
	local isNetinfo = wordLen(cur) == #"netinfo"
	if isNetinfo then
		readWord(cur)
		readNumber(cur, "netinfo.context")
		readNumber(cur, "netinfo.type")
	else
		readHeadword(cur)
	end
	if cur:left() == 0 then return end
	local n, tail = find(cur:peek(), "\0"), 1
	if not n then n, tail = cur:left(), 0 end
	while isNetinfo and not cur:isCut() and n > 0 and isTerminator(cur:peek(n):sub(n)) do n, tail = n - 1, tail + 1 end
	local said = skipBlanks(cur:peek(n))
	if isNetinfo and beginsPlayers(cur:peek(n)) then
		readOldPlayers(cur, n, tail)
	elseif said ~= "" and not starts(said, "\\") and not isTerminator(said) then
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
	[T.A2A_PRINT] = function(c, cur, m)
		if cur:peek(1) == "l" then cur:u8("opcode") else readHeadword(cur) end
		m.learn.tail = c.said and ((c.tail or "") .. cur:peek():match("^[^%z]*")):sub(-256):match("[^\n]*$") -- of what may go on
		readConsole(c, cur, "print.text", "print.text_secret", c.said and c.tail)
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
