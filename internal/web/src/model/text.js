// Text from the network, made fit for a page: characters that a reader cannot see, or that
// change the order of others, become their number.

// Controls of C0 and C1, soft hyphen, marks and overrides of direction, zero-width
// characters, separators of lines and paragraphs, byte order marks, interlinear notes, tags.
const hidden = new RegExp("[" + [
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f",
  "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}",
].join("") + "]", "gu");

const escape = (c) => {
  const code = c.codePointAt(0);
  return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : `\\u{${code.toString(16)}}`;
};

/** visible returns s on one line with at most limit characters, and says how many there were. */
export function visible(s, limit = 200) {
  const text = String(s ?? "");
  if (text.length <= limit) return text.replace(hidden, escape);
  return `${text.slice(0, limit).replace(hidden, escape)}… (${text.length} characters)`;
}

/** visibleLines returns s as lines: line breaks stay, what else is hidden becomes visible. */
export function visibleLines(s, limit = 20000) {
  const text = String(s ?? "").replace(/\r\n?/g, "\n");
  const cut = text.slice(0, limit).split("\n").map((line) => line.replace(/\t/g, "    ").replace(hidden, escape)).join("\n");
  return text.length > limit ? `${cut}…\n(${text.length} characters in all)` : cut;
}
