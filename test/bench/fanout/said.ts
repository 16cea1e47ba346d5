// The messages that the programs of the fan-out bench exchange over HTTP.

/** Wall-clock ms with fractions: the clocks of processes on one machine agree. */
export const wallTimeMs = (): number => performance.timeOrigin + performance.now();

export interface FollowReport {
  /** When the last of all streams acknowledged it, in `wallTimeMs`. */
  readonly lastAt: number;
  /** The push as received, encoded, in base64. */
  readonly bytes: string;
}
