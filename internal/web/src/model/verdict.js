// The verdict in words: the answer first, then what was examined, so that "no floods" is a
// fact with a scope.
import { counted, formatShare } from "./number.js";
import { formatSpan } from "./time.js";
import { findingGroups } from "./rows.js";

// shortest is the length of captures below which it is unknown what is usual: as `floods` has it.
const shortest = 30;

const advice = "qsniff looks for queries on all ports; -d udp.port==N,PROTOCOL names one to try harder on. " +
  "Was the capture taken at the server, without a filter that leaves queries out?";

/** verdictOf returns {level, headline, scope, caveats}. */
export function verdictOf(report) {
  const { stats, incidents } = report;
  if (!stats.packets) return { level: "none", headline: report.isLive ? "No packets yet" : "The capture has no packets", scope: "", caveats: [] };
  if (!stats.requests && !stats.replies && incidents.length === 0)
    return { level: "none", headline: report.isLive ? `No query traffic in the last ${formatSpan(stats.duration_s)}` : "No query traffic in this capture", scope: scopeOf(report), caveats: [...caveatsOf(report), advice] };
  const at = (level) => incidents.filter((x) => x.level === level);
  const [alerts, warnings] = [at("alert"), at("warn")];
  const groups = findingGroups(report).filter((g) => g.severity === "error");
  return {
    level: alerts.length ? "alert" : warnings.length || groups.length ? "warn" : "calm",
    headline: headline(alerts, warnings, groups.length, report.isLive),
    scope: scopeOf(report),
    caveats: caveatsOf(report),
  };
}

function headline(alerts, warnings, errors, isLive) {
  const parts = [...partsOf(alerts, "attack", isLive), ...partsOf(warnings, "warning", isLive)];
  if (parts.length === 0) parts.push("No floods");
  if (errors) parts.push(`${counted(errors, "kind")} of error in what clients and servers sent`);
  return parts.join(", ");
}

// partsOf says how many there are, and of a program that runs on how many of them go on.
function partsOf(all, word, isLive) {
  if (!isLive) return all.length ? [counted(all.length, word)] : [];
  const over = all.filter((x) => x.end);
  const parts = [];
  if (all.length > over.length) parts.push(`${counted(all.length - over.length, word)} going on`);
  if (over.length) parts.push(`${counted(over.length, word)} over`);
  return parts;
}

function scopeOf({ stats, isLive }) {
  const servers = (stats.servers?.length ?? 0) + (stats.servers_not_listed ?? 0);
  const decided = (stats.replied ?? 0) + (stats.unanswered ?? 0);
  const parts = [
    `${isLive ? `the last ${formatSpan(stats.duration_s)}` : `${formatSpan(stats.duration_s)} of capture`}, ${counted(stats.packets, "packet")}`,
    stats.requests || stats.replies
      ? `${counted(stats.requests ?? 0, "query", "queries")} to ${counted(servers, "server")}, ${counted(stats.replies ?? 0, "reply", "replies")}`
      : "",
  ].filter(Boolean);
  if (decided) parts.push(`${formatShare(stats.replied, decided)} of them got any reply`);
  if (stats.proven) parts.push(`${formatShare(stats.proven_served, stats.proven)} of those of proven clients what they asked for`);
  return parts.join("; ");
}

function caveatsOf({ stats, notes, doc }) {
  const caveats = [];
  const left = doc.left_out?.packets;
  if (left) caveats.push(`To anonymise it, ${counted(left, "packet")} that ${left === 1 ? "is" : "are"} no part of a message ${left === 1 ? "was" : "were"} left out: floods of them do not show.`);
  if (stats.only) caveats.push(`Only ${stats.only} were captured: what was answered cannot be determined.`);
  for (const remark of stats.remarks ?? []) caveats.push(`${remark}.`);
  if (stats.duration_s < shortest)
    caveats.push(`The capture is shorter than ${shortest} s: what is usual here is unknown, which makes verdicts less sure, and short attacks may be missing.`);
  if (stats.interrupted) caveats.push("The run was ended before the end of the capture: what follows is unknown.");
  if (notes.full_tables?.length)
    caveats.push(`Tables were full, so that some of what was seen is not counted: ${notes.full_tables.join(", ")}. More room: --memory SIZE.`);
  const other = notes.other_traffic;
  if (other)
    caveats.push(`Besides queries ${counted(other.packets, "other packet")} came to the hosts of servers` +
      (other.peak_qps ? `, at most ${counted(other.peak_qps, "packet")} in a second${other.class ? ` (${other.class})` : ""} to ${other.target}.` : "."));
  return caveats;
}
