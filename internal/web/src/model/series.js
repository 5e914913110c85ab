// Sums and quantiles over points of the timeline. An array may be shorter than the timeline:
// what is missing at its end is zero.

/** sum adds the points from a to b, b excluded. */
export function sum(values, a, b) {
  let total = 0;
  for (let i = a; i < b && i < (values?.length ?? 0); i++) total += values[i] ?? 0;
  return total;
}

/** addPoints adds arrays point by point. */
export function addPoints(arrays, points) {
  const total = new Array(points).fill(0);
  for (const values of arrays) for (let i = 0; i < (values?.length ?? 0); i++) total[i] += values[i] ?? 0;
  return total;
}

/** mergeTimes adds the response times of the points from a to b, as [bucket, count]. Of a point
 * there are its first bucket and the counts from that on. */
export function mergeTimes(lists, a, b) {
  const counts = new Map();
  for (const rtt of lists)
    for (let i = a; i < b && i < (rtt?.length ?? 0); i++)
      for (let k = 1; k < (rtt[i]?.length ?? 0); k++)
        if (rtt[i][k]) counts.set(rtt[i][0] + k - 1, (counts.get(rtt[i][0] + k - 1) ?? 0) + rtt[i][k]);
  return [...counts].sort((x, y) => x[0] - y[0]);
}

/** quantile returns the value below which the share q of the buckets' contents lies, NaN
 * without any. Within a bucket times are taken as spread evenly. */
export function quantile(buckets, q, bounds) {
  const total = buckets.reduce((n, [, count]) => n + count, 0);
  let rest = q * total;
  for (const [bucket, count] of buckets) {
    const low = bounds[bucket] ?? 0;
    const high = bounds[bucket + 1] ?? low * 1.125;
    if (rest <= count) return low + (high - low) * (rest / count);
    rest -= count;
  }
  return NaN;
}

/** quantilePoints returns the quantile of each point, null where nothing was answered. */
export function quantilePoints(lists, q, bounds, points) {
  return Array.from({ length: points }, (_, i) => {
    const value = quantile(mergeTimes(lists, i, i + 1), q, bounds);
    return Number.isNaN(value) ? null : value;
  });
}
