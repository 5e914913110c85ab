-- Joins the split messages of Valve's engines: packages wire and reassembly/split, for parts of
-- which none is missing. What needs a clock or decompression is qsniff's alone.

-- The form of a header is its length: 9 GoldSource, 12 Source, 10 Source without a part's size.
-- MAX_HELD parts wait for the first one, which shows their form: a message has 255 at most.
local MAX_HELD = 256

-- MAX_SETS messages wait for parts. A set holds the bytes of its datagrams, 350 KB at most.
local MAX_SETS = 1024

local sets, results = newStore(MAX_SETS), {}

local function forgetParts() sets, results = newStore(MAX_SETS), {} end

local function isSplit(b) return starts(b, "\254\255\255\255") and #b >= 9 end
local function isOnes(b, off) return starts(b, "\255\255\255\255", off) end

-- isBzip2 reports whether a bzip2 stream starts at offset off.
local function isBzip2(b, off)
	return b:find("^BZh[1-9]1AY&SY", off + 1) ~= nil or b:find("^BZh[1-9]\23rE8P\144", off + 1) ~= nil
end

-- headerOf reads the header of b in form e, nil if the numbers contradict each other.
local function headerOf(b, e)
	if #b < e then return nil end
	local h = {form = e, engine = engineNames[e], id = u32(b, 4), len = e}
	if e == 9 then
		h.total, h.number = at(b, 8) % 16, math.floor(at(b, 8) / 16)
	else
		h.total, h.number = at(b, 8), at(b, 9)
		if e == 12 then h.size = u16(b, 10) end
	end
	if h.total == 0 or h.number >= h.total then return nil end
	return h
end

-- proveForm returns the form that the start of a part 0 proves.
local function proveForm(b)
	local isFirst = at(b, 9) == 0
	if isOnes(b, 9) and at(b, 8) % 16 >= 2 and at(b, 8) < 16 then return 9 end
	if isOnes(b, 10) and isFirst then return 10 end
	if isOnes(b, 12) and isFirst then return 12 end
	if isFirst and u32(b, 4) >= 2147483648 then
		for _, o in ipairs({{18, 10}, {20, 12}, {10, 10}, {12, 12}}) do
			if isBzip2(b, o[1]) then return o[2] end
		end
	end
	return nil
end

-- compareParts notes where a part contradicts the one with the same number in a set of the same id.
local function compareParts(set, other, number, part)
	local has = other.parts and other.parts[number]
	if has and has.bytes ~= part.bytes then set.isDisputed, other.isDisputed = true, true end
end

