// Decisions over time, stacked by outcome. A part of the time can be chosen: with the pointer (a click, or a drag), or
// with the keyboard (arrows move, with Shift they extend, Enter chooses, Escape lets go).
import { useElementSize } from '@mantine/hooks';
import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { serverNow } from '../api/clock.ts';
import css from './histogram.module.css';
import { type Outcome, outcomeColour, outcomes, outcomeWords } from './outcome.tsx';

export interface Bucket {
  /** ISO 8601: its start. */
  readonly at: string;
  readonly counts: Readonly<Record<Outcome, number>>;
}

interface HistogramProps {
  /** Without gaps, oldest first. */
  readonly buckets: readonly Bucket[];
  readonly bucketMs: number;
  /** `until`: exclusive. */
  readonly onChoose: (since: string, until: string) => void;
  /** Whether it is within a box, which has a frame. */
  readonly isInside?: boolean;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

const height = 88;

const totalOf = ({ counts }: Bucket): number => outcomes.reduce((sum, outcome) => sum + counts[outcome], 0);

export function Histogram({ buckets, bucketMs, onChoose, isInside = false }: HistogramProps) {
  const { ref, width } = useElementSize<HTMLDivElement>();
  const most = Math.max(1, ...buckets.map(totalOf));
  const step = width / Math.max(1, buckets.length);
  const words = wordsOf(buckets, bucketMs);

  const { range, handlers } = useBrush(buckets.length, step, ({ from, to }) => {
    const first = buckets[Math.min(from, to)];
    const last = buckets[Math.max(from, to)];
    if (first !== undefined && last !== undefined) onChoose(first.at, new Date(Date.parse(last.at) + bucketMs).toISOString());
  });
  const shown = range === null ? undefined : buckets[range.to];
  return (
    <div className={isInside ? `${css.whole} ${css.inside}` : css.whole}>
      <div
        ref={ref}
        className={css.plot}
        style={{ height }}
        role="slider"
        tabIndex={0}
        aria-label="Decisions over time; choose a part of it"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, buckets.length - 1)}
        aria-valuenow={range?.to ?? Math.max(0, buckets.length - 1)}
        aria-valuetext={shown === undefined ? 'nothing chosen' : bucketWords(shown, words)}
        {...handlers}
      >
        <svg width="100%" height={height} aria-hidden="true">
          {range !== null && (
            <rect
              x={Math.min(range.from, range.to) * step}
              width={(Math.abs(range.to - range.from) + 1) * step}
              height={height}
              className={css.chosen}
            />
          )}
          {buckets.map((bucket, index) => (
            <Bar key={bucket.at} bucket={bucket} x={index * step} width={step} most={most} />
          ))}
        </svg>
      </div>
      <div className={css.axis} aria-hidden="true">
        <span>{buckets[0] !== undefined && words.format(new Date(buckets[0].at))}</span>
        <span className={css.shown}>{shown === undefined ? peakOf(buckets, bucketMs) : bucketWords(shown, words)}</span>
        <span>{endWords(buckets, bucketMs, words)}</span>
      </div>
    </div>
  );
}

/** `count`: of the bars; `step`: the width of one. */
function useBrush(count: number, step: number, onChoose: (range: Range) => void) {
  const [range, setRange] = useState<Range | null>(null);
  const [isDragging, setDragging] = useState(false);
  const last = count - 1;
  const within = (at: number): number => Math.min(Math.max(at, 0), last);
  const choose = (chosen: Range): void => {
    setRange(null);
    onChoose(chosen);
  };
  const move = (by: number, isLonger: boolean): void => {
    const to = range === null ? last : within(range.to + by);
    setRange({ from: isLonger && range !== null ? range.from : to, to });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => move(-1, event.shiftKey),
      ArrowRight: () => move(1, event.shiftKey),
      Home: () => setRange({ from: 0, to: 0 }),
      End: () => setRange({ from: last, to: last }),
      Enter: () => range !== null && choose(range),
      Escape: () => setRange(null),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const indexAt = ({ clientX, currentTarget }: PointerEvent<HTMLDivElement>): number =>
    within(Math.floor((clientX - currentTarget.getBoundingClientRect().left) / step));
  const handlers = {
    onKeyDown,
    onBlur: () => setRange(null),
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      setDragging(true);
      const at = indexAt(event);
      setRange({ from: at, to: at });
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      const to = indexAt(event);
      setRange((before) => (isDragging && before !== null ? { ...before, to } : { from: to, to }));
    },
    onPointerUp: () => {
      setDragging(false);
      if (isDragging && range !== null) choose(range);
    },
    onPointerCancel: () => setDragging(false),
    onPointerLeave: () => {
      if (!isDragging) setRange(null);
    },
  };
  return { range, handlers };
}

const minuteWords = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const hourWords = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
const dayWords = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The end of the time that is shown. The last bar may not be over yet. */
function endWords(buckets: readonly Bucket[], bucketMs: number, words: Intl.DateTimeFormat): string {
  const last = buckets.at(-1);
  if (last === undefined) return '';
  const end = Date.parse(last.at) + bucketMs;
  if (end > serverNow()) return 'now';
  // A day is named by itself, and not by the day after it.
  return words.format(new Date(bucketMs < 86_400_000 ? end : last.at));
}

/** With the date, if not all bars are of today. */
function wordsOf(buckets: readonly Bucket[], bucketMs: number): Intl.DateTimeFormat {
  if (bucketMs >= 86_400_000) return dayWords;
  return new Date(buckets[0]?.at ?? Date.now()).toDateString() === new Date().toDateString() ? minuteWords : hourWords;
}

/** Such as `peak: 90 calls in a minute`. */
function peakOf(buckets: readonly Bucket[], bucketMs: number): string {
  const most = Math.max(0, ...buckets.map(totalOf));
  if (most === 0) return 'no calls';
  const every = bucketMs === 60_000 ? 'a minute' : bucketMs === 3_600_000 ? 'an hour' : bucketMs === 86_400_000 ? 'a day' : 'one bar';
  return `peak: ${many(most, 'call')} in ${every}`;
}

const many = (count: number, noun: string): string => `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`;

/** Such as `14:05: 12 denied, 40 allowed`. */
function bucketWords(bucket: Bucket, words: Intl.DateTimeFormat): string {
  const counts = outcomes
    .filter((outcome) => bucket.counts[outcome] > 0)
    .map((outcome) => `${bucket.counts[outcome].toLocaleString()} ${outcomeWords[outcome]}`);
  return `${words.format(new Date(bucket.at))}: ${counts.length === 0 ? 'no calls' : counts.reverse().join(', ')}`;
}

interface BarProps {
  readonly bucket: Bucket;
  readonly x: number;
  readonly width: number;
  readonly most: number;
}

/** What was denied is at the foot, so that its height can be compared from bar to bar. */
function Bar({ bucket, x, width, most }: BarProps) {
  let y = height;
  return (
    <>
      {outcomes.toReversed().map((outcome) => {
        const count = bucket.counts[outcome];
        if (count === 0) return null;
        const tall = Math.max(1.5, (count / most) * (height - 4));
        y -= tall;
        const gap = width > 4 ? 1 : 0;
        return (
          <rect
            key={outcome}
            x={x + gap / 2}
            y={y}
            width={Math.max(0.5, width - gap)}
            height={tall}
            fill={outcomeColour(outcome)}
            opacity={outcome === 'allow' ? 0.45 : 1}
          />
        );
      })}
    </>
  );
}
