-- What everything else uses: confidence, sets of bits, numbers and texts in byte strings.

local NO, MAYBE, LIKELY, CERTAIN = 0, 1, 2, 3

-- Lua 5.2 of older Wiresharks has no operators for bits, Lua 5.4 has no library for them.
local band, bor
if bit then
	band, bor = bit.band, bit.bor
elseif bit32 then
	band, bor = bit32.band, bit32.bor
else
	local make = load("return function(a, b) return a & b end, function(a, b) return a | b end")
	band, bor = make()
end

local function has(a, b) return band(a, b) ~= 0 end

local function least(a, b, c)
	local v = a
	if b < v then v = b end
	if c and c < v then v = c end
	return v
end

-- at returns the byte at offset off, which counts from 0 as everywhere here, or nil.
local function at(b, off) return b:byte(off + 1) end

local function starts(b, prefix, off)
	off = off or 0
	return b:sub(off + 1, off + #prefix) == prefix
end

-- find returns the offset of the first s in b from offset off on, or nil.
local function find(b, s, off)
	local i = b:find(s, (off or 0) + 1, true)
	return i and i - 1
end

-- onlyOf reports whether b consists of bytes of set, which is written as in a pattern.
local function onlyOf(b, set) return b:find("^[" .. set .. "]*$") ~= nil end

-- count returns how often the byte x is in b.
local function count(b, x)
	local n, i = 0, 0
	while true do
		i = b:find(x, i + 1, true)
		if not i then return n end
		n = n + 1
	end
end

local function u16(b, off)
	local x, y = b:byte(off + 1, off + 2)
	return x + y * 256
end

local function u16be(b, off)
	local x, y = b:byte(off + 1, off + 2)
	return x * 256 + y
end

local function u32(b, off)
	local x, y, z, w = b:byte(off + 1, off + 4)
	return x + y * 256 + z * 65536 + w * 16777216
end

local function i32(b, off)
	local v = u32(b, off)
	if v >= 2147483648 then v = v - 4294967296 end
	return v
end

local function f32(b, off)
	local v = u32(b, off)
	local sign = 1
	if v >= 2147483648 then sign, v = -1, v - 2147483648 end
	local exponent, fraction = math.floor(v / 8388608), v % 8388608
	if exponent == 255 then
		if fraction ~= 0 then return 0 / 0 end
		return sign / 0
	end
	if exponent == 0 then return sign * fraction * 2 ^ -149 end
	return sign * (fraction + 8388608) * 2 ^ (exponent - 150)
end

-- utf8Len returns the length of the character at offset off of b, nil if there is none.
local function utf8Len(b, off)
	local x, y, z, w = b:byte(off + 1, off + 4)
	local function tail(c) return c and c >= 0x80 and c < 0xc0 end
	if x < 0x80 then return 1 end
	if x >= 0xc2 and x < 0xe0 then return tail(y) and 2 or nil end
	if x >= 0xe0 and x < 0xf0 then
		if not (tail(y) and tail(z)) or x == 0xe0 and y < 0xa0 or x == 0xed and y >= 0xa0 then return nil end
		return 3
	end
	if x >= 0xf0 and x < 0xf5 then
		if not (tail(y) and tail(z) and tail(w)) or x == 0xf0 and y < 0x90 or x == 0xf4 and y >= 0x90 then return nil end
		return 4
	end
	return nil
end

local function isUTF8(b)
	local off = 0
	while off < #b do
		local n = utf8Len(b, off)
		if not n then return false end
		off = off + n
	end
	return true
end

-- readable is b as UTF-8: U+FFFD for each byte that is none, and U+2400 for NUL, which would
-- end a text in Wireshark.
local function readable(b)
	if not b:find("[\0\128-\255]") then return b end
	local out, off = {}, 0
	while off < #b do
		local n = utf8Len(b, off)
		if not n then
			out[#out + 1], n = "\239\191\189", 1
		elseif at(b, off) == 0 then
			out[#out + 1] = "\226\144\128"
		else
			out[#out + 1] = b:sub(off + 1, off + n)
		end
		off = off + n
	end
	return table.concat(out)
end

-- newStore returns a table of at most most entries. It has two halves: when the young one is full,
-- the old one is dropped, whose entries nobody asked for since the last time.
local function newStore(most)
	local young, old, n, store = {}, {}, 0, {}
	function store.set(key, v)
		if young[key] == nil and v ~= nil then
			if n >= most / 2 then young, old, n = {}, young, 0 end
			n = n + 1
		elseif young[key] ~= nil and v == nil then
			n = n - 1
		end
		young[key], old[key] = v, nil
	end
	function store.get(key)
		local v = young[key]
		if v ~= nil then return v end
		v = old[key]
		if v ~= nil then store.set(key, v) end
		return v
	end
	return store
end

local function hex(b)
	return (b:gsub(".", function(c) return string.format("%02x", c:byte()) end))
end

-- addressText is an address and its port as qsniff writes them.
local function addressText(b)
	local n = #b - 2
	local port = u16be(b, n)
	if n == 4 then return string.format("%d.%d.%d.%d:%d", at(b, 0), at(b, 1), at(b, 2), at(b, 3), port) end
	local words, best, bestLen, run = {}, nil, 1, 0
	for i = 0, 7 do
		words[i] = u16be(b, i * 2)
		run = words[i] == 0 and run + 1 or 0
		if run > bestLen then best, bestLen = i - run + 1, run end
	end
	if best == 0 and bestLen == 5 and words[5] == 65535 then
		return string.format("[::ffff:%d.%d.%d.%d]:%d", at(b, 12), at(b, 13), at(b, 14), at(b, 15), port)
	end
	local out, i = "", 0
	while i < 8 do
		if i == best then
			out, i = out .. "::", i + bestLen
		else
			if out ~= "" and out:sub(-1) ~= ":" then out = out .. ":" end
			out, i = out .. string.format("%x", words[i]), i + 1
		end
	end
	return "[" .. out .. "]:" .. string.format("%d", port)
end
