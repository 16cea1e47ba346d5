// Defines the only error with which an entry is refused. `govern/recorded.ts` turns it into the denial
// `audit_unavailable`, or
// counts the loss if the workspace chose to continue without audit. Every cause except `unconfirmed` means that there
// is no entry.

export type UnavailableCause =
  /** The spool has reached its maximum number of bytes. */
  | 'full'
  /** The disk refused the write, or accepted only a part of it. Nothing of the record is kept. */
  | 'unwritable'
  /** The record is empty or larger than `recordBytesMax`. */
  | 'oversized'
  /** Too many records wait for the disk, or too many callers wait for the control plane. */
  | 'busy'
  /**
   * The entry is written here and will be shipped. It is not known in time whether the control plane has committed it.
   */
  | 'unconfirmed'
  | 'closed';

export class AuditUnavailable extends Error {
  readonly kind = 'audit_unavailable';
  readonly why: UnavailableCause;

  constructor(why: UnavailableCause, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AuditUnavailable';
    this.why = why;
  }
}
