// A sidecar as the people who look after it see it, and what it may say of itself: all of it is its own word. Pure.
import { bounds, capabilitiesProblem, nameProblem, ownText, type RevisionName } from '@tollgate/proto/contract';
import { isInstant } from '../instant.ts';

/** How a sidecar says that it is. Counts are since its process began. */
export interface SidecarStatus {
  /** Records on disk that are not acknowledged. */
  readonly spoolRecords: number;
  readonly spoolBytes: number;
  /** Since the oldest of them was written. */
  readonly spoolAgeMs: number;
  /** Decisions whose entries could not be written: calls denied for it, or let go on where the workspace allows that. */
  readonly unrecorded: number;
  /** Decisions made by a policy older than the outage rule allows. */
  readonly outageDecisions: number;
  /** Spools that the control plane does not take, and what is unacknowledged in them. */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
  readonly version: string;
}

export interface SidecarNack {
  readonly code: string;
  readonly message: string;
  readonly at: Date;
}

/** One start of a sidecar, on the stream that it was last known by. */
export interface SidecarSeen {
  readonly workspaceId: number;
  readonly keyId: string;
  readonly bootId: string;
  readonly streamId: string;
  readonly sidecarId: string;
  readonly form: 'process' | 'library';
  /** Which control plane it follows. */
  readonly controlPlane: string;
  readonly connectedAt: Date;
  /** Null: it is connected as far as that control plane knows. */
  readonly leftAt: Date | null;
  /** What it holds, as it says. */
  readonly held: RevisionName | null;
  readonly lastNack: SidecarNack | null;
  readonly status: SidecarStatus | null;
  /** As its hello named them. */
  readonly capabilities: readonly string[];
}

/** The same, from the database. */
export interface ListedSidecar extends Omit<SidecarSeen, 'workspaceId' | 'streamId' | 'leftAt' | 'capabilities'> {
  /** Capabilities that something in this database needs: rules that use them are sent to it as denials. */
  readonly lacks: readonly string[];
  readonly connected: boolean;
  readonly lastSeen: Date;
  /** Behind the newest revision; null where it holds nothing, or what this database never made. */
  readonly lag: { readonly revisions: number; readonly seconds: number } | null;
}

/** Where one stands in the list: those that are connected first, by name, of each name the latest first. */
export type SidecarPosition = Pick<ListedSidecar, 'connected' | 'sidecarId' | 'connectedAt' | 'bootId' | 'keyId'>;

export const sidecarCursorOf = ({ connected, sidecarId, connectedAt, bootId, keyId }: SidecarPosition): string =>
  Buffer.from(`${connected ? 1 : 0} ${connectedAt.getTime()} ${bootId} ${keyId} ${sidecarId}`).toString('base64url');

const cursorForm = /^([01]) (\d{1,15}) ([\w.:-]{1,100}) ([\w.:-]{1,100}) ([^\0]{1,200})$/u;

export function parseSidecarCursor(text: string): SidecarPosition | null {
  const [, connected, ms, bootId, keyId, sidecarId] = cursorForm.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? [];
  if (bootId === undefined || keyId === undefined || sidecarId === undefined || !isInstant(Number(ms))) return null;
  return { connected: connected === '1', sidecarId, connectedAt: new Date(Number(ms)), bootId, keyId };
}

/** How often a control plane says of a sidecar that it is still there, and how long it is believed. */
export const presence = { refreshMs: 15_000, believedMs: 45_000 } as const;
/** How many of those that have left are kept of a workspace, and for how long. */
export const sidecarBounds = { left: 1_000, leftDays: 7 } as const;

const idForm = /^[\w.:-]{1,100}$/;

/** What is wrong with a hello, in words for its operator; null: nothing. */
export function helloProblem({ sidecarId, bootId, held, heldHash, capabilities }: Claimed): string | null {
  const named = nameProblem(sidecarId);
  if (named !== null) return `hello.sidecar_id ${named}`;
  const unnamed = capabilitiesProblem(capabilities);
  if (unnamed !== null) return unnamed;
  if (!idForm.test(bootId)) return 'hello.boot_id must be 1 to 100 letters, digits and . _ : -';
  // It is kept as long as the stream.
  if (heldHash.length !== 0 && heldHash.length !== hashBytes) return `hello.held_hash must be ${hashBytes} bytes, is ${heldHash.length}`;
  if (held == null) return null;
  if (!idForm.test(held.epoch)) return 'hello.held.epoch must be 1 to 100 letters, digits and . _ : -';
  return Number.isSafeInteger(held.number) && held.number >= 0 ? null : 'hello.held.number must be that of a revision';
}

interface Claimed {
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
/** The code of a refusal as it may be shown: a word, whatever the sidecar says. */
export const nackCodeOf = (code: string): string => (codeForm.test(code) ? code : 'other');
const unseemly = /[\p{Cc}\p{Cf}\p{Cs}]/gu;

/** A refusal in words that can be stored and shown. */
export const nackOf = (code: string, message: string, at: Date): SidecarNack => ({
  code: nackCodeOf(code),
  message: ownText(message.slice(0, bounds.nackMessageLength)).replaceAll(unseemly, '\uFFFD'),
  at,
});

/** Says no oftener than `bounds.statusMs` how it is; a few that were held up may come at once. */
export const isTalkative = (statuses: number, elapsedMs: number): boolean => statuses > elapsedMs / bounds.statusMs + burst;

const burst = 5;

export type Lag = '0' | '1' | '2-9' | '10+' | 'nothing';
export const lags: readonly Lag[] = ['0', '1', '2-9', '10+', 'nothing'];

/**
 * How far behind, as the metrics tell it. What is of another past is worth nothing: of another epoch, or newer than there is, as after
 * a backup was put back without `tollgate restore`; for a moment also where another control plane has told of more than is known here.
 */
export function lagOf(held: RevisionName | null, newest: RevisionName | null): Lag {
  if (held === null) return 'nothing';
  if (newest !== null && (held.epoch !== newest.epoch || held.number > newest.number)) return 'nothing';
  const behind = newest === null ? 0 : newest.number - held.number;
  if (behind === 0) return '0';
  if (behind === 1) return '1';
  return behind < 10 ? '2-9' : '10+';
}
