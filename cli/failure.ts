// An error that a person must read when a command cannot do its work: what happened, where, and what would be correct.
// It never contains a secret. Any other thrown error is a bug of ours.
export class Failure extends Error {
  override readonly name = 'Failure';
  /** Printed below the message, one line each. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = [], cause?: unknown) {
    super(message, { cause });
    this.details = details;
  }
}

/** The network or the control plane was unavailable. A later retry may succeed. */
export class Outage extends Failure {}
