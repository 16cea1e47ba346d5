// Errors of tool servers, with texts for callers: a server is unreachable, or a message exceeds the limits.

/** A tool server cannot be reached, or no longer. The message is for callers: it contains no address and no secret. */
export class UpstreamDown extends Error {
  override readonly name = 'UpstreamDown';
}

/** A message exceeds the size that is read. `what` follows `the tool server sent` or `wrote`. */
export class MessageTooLarge extends UpstreamDown {
  readonly what: string;

  constructor(what: string) {
    super(`the tool server sent ${what}`);
    this.what = what;
  }
}