-- addPart adds a part to a set, and returns all parts in order when none is missing.
local function addPart(set, part)
	local h = headerOf(part.bytes, set.form)
	if not h then return nil end
	compareParts(set, set, h.number, part)
	if set.before then compareParts(set, set.before, h.number, part) end
	if h.total ~= set.total then set.isDisputed = true end
	if h.total ~= set.total or set.parts[h.number] then return nil end
	set.parts[h.number], set.count = part, set.count + 1
	set.frames[#set.frames + 1] = part.frame
	return set.count == set.total
end

-- joinParts returns the message that a whole set is, with its frames. If the capture cut a part,
-- run bytes can be read, and after lists the parts that follow.
local function joinParts(set)
	local out, wire, size, run, after = {}, 0, 0, nil, {}
	for i = 0, set.total - 1 do
		local p = set.parts[i]
		local body = p.bytes:sub(set.form + 1)
		if run and #body > 0 then after[#after + 1] = {off = size, len = #body} end
		out[#out + 1] = body
		wire, size = wire + p.wire - set.form, size + #body
		if p.wire > #p.bytes then run = run or size end
	end
	local h = headerOf(set.parts[0].bytes, set.form)
	local data = table.concat(out)
	local isCompressed = h.id >= 2147483648 and h.form ~= 9 and not (isOnes(data, 0) and not isBzip2(data, 8))
	return {data = data, run = run, after = after, wire = math.max(wire, #data), form = h.form, engine = h.engine,
		isCompressed = isCompressed, frames = set.frames, header = h, set = set}
end

-- takePart adds b, a part, to its set when it comes first, and returns the header that it has, if
-- that is known, and the message that it completes.
local function takePart(c, b)
	local key = c.src .. "|" .. c.dst .. "|" .. u32(b, 4)
	local part = {bytes = b, frame = c.frame, wire = c.wire}
	local form = proveForm(b)
	local set = sets.get(key)
	local isOther = set and form and set.parts and set.parts[0] and set.parts[0].bytes ~= b
	local isOld = set and c.time - set.time > MAX_WAIT
	if not set or isOther or isOld or set.isDone and (form or not headerOf(b, set.form)) then
		if set then set.before = nil end
		set = {held = {}, time = c.time, before = not isOld and set}
		sets.set(key, set)
	end
	if form and not set.form then
		local h = headerOf(b, form)
		if not h then return nil end
		set.form, set.total, set.count, set.parts, set.frames = form, h.total, 0, {}, {}
		local whole = false
		for _, p in ipairs(set.held) do whole = addPart(set, p) or whole end
		set.held = {}
		whole = addPart(set, part) or whole
		if not whole then return h end
		set.isDone = true
		return h, joinParts(set)
	elseif not set.form then
		if #set.held < MAX_HELD then set.held[#set.held + 1] = part end
		return nil
	end
	if addPart(set, part) then
		set.isDone = true
		return headerOf(b, set.form), joinParts(set)
	end
	return headerOf(b, set.form)
end

-- showPart shows that a datagram is a part of a message of protocol p.
local function showPart(tvb, pinfo, tree, p, label)
	pinfo.cols.protocol = p.name:upper()
	pinfo.cols.info = label
	return tree:add(meta, tvb:range(0, tvb:captured_len()), label)
end

-- addUnread adds the parts that follow one that the capture cut, as fields. If they can hold
-- console output they are hidden, for what is missing may be the name of a secret.
local function addUnread(m, joined)
	local name = ownerOf(joined.form).hasConsole and "split.hidden_part" or "split.part"
	for _, p in ipairs(joined.after) do
		local bytes = joined.data:sub(p.off + 1, p.off + p.len)
		m.fields[#m.fields + 1] = {def = shared[name], off = p.off, len = p.len, depth = 0, v = bytes, note = "after the gap"}
	end
end

-- showJoined shows the message that parts made.
local function showJoined(pinfo, tree, c, joined)
	c.form, c.split, c.wire = joined.form, joined.engine, joined.wire
	local data = joined.data:sub(1, joined.run or #joined.data)
	local t = identify(c, data, pinfo.visited, 1)
	if not t then return end
	local m = read(c, t, data, pinfo.visited)
	m.frames = joined.frames
	if joined.run then addUnread(m, joined) end
	if joined.set and joined.set.isDisputed then hideTexts(m) end
	show(tree, pinfo, ByteArray.new(joined.data, true):tvb("Joined"), m)
end

-- dissectPart shows a part of a split message, and the message where the part completes it.
local function dissectPart(tvb, pinfo, tree, c, b)
	local r = results[keyOf(c, 0)]
	if not pinfo.visited or not r then
		local h, joined = takePart(c, b)
		r = {header = h, joined = joined}
		results[keyOf(c, 0)] = r
	end
	if not r.header then return false end
	local h = r.header
	local top = showPart(tvb, pinfo, tree, ownerOf(h.form), string.format("part %d of %d, id %d", h.number + 1, h.total, h.id))
	top:add(own.engine, h.engine):set_generated()
	top:add(own.id, tvb:range(4, 4), h.id % 2147483648)
	top:add(own.total, tvb:range(8, 1), h.total)
	top:add(own.number, tvb:range(h.len == 9 and 8 or 9, 1), h.number)
	if h.size then top:add(own.size, tvb:range(10, 2), h.size) end
	if not r.joined then return true end
	top:add(own.compressed, r.joined.isCompressed):set_generated()
	if r.joined.isCompressed then
		top:add_proto_expert_info(cannotInflate)
	else
		showJoined(pinfo, tree, c, r.joined)
	end
	return true
end

-- dissectFragment is dissectPart for a protocol that cuts replies in a way of its own.
local function dissectFragment(tvb, pinfo, tree, c, b)
	local r = results[keyOf(c, 0)]
	if not pinfo.visited then
		recall(c)
		for _, p in ipairs(protos) do
			local label, joined
			if p.take then label, joined = p.take(c, b) end
			if label then
				r = {proto = p, label = label, joined = joined}
				results[keyOf(c, 0)] = r
				break
			end
		end
	end
	if not r then return false end
	showPart(tvb, pinfo, tree, r.proto, r.label)
	if r.joined then showJoined(pinfo, tree, c, r.joined) end
	return true
end
