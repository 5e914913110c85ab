// A flood as a capture, made on the spot.

/** flood gives a capture in chunks: one request from an invented address after the other,
 * count of them, 50,000 a second. */
export function* flood(count) {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65535, 16);
  header.writeUInt32LE(101, 20); // raw IP
  yield header;
  const payload = Buffer.from("ffffffff54536f7572636520456e67696e6520517565727900", "hex");
  const size = 28 + payload.length;
  const record = Buffer.alloc(16 + size);
  record.writeUInt32LE(size, 8);
  record.writeUInt32LE(size, 12);
  Buffer.from("4500003500000000f3110000", "hex").copy(record, 16);
  Buffer.from([198, 18, 0, 1]).copy(record, 32);
  record.writeUInt16BE(27015, 38);
  record.writeUInt16BE(8 + payload.length, 40);
  payload.copy(record, 44);
  const perChunk = 1000;
  for (let i = 0; i < count; i += perChunk) {
    const chunk = Buffer.alloc(perChunk * record.length);
    for (let k = 0; k < perChunk; k++) {
      const at = (i + k) * 20; // microseconds
      record.writeUInt32LE(1700000000 + Math.floor(at / 1e6), 0);
      record.writeUInt32LE(at % 1e6, 4);
      record.writeUInt32BE((Math.imul(i + k, 2654435761) | 0x01000000) >>> 0, 28);
      record.writeUInt16BE(1024 + ((i + k) % 60000), 36);
      record.copy(chunk, k * record.length);
    }
    yield chunk;
  }
}
