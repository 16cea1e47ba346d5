// What a person must read when a command cannot do its work: what happened, where, and what would be right. It never
// holds a secret. Everything else that is thrown is a bug of ours.
export class Failure extends Error {
  override readonly name = 'Failure';
  /** One line each, below the message. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = [], cause?: unknown) {
    super(message, { cause });
    this.details = details;
  }
}

/** The network or the control plane was not there; the same may work in a while. */
export class Outage extends Failure {}
