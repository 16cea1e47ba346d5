// Defines a sidecar as operators see it, and what it can report about itself. Only the form of the reported values is
// checked, not whether they are true. Pure.
import { bounds, capabilitiesProblem, nameProblem, ownText, type RevisionName } from '@tollgate/proto/contract';
import { isInstant } from '../../base/instant.ts';

/** The status that a sidecar reports. `unrecorded` and `outageDecisions` count from the start of its process. */
export interface SidecarStatus {
  /** The number of records on disk that the control plane has not acknowledged. */
  readonly spoolRecords: number;
  readonly spoolBytes: number;
  /** The time since the oldest unacknowledged record was written. */
  readonly spoolAgeMs: number;
  /**
   * Decisions whose entries could not be written. Their calls were denied, or continued if the workspace permits that.
   */
  readonly unrecorded: number;
  /** Decisions with a policy that is older than the outage rule permits. */
  readonly outageDecisions: number;
  /** Spools that the control plane refuses, and their unacknowledged records. */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
  readonly version: string;
  /** How far its clock is ahead of that of the control plane; negative: behind. Absent or null: it does not report it. */
  readonly clock?: { readonly aheadSeconds: number } | null;
}

export interface SidecarNack {
  readonly code: string;
  readonly message: string;
  readonly at: Date;
}

/** What is known about one start of a sidecar, from its latest stream. */
export interface SidecarSeen {
  readonly workspaceId: number;
  readonly keyId: string;
  readonly bootId: string;
  readonly streamId: string;
  readonly sidecarId: string;
  readonly form: 'process' | 'library';
  /** The control plane to which it is connected. */
  readonly controlPlane: string;
  readonly connectedAt: Date;
  /** The time at which the sidecar disconnected. Null: it is connected, as far as `controlPlane` knows. */
  readonly leftAt: Date | null;
  /** The revision of the policy that the sidecar holds, according to its own report. */
  readonly held: RevisionName | null;
  readonly lastNack: SidecarNack | null;
  readonly status: SidecarStatus | null;
  /** The capabilities that the sidecar named in its hello. */
  readonly capabilities: readonly string[];
}

/** A sidecar as it is read from the database, for the list of sidecars. */
export interface ListedSidecar extends Omit<SidecarSeen, 'workspaceId' | 'streamId' | 'leftAt' | 'capabilities'> {
  /**
   * Capabilities that the policies in this database need and the sidecar lacks. Rules that use one of them are sent to
   * the sidecar as denials.
   */
  readonly lacks: readonly string[];
  readonly connected: boolean;
  readonly lastSeen: Date;
  /**
   * How far the sidecar is behind the newest revision. Null: it holds no revision, or one that this database never
   * made.
   */
  readonly lag: { readonly revisions: number; readonly seconds: number } | null;
}

/**
 * The position of a sidecar in the list. Connected sidecars come first. The connected ones and the others are each
 * sorted by name, and those with the same name by connection time, the latest first.
 */
export type SidecarPosition = Pick<ListedSidecar, 'connected' | 'sidecarId' | 'connectedAt' | 'bootId' | 'keyId'>;

export const sidecarCursorOf = ({ connected, sidecarId, connectedAt, bootId, keyId }: SidecarPosition): string =>
  Buffer.from(`${connected ? 1 : 0} ${connectedAt.getTime()} ${bootId} ${keyId} ${sidecarId}`).toString('base64url');

const cursorForm = /^([01]) (\d{1,15}) ([\w.:-]{1,100}) ([\w.:-]{1,100}) ([^\0]{1,200})$/u;

export function parseSidecarCursor(text: string): SidecarPosition | null {
  const [, connected, ms, bootId, keyId, sidecarId] = cursorForm.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? [];
  if (bootId === undefined || keyId === undefined || sidecarId === undefined || !isInstant(Number(ms))) return null;
  return { connected: connected === '1', sidecarId, connectedAt: new Date(Number(ms)), bootId, keyId };
}

/** How often a control plane reports that a sidecar is still connected, and how long this report is valid. */
export const presence = { refreshMs: 15_000, believedMs: 45_000 } as const;
/** How many disconnected sidecars are kept for each workspace, and for how many days. */
export const sidecarBounds = { left: 1_000, leftDays: 7 } as const;

