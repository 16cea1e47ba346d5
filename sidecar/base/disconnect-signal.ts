/** Signals that a caller has disconnected. An `AbortSignal` implements this. */
export interface DisconnectSignal {
  readonly aborted: boolean;
  /** `listener` is called when the caller disconnects. It may be called more than once. */
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void;
  removeEventListener?(type: 'abort', listener: () => void): void;
}
