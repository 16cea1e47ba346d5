// Defines errors of tool servers, with texts for callers: a server is unreachable, or a message exceeds the limits.

/**
 * A tool server cannot be reached, or its connection has ended. The message is for callers: it contains no address and
 * no secret.
 */
export class UpstreamDown extends Error {
  override readonly name = 'UpstreamDown';
}

/** A message exceeds a limit. `what` completes a sentence that begins with `the tool server sent` or `wrote`. */
export class MessageTooLarge extends UpstreamDown {
  readonly what: string;

  constructor(what: string) {
    super(`the tool server sent ${what}`);
    this.what = what;
  }
}