const idForm = /^[\w.:-]{1,100}$/;

/** Returns the problem with a hello, in words for the sidecar's operator. Null: there is no problem. */
export function helloProblem({ sidecarId, bootId, held, heldHash, capabilities }: ClaimedHello): string | null {
  const named = nameProblem(sidecarId);
  if (named !== null) return `hello.sidecar_id ${named}`;
  const unnamed = capabilitiesProblem(capabilities);
  if (unnamed !== null) return unnamed;
  if (!idForm.test(bootId)) return 'hello.boot_id must be 1 to 100 letters, digits and . _ : -';
  // The length is checked, because the hash stays in memory as long as the stream is open.
  if (heldHash.length !== 0 && heldHash.length !== hashBytes) return `hello.held_hash must be ${hashBytes} bytes, is ${heldHash.length}`;
  if (held == null) return null;
  if (!idForm.test(held.epoch)) return 'hello.held.epoch must be 1 to 100 letters, digits and . _ : -';
  return Number.isSafeInteger(held.number) && held.number >= 0 ? null : 'hello.held.number must be the number of a revision';
}

interface ClaimedHello {
  readonly sidecarId: string;
  readonly bootId: string;
  readonly held?: RevisionName | null;
  readonly heldHash: Uint8Array;
  readonly capabilities: readonly string[];
}

const hashBytes = 32;

const counts = ['spoolRecords', 'spoolBytes', 'spoolAgeMs', 'unrecorded', 'outageDecisions', 'refusedSpools', 'refusedRecords'] as const;
const versionForm = /^[\w.+-]{1,64}$/;

/** Returns the problem with a status. Null: there is no problem. */
export function statusProblem(status: SidecarStatus): string | null {
  const wrong = counts.find((name) => !Number.isSafeInteger(status[name]) || status[name] < 0);
  if (wrong !== undefined) return `status.${wrong} must be a count, is ${status[wrong]}`;
  const ahead = status.clock?.aheadSeconds ?? 0;
  if (!Number.isSafeInteger(ahead)) return `status.clock.ahead_seconds must be a number of seconds, is ${ahead}`;
  return versionForm.test(status.version) ? null : 'status.version must be 1 to 64 letters, digits and . _ + -';
}

const codeForm = /^[a-z_]{1,40}$/;
/**
 * Returns the code of a refusal in a form that can be shown. Any code that is not a short lower-case word becomes
 * `other`.
 */
export const nackCodeOf = (code: string): string => (codeForm.test(code) ? code : 'other');
const unseemly = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** Returns a refusal whose message can be stored and shown. */
export const nackOf = (code: string, message: string, at: Date): SidecarNack => ({
  code: nackCodeOf(code),
  message: ownText(message.slice(0, bounds.nackMessageLength)).replaceAll(unseemly, '\uFFFD'),
  at,
});

/**
 * Returns whether a sidecar sends its status more often than once per `bounds.statusMs`. A few extra messages are
 * permitted, because delayed messages may arrive together.
 */
export const isTalkative = (statuses: number, elapsedMs: number): boolean => statuses > elapsedMs / bounds.statusMs + burst;

const burst = 5;

export type Lag = '0' | '1' | '2-9' | '10+' | 'nothing';
export const lags: readonly Lag[] = ['0', '1', '2-9', '10+', 'nothing'];

/**
 * Returns how many revisions a sidecar is behind, as the metrics show it. `nothing`: it holds no revision, or a
 * revision from another history. A revision is from another history if its epoch differs, or if it is newer than the
 * newest revision. The second case happens after a backup was restored without `tollgate restore`. It also happens for
 * a moment if another control plane has sent a revision that this one does not know yet.
 */
export function lagOf(held: RevisionName | null, newest: RevisionName | null): Lag {
  if (held === null) return 'nothing';
  if (newest !== null && (held.epoch !== newest.epoch || held.number > newest.number)) return 'nothing';
  const behind = newest === null ? 0 : newest.number - held.number;
  if (behind === 0) return '0';
  if (behind === 1) return '1';
  return behind < 10 ? '2-9' : '10+';
}
