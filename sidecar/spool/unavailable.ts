// The one way in which an entry is refused. The gateway turns it into the deny `audit_unavailable`, or counts
// the loss where the workspace chose to go on without audit. All but `unconfirmed` mean that there is no entry.

export type UnavailableCause =
  /** The spool holds as many bytes as it may. */
  | 'full'
  /** The disk refused, or took only a part; nothing of the record is kept. */
  | 'unwritable'
  /** The record is empty or above `recordBytesMax`. */
  | 'oversized'
  /** Too many records wait for the disk, or too many callers for the control plane. */
  | 'busy'
  /** It is written here and will be shipped; whether the control plane has committed it is not known in time. */
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
