-- Which texts hold a secret. The list and its classes are those of names.go; findSecret
-- hides more than FindSecret does: all that follows the name of a secret, to the end.

local VARIABLE, PLAIN, LOGIN, REQUEST = 1, 2, 3, 4

-- The class of a word that is the text, and that of a longer word which ends with it.
local secretNames = {
	{"password", PLAIN, VARIABLE}, {"passwd", PLAIN, VARIABLE}, {"passphrase", PLAIN, VARIABLE},
	{"pwd", PLAIN, VARIABLE}, {"pass", PLAIN}, {"_pass", VARIABLE, VARIABLE}, {"rconpass", VARIABLE, VARIABLE},
	{"adminpass", VARIABLE, VARIABLE}, {"serverpass", VARIABLE, VARIABLE}, {"_pw", VARIABLE, VARIABLE},
	{"secret", PLAIN}, {"_secret", VARIABLE, VARIABLE}, {"logsecret", VARIABLE, VARIABLE}, {"token", PLAIN},
	{"_token", VARIABLE, VARIABLE}, {"accesstoken", VARIABLE, VARIABLE}, {"authtoken", VARIABLE, VARIABLE},
	{"steamaccount", VARIABLE, VARIABLE}, {"authkey", VARIABLE, VARIABLE}, {"apikey", VARIABLE, VARIABLE},
	{"api_key", VARIABLE, VARIABLE}, {"adminlogin", VARIABLE, VARIABLE}, {"enablecheats", VARIABLE, VARIABLE},
	{"passwort", PLAIN, VARIABLE}, {"passe", PLAIN}, {"senha", PLAIN}, {"haslo", PLAIN},
	{"login", LOGIN}, {"_login", VARIABLE, VARIABLE}, {"auth", LOGIN}, {"register", LOGIN}, {"identify", LOGIN}, {"rcon", REQUEST},
}

