// What every view has: the report, its source, the route, the chosen range and the zone.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { formatClock, formatSpan, formatTime, formatDate } from "../model/time.js";

export const Page = createContext(null);
export const usePage = () => useContext(Page);

/** useClock returns functions that format times as short as the capture allows: without the
 * day where all of it is of one day. */
export function useClock() {
  const { report, prefs } = usePage();
  const { first, last, interval } = report.timeline;
  const sameDay = formatDate(first, prefs.zone) === formatDate(last, prefs.zone);
  const digits = interval < 0.001 ? 6 : interval < 1 ? 3 : 0;
  const format = sameDay ? formatClock : formatTime;
  return {
    exact: (t) => format(t, prefs.zone, 6),
    time: (t) => format(t, prefs.zone, 3),
    coarse: (t) => format(t, prefs.zone, digits),
    span: (a, b) => `${format(a, prefs.zone, digits)} to ${format(b, prefs.zone, digits)} (${formatSpan(b - a)})`,
    day: formatDate(first, prefs.zone),
  };
}
