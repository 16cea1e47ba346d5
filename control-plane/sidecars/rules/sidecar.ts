// A sidecar as operators see it, and what it can report about itself. All of it is reported by the sidecar and not
// verified. Pure.
import { bounds, capabilitiesProblem, nameProblem, ownText, type RevisionName } from '@tollgate/proto/contract';
import { isInstant } from '../../base/instant.ts';

/** The status that a sidecar reports. Counts start with its process. */
export interface SidecarStatus {
  /** Unacknowledged records on disk. */
  readonly spoolRecords: number;
  readonly spoolBytes: number;
  /** The time since the oldest of them was written. */
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
}

export interface SidecarNack {
  readonly code: string;
  readonly message: string;
  readonly at: Date;
}

/** One start of a sidecar, on its last known stream. */
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
  /** Null: it is connected, as far as that control plane knows. */
  readonly leftAt: Date | null;
  /** The revision that it reports as held. */
  readonly held: RevisionName | null;
  readonly lastNack: SidecarNack | null;
  readonly status: SidecarStatus | null;
  /** As in its hello. */
  readonly capabilities: readonly string[];
}

/** The same, as read from the database. */
export interface ListedSidecar extends Omit<SidecarSeen, 'workspaceId' | 'streamId' | 'leftAt' | 'capabilities'> {
  /** Capabilities that this database needs and the sidecar lacks. Rules that use them are sent to it as denials. */
  readonly lacks: readonly string[];
  readonly connected: boolean;
  readonly lastSeen: Date;
  /**
   * How far it is behind the newest revision; null if it holds nothing, or a revision that this database never made.
   */
  readonly lag: { readonly revisions: number; readonly seconds: number } | null;
}

/** The position of a sidecar in the list: connected ones first, by name, and within a name the latest first. */
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
/** How many sidecars that have left are kept for each workspace, and for how long. */
export const sidecarBounds = { left: 1_000, leftDays: 7 } as const;

const idForm = /^[\w.:-]{1,100}$/;

/** What is wrong with a hello, in words for its operator; null: nothing. */
export function helloProblem({ sidecarId, bootId, held, heldHash, capabilities }: ClaimedHello): string | null {
  const named = nameProblem(sidecarId);
  if (named !== null) return `hello.sidecar_id ${named}`;
  const unnamed = capabilitiesProblem(capabilities);
  if (unnamed !== null) return unnamed;
  if (!idForm.test(bootId)) return 'hello.boot_id must be 1 to 100 letters, digits and . _ : -';
  // The hash is held as long as the stream.
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

/** What is wrong with a status; null: nothing. */
export function statusProblem(status: SidecarStatus): string | null {
  const wrong = counts.find((name) => !Number.isSafeInteger(status[name]) || status[name] < 0);
  if (wrong !== undefined) return `status.${wrong} must be a count, is ${status[wrong]}`;
  return versionForm.test(status.version) ? null : 'status.version must be 1 to 64 letters, digits and . _ + -';
}

const codeForm = /^[a-z_]{1,40}$/;
/** The code of a refusal in a form that can be shown: a word, whatever the sidecar sends. */
export const nackCodeOf = (code: string): string => (codeForm.test(code) ? code : 'other');
const unseemly = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** A refusal with a message that can be stored and shown. */
export const nackOf = (code: string, message: string, at: Date): SidecarNack => ({
  code: nackCodeOf(code),
  message: ownText(message.slice(0, bounds.nackMessageLength)).replaceAll(unseemly, '\uFFFD'),
  at,
});

/** Whether it sends its status more often than every `bounds.statusMs`. A few delayed messages may arrive at once. */
export const isTalkative = (statuses: number, elapsedMs: number): boolean => statuses > elapsedMs / bounds.statusMs + burst;

const burst = 5;

export type Lag = '0' | '1' | '2-9' | '10+' | 'nothing';
export const lags: readonly Lag[] = ['0', '1', '2-9', '10+', 'nothing'];

/**
 * How far a sidecar is behind, as the metrics show it. A revision from another history counts as nothing: one of
 * another epoch, or one that is newer than the newest revision, for example after a backup was restored without
 * `tollgate restore`. This can also happen for a moment if another control plane has sent a revision that is not known
 * here yet.
 */
export function lagOf(held: RevisionName | null, newest: RevisionName | null): Lag {
  if (held === null) return 'nothing';
  if (newest !== null && (held.epoch !== newest.epoch || held.number > newest.number)) return 'nothing';
  const behind = newest === null ? 0 : newest.number - held.number;
  if (behind === 0) return '0';
  if (behind === 1) return '1';
  return behind < 10 ? '2-9' : '10+';
}
