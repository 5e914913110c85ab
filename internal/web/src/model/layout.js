// The layout of a message as rows of a tree and as rows of bytes. A layout is flat: its names
// say what belongs together, and a name that comes again begins the next entry of a list.

/** treeRows returns the rows of the tree: {index, depth, label, element} for each element of
 * the layout, and {list, depth, label, entries} before the first entry of each list. */
export function treeRows(layout) {
  const lists = findLists(layout);
  const rows = [];
  let open = null; // the list that the last element belongs to
  layout.forEach((element, index) => {
    const { parent, leaf } = splitName(element.name);
    const list = lists.get(parent);
    if (!list) {
      rows.push({ index, depth: 0, label: leaf, element });
      open = null;
      return;
    }
    if (open !== list) rows.push({ list: parent, depth: 0, label: splitName(parent).leaf, entries: list.entries });
    const begins = leaf === list.first;
    if (begins) list.at++;
    rows.push({ index, depth: 1, label: leaf, entry: begins || open !== list ? list.at : undefined, element });
    open = list;
  });
  return rows;
}

function splitName(name) {
  const dot = name.lastIndexOf(".");
  return { parent: name.slice(0, Math.max(dot, 0)), leaf: name.slice(dot + 1) };
}

// findLists returns, by parent, the lists of a layout: a parent one of whose names comes more
// than once. Its first name begins an entry.
function findLists(layout) {
  const counts = new Map();
  const firsts = new Map();
  for (const { name } of layout) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const { parent, leaf } = splitName(name);
    if (!firsts.has(parent)) firsts.set(parent, leaf);
  }
  const lists = new Map();
  for (const [name, count] of counts) {
    const { parent } = splitName(name);
    if (count > 1 && !lists.has(parent)) {
      const first = firsts.get(parent);
      lists.set(parent, { first, entries: counts.get(parent ? `${parent}.${first}` : first), at: -1 });
    }
  }
  return lists;
}

/** byteMap returns the bytes of a message as pairs of digits, and which element of the
 * layout each is of. */
export function byteMap(layout, length) {
  const bytes = new Array(length).fill("  ");
  const owners = new Int32Array(length).fill(-1);
  layout.forEach((element, index) => {
    if (element.aux) return;
    for (let i = 0; i < element.length && element.offset + i < length; i++) {
      bytes[element.offset + i] = element.hex.slice(2 * i, 2 * i + 2);
      owners[element.offset + i] = index;
    }
  });
  return { bytes, owners };
}

/** hexRows returns rows of width bytes: {offset, runs: [{index, offset, bytes}]}, a run being
 * neighbouring bytes of one element. */
export function hexRows({ bytes, owners }, width) {
  const rows = [];
  for (let offset = 0; offset < bytes.length; offset += width) {
    const runs = [];
    for (let i = offset; i < Math.min(offset + width, bytes.length); i++) {
      const last = runs.at(-1);
      if (last && last.index === owners[i]) last.bytes.push(bytes[i]);
      else runs.push({ index: owners[i], offset: i, bytes: [bytes[i]] });
    }
    rows.push({ offset, runs });
  }
  return rows;
}

/** bytesOf returns which bytes of the message an element lights: its own; those that a value
 * was decoded from, where these are the message's. */
export function bytesOf(element, { bytes }) {
  if (element.length === 0) return null;
  const there = bytes.slice(element.offset, element.offset + element.length).join("");
  if (element.aux && there !== element.hex) return null;
  return { from: element.offset, to: element.offset + element.length };
}

/** asciiOf returns what a byte is as a character: a dot where it is none. */
export function asciiOf(pair) {
  const code = parseInt(pair, 16);
  if (pair.includes("*")) return "*";
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : "·";
}
