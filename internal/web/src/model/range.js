// The range of time that a reader chose: points of the timeline, whole ones, as the sums of
// tables are of whole points. In the address it stands as seconds after the timeline's start.

/** parseRange returns {a, b, from, to} of "12.5-31"; null for none and for all of it. */
export function parseRange(text, timeline) {
  const match = /^([\d.]+)-([\d.]+)$/.exec(text ?? "");
  if (!match || timeline.points === 0) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  if (!(from < to)) return null;
  const a = clamp(Math.floor(from / timeline.interval + 1e-6), 0, timeline.points - 1);
  const b = clamp(Math.ceil(to / timeline.interval - 1e-6), a + 1, timeline.points);
  return a === 0 && b === timeline.points ? null : rangeOf(a, b, timeline);
}

/** rangeOf returns the range of the points from a to b, b excluded. */
export const rangeOf = (a, b, timeline) => ({
  a, b,
  from: timeline.start + a * timeline.interval,
  to: timeline.start + b * timeline.interval,
});

/** wholeOf returns the range of all points. */
export const wholeOf = (timeline) => rangeOf(0, timeline.points, timeline);

/** formatRange is the inverse of parseRange; empty for all of it. */
export function formatRange(a, b, timeline) {
  if (a <= 0 && b >= timeline.points) return "";
  const digits = Math.max(0, Math.ceil(-Math.log10(timeline.interval)));
  const at = (i) => String(Number((i * timeline.interval).toFixed(digits)));
  return `${at(a)}-${at(b)}`;
}

/** rangeOfTimes returns the text of the range that holds the times from and to, with margin
 * points around them. */
export function rangeOfTimes(from, to, timeline, margin = 0) {
  const point = (t) => (t - timeline.start) / timeline.interval;
  const a = clamp(Math.floor(point(from)) - margin, 0, timeline.points - 1);
  const b = clamp(Math.floor(point(to)) + 1 + margin, a + 1, timeline.points);
  return formatRange(a, b, timeline);
}

/** overlaps reports whether something that lasted from one time to another lies in part in
 * the range; everything does without a range. */
export const overlaps = (range, from, to) => !range || (from < range.to && (Number.isNaN(to) ? from : to) >= range.from);

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);
