// Numbers for people. The page is in English, whatever the browser's language.
import { trim } from "./time.js";

const grouped = new Intl.NumberFormat("en");

export const formatCount = (n) => (n == null ? "–" : grouped.format(n));

/** counted returns a number with its noun. */
export const counted = (n, one, many = one + "s") => `${formatCount(n)} ${n === 1 ? one : many}`;

/** formatShort returns a number in at most five characters, for axes. */
export function formatShort(n) {
  const size = Math.abs(n);
  if (size >= 1e9) return trim(n / 1e9) + " G";
  if (size >= 1e6) return trim(n / 1e6) + " M";
  if (size >= 1e4) return trim(n / 1e3) + " k";
  return size >= 100 ? formatCount(Math.round(n)) : String(Number(n.toPrecision(3)));
}

/** formatShare returns a part of a whole as percent; a dash where there is no whole. */
export function formatShare(part, whole = 1) {
  if (part == null || !whole) return "–";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  if (percent < 100 && percent > 99.9) return "> 99.9 %";
  return `${Number(percent.toFixed(1))} %`;
}

export const formatMillis = (ms) => (ms == null || Number.isNaN(ms) ? "–" : `${trim(ms)} ms`);

/** formatGain returns how many bytes go out for each that comes in. */
export const formatGain = (x) => (x == null || !Number.isFinite(x) ? "–" : `${Number(x.toPrecision(3))}×`);

export function formatBytes(n) {
  if (n == null) return "–";
  if (n < 1024) return `${formatCount(Math.round(n))} B`;
  for (const unit of ["KiB", "MiB", "GiB"]) {
    n /= 1024;
    if (n < 1024 || unit === "GiB") return `${trim(n)} ${unit}`;
  }
}