-- classOf returns the class of a word, nil if it is an ordinary one. Digits at its end and
-- the letter of a colour code before it do not count.
local function classOf(word, before)
	local function lookUp(w)
		for _, n in ipairs(secretNames) do
			if #w >= #n[1] and w:sub(-#n[1]) == n[1] then
				if #w > #n[1] and n[3] then return n[3] end
				if #w == #n[1] then return n[2] end
			end
		end
	end
	local w = word:lower()
	local c = lookUp(w)
	if c then return c end
	for n = 1, before and math.min(8, #w - 1) or 0 do
		c = lookUp(w:sub(n + 1))
		if c then return c end
	end
	local base = w:match("^(.-)_?%d+$")
	c = base and base ~= "" and lookUp(base)
	if c == VARIABLE or c == PLAIN then return c end
	base = (base or w):gsub("_+$", ""):gsub("([^s])s$", "%1"):gsub("_+$", "")
	if base ~= "" and base ~= w and lookUp(base) == VARIABLE then return VARIABLE end
end

-- holdsSecret reports whether the value of a variable called name is a secret.
local function holdsSecret(name)
	for from, word in name:gmatch("()([%w_]+)") do
		local c = classOf(word, from > 1)
		if c == VARIABLE or c == PLAIN then return true end
	end
	return false
end

local yesOrNo = {["0"] = true, ["1"] = true, no = true, yes = true, ["false"] = true, ["true"] = true}

-- hidesPair reports whether the value of a pair is a secret.
local function hidesPair(name, value)
	return value ~= "" and not yesOrNo[value:lower()] and holdsSecret(name)
end

-- piecesOf returns what a repeated password is known by: letters and digits of it, which no
-- escape of it changes, in lower case; or all of it.
local function piecesOf(password)
	local all = {}
	for word in password:lower():gmatch("%w%w%w%w+") do all[#all + 1] = word end
	if #all == 0 and password ~= "" then all[1] = password:lower() end
	return all
end

-- findStart returns the offset of the start of a password that b ends with: of 3 bytes or more,
-- for b may go on in a later message, and of any length where the capture cut b.
local function findStart(b, password, isCut)
	for n = math.min(#password, #b), isCut and 1 or 3, -1 do
		if b:sub(-n) == password:sub(1, n) then return #b - n end
	end
end

-- findSecret returns the offset from which on b is hidden, nil if all of it may be shown.
-- said lists the passwords that were sent before in the flow.
local function findSecret(b, said, isCut)
	local lo
	for from, word, after in b:gmatch("()([%w_]+)()") do
		local c = after <= #b and classOf(word, from > 1)
		if c and not (c == REQUEST and starts(b, ' from "', after - 1)) then -- a log line quotes a command without its password
			lo = after - 1
			break
		end
	end
	local lower = said and #said > 0 and b:lower() or ""
	for _, s in ipairs(said or {}) do
		for _, piece in ipairs(piecesOf(s)) do
			local i = find(lower, piece)
			if i and (not lo or i < lo) then lo = math.max(0, i - #s) end
		end
		local i = findStart(lower, s:lower(), isCut)
		if i and (not lo or i < lo) then lo = i end
	end
	return lo
end

-- Log lines begin so, in all engines; some games pad no number.
local logLine = "L %d%d?/%d%d?/%d%d%d%d %- %d%d?:%d%d?:%d%d?: "

local function isWholeLogLine(b) return b:find("^" .. logLine) ~= nil end

-- isLogLine reports whether b starts as a log line does, as far as it goes.
local function isLogLine(b)
	if isWholeLogLine(b) then return true end
	local head = b:gsub("%d+", "0")
	return head == ("L 0/0/0 - 0:0:0: "):sub(1, #head)
end

local function isChallenge(s) return s:find("^%d+$") and #s <= 10 and tonumber(s) < 4294967296 end

-- isUnusual reports whether the arguments of rcon hold what no client writes.
local function isUnusual(b)
	local open = false
	for i = 0, #b - 1 do
		local x, before, after = at(b, i), i > 0 and at(b, i - 1), at(b, i + 1)
		local blankAfter = after == 32 or after == 9 or after == 59
		if x < 32 and x ~= 9 then
			return true
		elseif open and x == 34 then
			if after and not blankAfter or before == 92 or before == 34 and after then return true end
			open = false
		elseif x == 34 or x == 39 then
			if x == 39 or before and before ~= 32 and before ~= 9 and before ~= 59 then return true end
			open = true
		end
	end
	return false
end

-- parseRcon reads the arguments of rcon: challenge and password as {from, to}, from 0, and
-- where they end. It follows ParseRcon.
local function parseRcon(b)
	local function token(off)
		off = b:match("^[ \t]*()", off + 1) - 1
		local x = at(b, off)
		if not x or x == 0 or x == 10 or x == 13 then return nil, false, off end
		if x == 34 then
			local e = b:match("^[^\"\0\r\n]*()", off + 2) - 1
			return {off + 1, e}, true, at(b, e) == 34 and e + 1 or e
		end
		local e = b:match("^[^\0\r\n \t]*()", off + 1) - 1
		return {off, e}, false, e
	end
	local first, firstQuoted, e = token(0)
	if not first then
		if not onlyOf(b, " \t\r\n\0") then return {password = {0, #b}, finish = #b} end
		return {finish = e}
	end
	local second, quoted, secondEnd = token(e)
	local word = b:sub(first[1] + 1, first[2])
	local isNumber = isChallenge(word)
	local body = b:match("^(.-)[\r\n\0]*$")
	if isUnusual(body) or quoted and not isNumber or word:find("^[-+]%d+$") then
		return {password = {first[1], #body}, finish = #body}
	end
	if isNumber and second then
		return {challenge = first, isCertain = quoted and not firstQuoted and first[2] - first[1] >= 7,
			password = second, isQuoted = quoted, finish = secondEnd}
	end
	return {password = first, isQuoted = firstQuoted, finish = e}
end
