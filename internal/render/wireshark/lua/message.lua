-- A message, and the cursor that reads it: those of qsniff's package dissect. A reader makes
-- a list of fields; tree.lua shows them. The first read that fails sticks.

-- protos lists the protocols in qsniff's order; shared holds the definitions of none.
local protos, shared, byName = {}, {}, {}

local Cursor = {}
Cursor.__index = Cursor

-- newMessage returns a message of proto p in the byte string b, of which wire bytes were sent.
local function newMessage(p, b, wire)
	local m = {proto = p, data = b, wire = math.max(wire, #b), status = "complete", fields = {}, raised = {}, learn = {}}
	m.cur = setmetatable({m = m, data = b, off = 0, depth = 0, stack = {}, failed = false}, Cursor)
	return m
end

function Cursor:def(name)
	local d = self.m.proto.defs[name] or shared[name]
	if not d then error("no field " .. tostring(name) .. " in " .. self.m.proto.name) end
	return d
end

function Cursor:left() return #self.data - self.off end
function Cursor:leftOnWire() return self.failed and 0 or self.m.wire - self.off end
function Cursor:ok() return not self.failed end
function Cursor:isCut() return self.m.wire > #self.data end
function Cursor:peek(n) return self.data:sub(self.off + 1, self.off + (n or self:left())) end
function Cursor:fields() return #self.m.fields end

function Cursor:add(d, n, v)
	local f = {def = d, off = self.off, len = n, depth = self.depth, v = v}
	self.m.fields[#self.m.fields + 1] = f
	self.off = self.off + n
	return f
end

-- isFull reports whether the message has as many fields as it may have.
function Cursor:isFull()
	if #self.m.fields < maxFields - 1 then return false end
	if not self.failed then
		self.failed, self.limited = true, true
		self:pop()
		if self:left() > 0 then self:add(shared.unread, self:left(), self:peek()) end
		self:raise("LIM-01")
	end
	return true
end

function Cursor:fail(d)
	self.failed = true
	if self:left() > 0 then
		local f = self:add(d, self:left(), self:peek())
		f.isCut = true
	end
	self.m.stopped = d
	self.m.status = self:isCut() and "truncated" or "malformed"
end

-- next returns the next n bytes, or nil after a failure.
function Cursor:next(d, n)
	if self.failed or self:isFull() then return nil end
	if self:left() < n then
		self:fail(d)
		return nil
	end
	return self:peek(n)
end

function Cursor:push(name, num)
	if self.failed or self:isFull() then return end
	local f = self:add(self:def(name), 0, num)
	self.stack[self.depth] = f
	self.depth = self.depth + 1
end

function Cursor:pop()
	while self.depth > 0 do
		self.depth = self.depth - 1
		local f = self.stack[self.depth]
		f.len = self.off - f.off
		if not self.failed then return end
	end
end

function Cursor:note(s)
	local f = self.m.fields[#self.m.fields]
	if f and not self.failed then f.note = s end
end

-- raise raises a finding about the field at index field, about the last one if that is nil
-- and about the whole message if it is 0.
function Cursor:raise(id, field)
	self.m.raised[#self.m.raised + 1] = {id = id, field = field or #self.m.fields}
end

local function number(n, read)
	return function(self, name)
		local d = self:def(name)
		local b = self:next(d, n)
		if not b then return 0 end
		local v = read(b, 0)
		self:add(d, n, v)
		return v
	end
end

Cursor.u8 = number(1, at)
Cursor.u16 = number(2, u16)
Cursor.u24 = number(3, function(b) return u16(b, 0) + at(b, 2) * 65536 end)
Cursor.u32 = number(4, u32)
Cursor.i32 = number(4, i32)
Cursor.f32 = number(4, f32)
Cursor.u64 = number(8, function(b) return UInt64.new(u32(b, 0), u32(b, 4)) end)

-- text reads a text up to and with its NUL.
function Cursor:text(name)
	if self.failed or self:isFull() then return "" end
	local d = self:def(name)
	local e = find(self.data, "\0", self.off)
	if not e then
		self:fail(d)
		return ""
	end
	local s = self.data:sub(self.off + 1, e)
	self:add(d, e + 1 - self.off, s)
	return s
end

-- lastText is text for a field that some senders end with the datagram.
function Cursor:lastText(name)
	if not self.failed and not self:isCut() and self:left() > 0 and not find(self.data, "\0", self.off) then
		local s = self:take(name, self:left())
		self:note("ends with the datagram: terminator missing")
		return s
	end
	return self:text(name)
end

-- counted reads a text after its length byte, which counts itself.
function Cursor:counted(name)
	if self.failed or self:isFull() then return "" end
	local d, n = self:def(name), at(self.data, self.off)
	if not n or n == 0 or n > self:left() then
		self:fail(d)
		if n then self.m.fields[#self.m.fields].v = self.data:sub(self.m.fields[#self.m.fields].off + 2) end
		return ""
	end
	return self:span(name, 1, n - 1, 0)
end

-- word reads a text after the byte lead up to the first byte of the set stops, or to the end.
function Cursor:word(name, lead, stops)
	if self.failed or self:isFull() then return "" end
	local d, b = self:def(name), self:peek()
	if not starts(b, lead) then
		self:fail(d)
		return ""
	end
	local e = b:find("[" .. stops .. "]", 2)
	if not e and self:isCut() then
		self:fail(d)
		self.m.fields[#self.m.fields].v = b:sub(2)
		return ""
	end
	return self:span(name, 1, (e or #b + 1) - 2, 0)
end

-- span reads a text of n bytes between skip bytes before it and tail bytes after it.
function Cursor:span(name, skip, n, tail)
	local d = self:def(name)
	local b = self:next(d, skip + n + tail)
	if not b then return "" end
	local s = b:sub(skip + 1, skip + n)
	self:add(d, skip + n + tail, s)
	return s
end

function Cursor:run(name, skip, n, tail)
	local before = #self.m.fields
	local s = self:span(name, skip, n, tail)
	if #self.m.fields > before and not self.failed and tail == 0 and self:left() == 0 and self:isCut() then
		self.m.fields[#self.m.fields].isCut = true
	end
	return s
end

-- digits reads a decimal number after skip bytes.
function Cursor:digits(name, skip)
	local d, b = self:def(name), self:peek()
	if self.failed or self:isFull() then return 0 end
	local s = b:match("^%d*", skip + 1)
	if #s == 0 or #s > 19 or skip + #s == #b and self:isCut() then
		self:fail(d)
		return 0
	end
	local v = tonumber(s)
	if #s > 15 then
		v = UInt64(0)
		for i = 1, #s do v = v * UInt64(10) + UInt64(tonumber(s:sub(i, i))) end
	end
	self:add(d, skip + #s, v)
	return v
end

-- pieces is run for a text that may hold a password: from there on it becomes a field of secret.
-- The password can begin before, in a text that this one goes on.
function Cursor:pieces(name, secret, n, tail, said, before)
	before = before or ""
	local lo = findSecret(before .. self:peek(n), said, self:isCut())
	if not self:ok() then return end
	if lo then lo = math.max(0, lo - #before) end
	if not lo then
		if n + tail > 0 then self:run(name, 0, n, tail) end
		return
	end
	if lo > 0 then self:span(name, 0, lo, 0) end
	self:run(secret, 0, n - lo, tail)
end

function Cursor:take(name, n)
	local d = self:def(name)
	local b = self:next(d, n)
	if not b then return "" end
	self:add(d, n, b)
	return b
end

-- address reads an address of 4 or 16 bytes and a port.
function Cursor:address(name, n)
	local before = #self.m.fields
	local b = self:take(name, n)
	if #b == n and #self.m.fields > before and not self.failed then self.m.fields[#self.m.fields].v = addressText(b) end
	return b
end

function Cursor:rest(name)
	if self.failed or self:left() == 0 then return "" end
	local b = self:take(name, self:left())
	if b ~= "" and self:isCut() then self.m.fields[#self.m.fields].isCut = true end
	return b
end

-- derived adds a text that was made of bytes of other fields.
function Cursor:derived(name, s)
	if self.failed or self:isFull() then return end
	self:add(self:def(name), 0, s).isDerived = true
end

function Cursor:done()
	self:rest("trailing")
	self:pop()
	if self.m.status == "complete" and self:isCut() then self.m.status = "truncated" end
end

-- declare adds a protocol. Its readers are set by the lines after.
local function declare(p)
	for i, d in ipairs(p.defs) do p.defs[d.name] = d end
	for i, d in ipairs(p.defs) do
		if d.partOf then p.defs[d.partOf].secret = d end
	end
	p.types = {}
	for _, t in ipairs(p.list) do
		local name, n = t.name, 1
		while p.types[name] do
			n = n + 1
			name = t.name .. "_" .. n
		end
		p.types[name], t.proto = t, p
	end
	protos[#protos + 1], byName[p.name] = p, p
	return p
end
