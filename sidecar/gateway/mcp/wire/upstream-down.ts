// Why nothing comes of a tool server, in words for callers: it is away, or says more than is read.

/** A tool server cannot be reached, or not any more. Its message is for callers: no address, no secret. */
export class UpstreamDown extends Error {
  override readonly name = 'UpstreamDown';
}

/** It says more at once than is read of it: `what`, after `the tool server sent` or `wrote`. */
export class MessageTooLarge extends UpstreamDown {
  readonly what: string;

  constructor(what: string) {
    super(`the tool server sent ${what}`);
    this.what = what;
  }
}
