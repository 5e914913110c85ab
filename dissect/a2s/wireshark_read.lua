-- Dissect of this folder, after wireshark.lua in the same block.

-- readChallenge reads what may follow a request: nothing, a challenge, zeros.
local function readChallenge(cur)
	local n = cur:left()
	if n == 0 then return end
	if cur:isCut() then
		cur:i32("challenge")
	elseif n < 4 then
		cur:i32("challenge")
		cur:raise("A2S-C05")
		return
	elseif not isZeros(cur:peek():sub(5)) then
		cur:take("trailing", n)
		cur:raise("A2S-C05")
		return
	else
		cur:i32("challenge")
	end
	n = cur:left()
	if n > 0 and isZeros(cur:peek()) then
		cur:rest("padding")
		cur:raise("A2S-C11")
	end
end

local function readInfoRequest(cur)
	local have = cur:peek(#infoText)
	if not starts(infoText, have) or have == "" and not cur:isCut() then
		local sent = cur:leftOnWire()
		if sent == 4 or cur:isCut() and sent == 4 + #infoText + 1 or hasChallengeFirst(cur:peek(), cur:isCut()) then cur:i32("challenge") end
		cur:raise("A2S-C02")
		local rest = cur:peek(#infoText)
		if #rest > 0 and starts(infoText, rest) then cur:lastText("payload") end
		return
	elseif cur:leftOnWire() == #infoText + 4 and find(cur:peek(), "\0") ~= #infoText then
		cur:take("payload", #infoText)
		cur:note("terminator missing before the challenge")
		cur:raise("A2S-C02")
		cur:i32("challenge")
		return
	end
	cur:lastText("payload")
	readChallenge(cur)
end

local steamKinds = {[0] = "I", "U", "M", "G", "A", "P", "C", "g", "T", nil, "a"}

-- addSteamID3 adds the SteamID in b as Steam writes it: [G:1:123].
local function addSteamID3(cur, b)
	local account, rest = u32(b, 0), u32(b, 4)
	local instance, kind, universe = rest % 0x100000, math.floor(rest / 0x100000) % 16, math.floor(rest / 0x1000000)
	if isZeros(b) or not steamKinds[kind] then return end
	local s = string.format("[%s:%d:%d", steamKinds[kind], universe, account)
	if kind == 4 or kind == 1 and instance ~= 1 then s = s .. string.format(":%d", instance) end
	cur:derived("info.steam_id3", s .. "]")
end

local function readInfo(cur, m)
	cur:u8("info.protocol")
	for _, name in ipairs({"info.name", "info.map", "info.folder", "info.game"}) do cur:text(name) end
	local app = cur:u16("info.app_id")
	if cur:ok() and app ~= 0 then m.learn.app = app end
	local n, slots = cur:u8("info.players"), cur:u8("info.max_players")
	local counts, place = cur:ok(), cur:fields()
	for _, name in ipairs({"info.bots", "info.server_type", "info.environment", "info.visibility", "info.vac"}) do cur:u8(name) end
	if app == THE_SHIP then
		cur:u8("info.mode")
		cur:u8("info.witnesses")
		cur:u8("info.duration")
	end
	cur:lastText("info.version")
	local flagsField
	if cur:ok() and cur:left() > 0 then
		local edf = cur:u8("info.edf")
		flagsField = cur:fields()
		if has(edf, 0x80) then cur:u16("info.port") end
		if has(edf, 0x10) then
			local b = cur:peek(8)
			cur:u64("info.steam_id")
			if cur:ok() then addSteamID3(cur, b) end
		end
		if has(edf, 0x40) then
			cur:u16("info.tv_port")
			cur:text("info.tv_name")
		end
		if has(edf, 0x20) then cur:text("info.keywords") end
		if has(edf, 0x01) then
			local b = cur:peek(8)
			cur:u64("info.game_id")
			local full = cur:ok() and u16(b, 0) + at(b, 2) * 65536 or 0
			if full ~= 0 then m.learn.app = full end
		end
	end
	if counts and (n == 255 or slots == 255 or slots < n) then cur:raise("A2S-S12", place) end
	if flagsField and not cur:isCut() and (not cur:ok() or cur:left() > 0) then cur:raise("A2S-S13", flagsField) end
end

-- shipTail returns how many bytes at the end are The Ship's.
local function shipTail(c, cur, declared)
	local b, off, app = cur:peek(), 0, c.fromServer.app
	for i = 0, declared - 1 do
		if app == THE_SHIP and i > 0 and cur:leftOnWire() - off == SHIP_ENTRY * i then return #b - off end
		local n = playerLen(b, off)
		if not n then return 0 end
		off = off + n
	end
	if app == THE_SHIP or not app and cur:leftOnWire() - off == SHIP_ENTRY * declared then return #b - off end
	return 0
end

local function isWholePlayers(b)
	local off = 0
	while off < #b do
		local n = playerLen(b, off)
		if not n then return false end
		off = off + n
	end
	return true
end

local function readPlayers(c, cur)
	local declared = cur:u8("player.count")
	if not cur:ok() then return end
	local place = cur:fields()
	local tail = shipTail(c, cur, declared)
	cur:push("player.players", declared)
	local n = 0
	while cur:ok() and cur:left() > tail do
		if n == declared and (cur:isCut() or not isWholePlayers(cur:peek())) then break end
		cur:push("player.players.player", n)
		cur:u8("player.players.index")
		cur:text("player.players.name")
		cur:i32("player.players.score")
		cur:f32("player.players.duration")
		cur:pop()
		n = n + 1
	end
	local whole = cur:ok() and n or n - 1
	cur:pop()
	if whole ~= declared and not cur:isCut() and not cur.limited then cur:raise("A2S-S07", place) end
	if tail > 0 and cur:ok() then
		cur:push("player.ship", whole)
		for i = 0, whole - 1 do
			if not cur:ok() or cur:left() == 0 then break end
			cur:push("player.ship.player", i)
			cur:i32("player.ship.deaths")
			cur:i32("player.ship.money")
			cur:pop()
		end
		cur:pop()
	end
end

local function isWholeRule(b)
	local i = find(b, "\0")
	return i and i > 0 and find(b, "\0", i + 1)
end

-- isPage reports whether a name is that of a page of binary rules.
local function isPage(name, pages)
	if #name ~= 2 then return false end
	local page, total = at(name, 0), at(name, 1)
	if page > total or page >= 32 and pages.total ~= total then return false end
	pages.total = pages.total or total
	return true
end

local function readRules(c, cur)
	local wrong = isMisnamed(cur:peek(), cur:leftOnWire(), c.fromServer.asked)
	local declared = cur:u16("rules.count")
	if not cur:ok() then return end
	local place = cur:fields()
	cur:push("rules.rules", declared)
	local n, binary, pages = 0, 0, {}
	while cur:ok() and cur:left() > 0 do
		if n >= declared and not cur:isCut() and not isWholeRule(cur:peek()) then break end
		cur:push("rules.rules.rule", n)
		local name = cur:text("rules.rules.name")
		local e = find(cur:peek(), "\0")
		local isHidden = e and hidesPair(name, cur:peek(e)) or not e and holdsSecret(name)
		local value = cur:text(isHidden and "rules.hidden.value" or "rules.rules.value")
		if isPage(name, pages) or not isUTF8(name) or not isUTF8(value) then binary = binary + 1 end
		cur:pop()
		n = n + 1
	end
	local whole = cur:ok() and n or n - 1
	cur:pop()
	if wrong then
		cur:raise("A2S-S09", place)
	elseif whole ~= declared and not cur:isCut() and not cur.limited then
		cur:raise("A2S-S07", place)
	end
	if binary > 0 then cur:raise("A2S-S11", place) end
end

local function readLogLine(cur, secret)
	if secret then
		local n = findLogLine(cur:peek())
		if not n then
			cur:rest("log.secret")
			return
		end
		if n > 0 then cur:take("log.secret", n) end
	end
	local n, tail = find(cur:peek(), "\0"), 1
	if not n then n, tail = cur:left(), 0 end
	cur:pieces("log.line", "log.line_secret", n, tail)
	local rest = cur:peek()
	if onlyOf(rest, "\n\0") then
		cur:rest("log.end")
	elseif findSecret(rest) then
		cur:rest("log.behind")
	end
end

local function readBody(c, t, cur, m)
	if t == T.A2S_INFO then
		readInfoRequest(cur)
	elseif t == T.A2S_PLAYER or t == T.A2S_RULES then
		readChallenge(cur)
	elseif t == T.A2S_SERVERQUERY_GETCHALLENGE then
		cur:raise("A2S-C07")
		readChallenge(cur)
	elseif t == T.A2A_PING then
		cur:raise("A2S-C07")
		if cur:left() == 1 then cur:take("terminator", 1) end
	elseif t == T.S2C_CHALLENGE then
		cur:i32("challenge")
	elseif t == T.S2A_INFO_SRC then
		readInfo(cur, m)
	elseif t == T.S2A_PLAYER then
		readPlayers(c, cur)
	elseif t == T.S2A_RULES then
		readRules(c, cur)
	elseif t == T.A2A_ACK then
		if cur:left() > 0 then cur:lastText("ack.body") end
	else
		readLogLine(cur, t == T.S2A_LOGSTRING2)
	end
end

function P.read(c, t, cur, m)
	if t == T.ZEROS then
		cur:rest("zeros")
		cur:raise("A2S-S10")
		cur:done()
		if m.status == "complete" then m.status = "malformed" end
		return
	end
	local off = bodyOffset(c, m.data)
	if off ~= 1 then cur:i32("header") end
	if off == 9 then
		cur:i32("second_header")
		cur:raise("A2S-S10")
	end
	cur:u8("opcode")
	readBody(c, t, cur, m)
	cur:done()
end
