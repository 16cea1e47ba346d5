// What the programs of the fan-out bench tell each other over HTTP.

/** Wall-clock ms with fractions: clocks of processes of one machine agree. */
export const wallMs = (): number => performance.timeOrigin + performance.now();

export interface Followed {
  /** When the last of all streams had acknowledged it, `wallMs`. */
  readonly lastAt: number;
  /** The push as it came, encoded, in base64. */
  readonly bytes: string;
}
