// Counts down to an instant, by the clock of the control plane.
import { Tooltip } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { serverNow } from '../api/clock.ts';

const everyMs = 1_000;
const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

const tick = (): void => {
  now = serverNow();
  for (const listener of listeners) listener();
};

/** One timer for all that count down, so that two of one instant show the same. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    tick();
    timer = setInterval(tick, everyMs);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** Returns the time of the control plane, new each second. */
const useNow = (): number => useSyncExternalStore(subscribe, () => now);

const minute = 60;
const hour = 3_600;
const day = 86_400;
const pad = (count: number): string => String(count).padStart(2, '0');

/** Returns how long a time is: `2 d 4 h`, `3:05:09`, `5:09`. */
function lengthOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  if (seconds >= day) return `${Math.floor(seconds / day)} d ${Math.floor((seconds % day) / hour)} h`;
  const minutes = `${pad(Math.floor((seconds % hour) / minute))}:${pad(seconds % minute)}`;
  return seconds >= hour ? `${Math.floor(seconds / hour)}:${minutes}` : minutes.replace(/^0(?=\d)/, '');
}

const soonMs = 60_000;

interface UntilProps {
  readonly at: string;
  /** What is shown afterwards. */
  readonly ended?: string;
  /** Within a link or a button, which has the focus itself. */
  readonly isPlain?: boolean;
}

export function Until({ at, ended = 'over', isPlain = false }: UntilProps) {
  const left = new Date(at).getTime() - useNow();
  const style = { whiteSpace: 'nowrap', ...(left <= soonMs ? { color: 'var(--outcome-deny)', fontWeight: 650 } : {}) } as const;
  const words = left <= 0 ? ended : lengthOf(left);
  if (isPlain)
    return (
      <time dateTime={at} style={style}>
        {words}
      </time>
    );
  return (
    <Tooltip label={new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC')} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} tabIndex={0} style={style}>
        {words}
      </time>
    </Tooltip>
  );
}
