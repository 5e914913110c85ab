// Times of a report are RFC 3339 with microseconds. Here they are seconds since 1970 as
// numbers, which hold microseconds until the year 2255.

/** parseTime returns seconds since 1970, NaN without a time. */
export function parseTime(text) {
  if (!text) return NaN;
  const fraction = /\.(\d+)/.exec(text);
  return Date.parse(text.slice(0, 19) + "Z") / 1000 + (fraction ? Number("0." + fraction[1]) : 0);
}

const pad = (n, width = 2) => String(n).padStart(width, "0");

/** partsOf returns date and time of day of t in the zone "utc" or "local". */
function partsOf(t, zone) {
  const d = new Date(Math.floor(t) * 1000);
  const get = (name) => d[(zone === "local" ? "get" : "getUTC") + name]();
  return {
    date: `${get("FullYear")}-${pad(get("Month") + 1)}-${pad(get("Date"))}`,
    clock: `${pad(get("Hours"))}:${pad(get("Minutes"))}:${pad(get("Seconds"))}`,
    micros: Math.round((t - Math.floor(t)) * 1e6),
  };
}

/** formatDate returns the day of t. */
export const formatDate = (t, zone) => partsOf(t, zone).date;

/** formatClock returns the time of day of t with so many digits of a second. */
export function formatClock(t, zone, digits = 3) {
  const scale = 10 ** digits;
  const { clock, micros } = partsOf(Math.round(t * scale) / scale, zone);
  return digits === 0 ? clock : `${clock}.${pad(Math.round((micros * scale) / 1e6), digits)}`;
}

/** formatTime returns day and time of day. */
export const formatTime = (t, zone, digits = 3) => `${formatDate(t, zone)} ${formatClock(t, zone, digits)}`;

/** zoneName returns what a time in the zone is called, at time t. */
export function zoneName(zone, t) {
  if (zone !== "local") return "UTC";
  const minutes = -new Date(t * 1000).getTimezoneOffset();
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** formatSpan returns a number of seconds in the unit that fits. */
export function formatSpan(s) {
  if (!Number.isFinite(s)) return "–";
  if (s < 0.0005) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${trim(s * 1e3)} ms`;
  if (s < 120) return `${trim(s)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${trim(s / 86400)} days`;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** trim returns a number with three significant digits, or whole from a hundred on. */
export const trim = (n) => (n >= 100 ? whole.format(n) : String(Number(n.toPrecision(3))));

// Steps between marks of a time axis, in seconds: below a second decades of 1, 2 and 5, above
// what clocks count in.
const steps = [];
for (let decade = 1e-6; decade < 0.5; decade *= 10) steps.push(decade, 2 * decade, 5 * decade);
steps.push(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800);

/** timeMarks returns the marks of a time axis from a to b with at most count of them, each
 * with its label. Marks lie on whole steps of the zone's clock. */
export function timeMarks(a, b, count, zone) {
  const step = steps.find((s) => (b - a) / s <= count) ?? (b - a) / count;
  const shift = zone === "local" ? -new Date(a * 1000).getTimezoneOffset() * 60 : 0;
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
  const marks = [];
  for (let k = Math.ceil((a + shift) / step - 1e-6); k * step - shift <= b + step * 1e-6; k++) {
    const at = k * step - shift;
    marks.push({ at, label: labelOf(at, step, digits, zone) });
  }
  return marks;
}

function labelOf(at, step, digits, zone) {
  if (step >= 86400) return formatDate(at, zone).slice(5);
  const clock = formatClock(at, zone, digits);
  return step >= 60 ? clock.slice(0, 5) : clock;
}
