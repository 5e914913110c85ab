-- Shows messages: a field of Wireshark for each definition, an expert info for each finding.

local meta = Proto("qsniff", "what qsniff's protocols share")
local pf, ef = {}, {}

local severities = {chat = PI_CHAT, note = PI_NOTE, warn = PI_WARN, error = PI_ERROR}

-- fieldOf makes Wireshark's field of a definition.
local function fieldOf(d, name)
	local base = d.isHex and base.DEC_HEX or base.DEC
	if d.isSecret or d.kind == "Text" or d.kind == "Addr" or d.kind == "Char" then
		return ProtoField.string(name, d.label, nil, d.doc)
	elseif d.isSize or d.kind == "Uint" then
		return ProtoField.uint64(name, d.label, base, nil, nil, d.doc)
	elseif d.kind == "Int" then
		return ProtoField.int64(name, d.label, nil, nil, nil, d.doc)
	elseif d.kind == "Float" then
		return ProtoField.float(name, d.label, nil, d.doc)
	elseif d.kind == "Bytes" then
		return ProtoField.bytes(name, d.label, nil, d.doc)
	end
	return ProtoField.none(name, d.label, nil, d.doc)
end

-- register gives Wireshark the fields and expert infos of some definitions and codes.
local function register(proto, defs, codes, prefix)
	local fields, experts = {}, {}
	for _, d in ipairs(defs) do
		pf[d] = fieldOf(d, prefix .. d.full)
		fields[#fields + 1] = pf[d]
	end
	for _, code in ipairs(codes) do
		local name = "qsniff.finding." .. code.id:lower():gsub("-", "_")
		ef[code.id] = {expert = ProtoExpert.new(name, code.id .. ": " .. code.seen, PI_PROTOCOL, severities[code.severity]), code = code}
		experts[#experts + 1] = ef[code.id].expert
	end
	return fields, experts
end

local own = {
	message = ProtoField.string("qsniff.message", "message", nil, "what kind of message it is"),
	direction = ProtoField.string("qsniff.direction", "direction", nil, "request or reply"),
	status = ProtoField.string("qsniff.status", "status", nil, "complete, truncated (by the capture), malformed or fragment"),
	finding = ProtoField.string("qsniff.finding", "finding", nil, "id of what is wrong: qsniff explain"),
	frame = ProtoField.framenum("qsniff.frame", "part in frame", base.NONE, frametype.NONE, nil, "a frame that the message came in"),
	engine = ProtoField.string("qsniff.split.engine", "engine", nil, "source or goldsource"),
	id = ProtoField.uint32("qsniff.split.id", "id", base.DEC_HEX, nil, nil, "of the split message"),
	total = ProtoField.uint32("qsniff.split.total", "total", base.DEC, nil, nil, "parts of the split message"),
	number = ProtoField.uint32("qsniff.split.number", "number", base.DEC, nil, nil, "of this part, from 0"),
	size = ProtoField.uint32("qsniff.split.size_field", "size", base.DEC, nil, nil, "declared size of a part"),
	compressed = ProtoField.bool("qsniff.split.compressed", "compressed", base.NONE, nil, nil, "with bzip2"),
}
local cannotInflate = ProtoExpert.new("qsniff.split.not_decompressed",
	"compressed with bzip2, which Wireshark's Lua has not: qsniff reads it", PI_UNDECODED, PI_NOTE)

meta.prefs.show_secrets = Pref.bool("Show secrets", false,
	"Show passwords in place of <redacted>. The bytes of a packet are shown in any case.")

-- valueOf returns what Wireshark is given as the value of a field, nil where its bytes say it.
local function valueOf(m, f)
	local d = f.def
	if d.isSecret then
		if not meta.prefs.show_secrets then return "<redacted>" end
		return readable(tostring(f.v))
	elseif d.isSize then
		return UInt64(f.isCut and f.off + f.len == #m.data and m.wire - f.off or f.len)
	elseif d.kind == "Text" then
		return readable(f.v)
	elseif d.kind == "Bytes" then
		return ByteArray.new(f.v, true)
	elseif f.isCut or f.v == nil then
		return nil
	elseif d.kind == "Uint" then
		return type(f.v) == "number" and UInt64.new(f.v % 4294967296, math.floor(f.v / 4294967296)) or f.v
	elseif d.kind == "Int" then
		return Int64(f.v)
	elseif d.kind == "Char" then
		return readable(string.char(f.v))
	end
	return f.v
end

-- meaningOf returns the note of a field or the name of its value.
local function meaningOf(f)
	local names = f.def.values
	return f.note or names and not f.isCut and type(f.v) == "number" and names[f.v] or nil
end

local function addField(tree, m, tvb, f)
	local d = f.def
	local field = pf[d]
	local item
	if d.kind == "Group" or d.kind == "List" then
		item = f.len > 0 and tree:add(field, tvb:range(f.off, f.len)) or tree:add(field)
		if d.kind == "Group" then item:append_text(" " .. f.v) end
	else
		local v = valueOf(m, f)
		if v == nil then -- cut
			item = tree:add(tvb:range(f.off, f.len), d.label .. ": cut")
		elseif f.len > 0 then
			item = d.kind == "Bytes" and not d.isSecret and not d.isSize and tree:add(field, tvb:range(f.off, f.len)) or tree:add(field, tvb:range(f.off, f.len), v)
		else
			item = tree:add(field, v)
			item:set_generated()
		end
	end
	local meaning = meaningOf(f)
	if meaning and meaning ~= "" then item:append_text(" (" .. meaning .. ")") end
	return item
end

-- summaryOf is the one-line reading of a message.
local function summaryOf(m)
	local words = {m.type and m.type.name or m.proto.name}
	for _, name in ipairs(m.type and m.type.summary or {}) do
		local d = m.proto.defs[name] or shared[name]
		for _, f in ipairs(m.fields) do
			if f.def == d then
				local v = valueOf(m, f)
				if d.kind == "List" then v = f.v end
				if v ~= nil and d.kind ~= "Bytes" then words[#words + 1] = d.label .. "=" .. tostring(v) end
				break
			end
		end
	end
	if m.status ~= "complete" then words[#words + 1] = "[" .. m.status .. "]" end
	return table.concat(words, " ")
end

-- hideTexts hides the texts of consoles in m, of whose bytes another copy differs: the name of a
-- password may be what does. Where m is no whole message, all of a stream's is hidden.
local function hideTexts(m)
	local unread = m.proto.frame and m.status ~= "complete" and m.proto.defs.unread
	if unread then m.fields = {{def = unread, off = 0, len = #m.data, depth = 0, v = m.data}} end
	for _, f in ipairs(m.fields) do
		if f.len > 0 then f.def = f.def.secret or f.def end
	end
end

-- show adds message m, whose bytes are in tvb, to the tree of its packet.
local function show(tree, pinfo, tvb, m)
	local proto = m.shownAs or m.proto
	pinfo.cols.protocol = proto.name:upper()
	pinfo.cols.info = summaryOf(m)
	local top = tree:add(proto.wireshark, tvb:range(0, tvb:captured_len()))
	if m.type then
		top:append_text(", " .. m.type.name)
		top:add(own.message, m.type.name):set_generated()
		top:add(own.direction, m.type.isReply and "reply" or "request"):set_generated()
	end
	top:add(own.status, m.status):set_generated()
	for _, frame in ipairs(m.frames or {}) do top:add(own.frame, frame):set_generated() end
	local open, items = {[0] = top}, {[0] = top}
	for i, f in ipairs(m.fields) do
		local item = addField(open[f.depth], m, tvb, f)
		open[f.depth + 1], items[i] = item, item
	end
	for _, r in ipairs(m.raised) do
		local e, item = ef[r.id], items[r.field] or top
		item:add_proto_expert_info(e.expert, r.id .. ": " .. e.code.seen)
		top:add(own.finding, r.id):set_generated()
	end
	return top
end
