// A line of small bars: how many calls there were over a time. The numbers stand next to it, so it is hidden from screen
// readers.
interface SparkProps {
  readonly counts: readonly { readonly at: string; readonly count: number }[];
  readonly since: string;
  readonly until: string;
  readonly every: 'minute' | 'hour' | 'day';
  readonly colour: string;
}

const bucketMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const width = 72;
const height = 18;
const barsMax = 72;

export function Spark({ counts, since, until, every, colour }: SparkProps) {
  const from = Date.parse(since);
  const buckets = Math.max(1, Math.ceil((Date.parse(until) - from) / bucketMs[every]));
  const bars = Math.min(barsMax, buckets);
  const sums = Array.from({ length: bars }, () => 0);
  for (const { at, count } of counts) {
    const bar = Math.floor(((Date.parse(at) - from) / bucketMs[every] / buckets) * bars);
    if (bar >= 0 && bar < bars) sums[bar] = (sums[bar] ?? 0) + count;
  }
  const most = Math.max(1, ...sums);
  const step = width / bars;
  return (
    <svg className="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path d={`M0 ${height - 0.5}H${width}`} stroke="var(--line)" />
      {sums.map((sum, at) =>
        sum === 0 ? null : (
          <rect
            key={at}
            x={at * step}
            width={Math.max(1, step - 0.5)}
            y={height - Math.max(2, (sum / most) * height)}
            height={Math.max(2, (sum / most) * height)}
            fill={colour}
          />
        ),
      )}
    </svg>
  );
}
