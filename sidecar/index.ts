// Exports the library: a sidecar inside the agent's own process. It loads no HTTP server.
import { type Run, type RunOptions, startRun } from './doors/library/library.ts';
import { AppError } from '@tollgate/proto/contract';
import { type LinkTls, optionNames, readTls, type TlsOptions } from './engine/link/tls/options.ts';
import type { Log } from './base/log.ts';
import type { Durability } from './engine/spool/append.ts';
import { startSidecar } from './app/start.ts';

export type { ReasonCode, Tier } from '@tollgate/proto/contract';
export { AppError } from '@tollgate/proto/contract';
export type { StopReason } from './engine/decide/decision.ts';
export type { Remedy } from './engine/decide/remedies.ts';
export type { ClaudeAnswer, ClaudeHook, ClaudeHooks, ClaudeHooksOptions, ClaudeMatcher } from './doors/library/claude-hooks.ts';
export type { CostDenial, CostReservation, CostVerdict } from './engine/limits/costs.ts';
export type { DecideOptions } from './doors/library/guarded.ts';
export type { DelegateOptions, Run, RunOptions } from './doors/library/library.ts';
export { denialKey } from './doors/denial-body.ts';
export type { GuardMcpOptions, McpClient } from './doors/library/mcp-client.ts';
export type { GuardToolSetOptions, ToolSet } from './doors/library/tool-set.ts';
export type { Delivery, Outcome } from './engine/govern/deliver.ts';
export type { ToolCall } from './engine/govern/govern.ts';
export type { TlsOptions } from './engine/link/tls/options.ts';
export { type AskedQuestion, type Denial, denialText, type Permit, ToolDenied, type Verdict } from './engine/govern/verdict.ts';

export interface ConnectOptions {
  /** The gRPC address of the control plane, as `host:port`. */
  readonly controlPlane: string;
  /** A key with the scopes `sidecar.library` and `govern`. To name other users, it also needs `govern.impersonate`. */
  readonly key: string;
  /** Folder of the spool and the last good snapshot. Default `./.tollgate/sidecar`. */
  readonly spoolDir?: string;
  /**
   * What an entry survives before `decide` answers: a kill of the process (default), a power loss, or the loss of this
   * machine. In the last case, `decide` waits at most 5 s until the control plane has committed the entry. Then it
   * denies with `audit_unavailable`.
   */
  readonly durability?: Durability;
  /**
   * The maximum size of the spool in bytes, including what earlier processes left there. If the spool is full, calls
   * are denied. Default 1 GiB.
   */
  readonly spoolBytesMax?: number;
  /** What an entry stores of the input of a call: the whole input, or only its digest. Default `full`. */
  readonly auditInput?: 'full' | 'digest';
  /** Allows a connection beyond loopback without TLS. */
  readonly plaintext?: boolean;
  /**
   * How the control plane is checked, and what certificate is presented. If set, TLS is used on loopback too. `{ ca }`:
   * only these authorities (PEM) are trusted, and the key identifies the sidecar. `{ ca, enrol, tokenFile? }`: in
   * addition, a certificate is requested at `enrol` (`host:port`), and renewed. The request uses the token in
   * `tokenFile`, or the key if `tokenFile` is not set. If a request fails, `log` reports it, and decisions continue. `{
   * folder }`: tls.crt, tls.key and ca.crt in that folder are used. They are read again each half minute. If not set:
   * TLS is used beyond loopback, with the authorities that this machine trusts.
   */
  readonly tls?: TlsOptions;
  /** How long to wait for policy, in ms. Default 10,000. */
  readonly readyTimeoutMs?: number;
  /** A name for this sidecar, for people. */
  readonly sidecarId?: string;
  /** Receives messages for the operator. Silent by default. */
  readonly log?: Log;
}

export interface Gate {
  run(options: RunOptions): Run;
  /** Ships as many entries as possible within 5 s, or `deadlineMs`. The rest waits on disk for the next process. */
  close(deadlineMs?: number): Promise<void>;
}

const silent: Log = { info: () => undefined, warn: () => undefined };

/**
 * Connects to a control plane and resolves when policy is held: the control plane's policy, or the last good one on
 * disk while the control plane cannot be reached. Rejects with `AppError` if there is neither, or if an option is
 * wrong.
 */
export async function connect(options: ConnectOptions): Promise<Gate> {
  const tls = tlsOf(options.tls);
  const sidecar = await startSidecar({
    form: 'library',
    controlPlane: options.controlPlane,
    key: options.key,
    plaintext: options.plaintext ?? false,
    tls,
    spoolDir: options.spoolDir ?? './.tollgate/sidecar',
    durability: options.durability ?? 'kernel',
    spoolBytesMax: options.spoolBytesMax ?? 1024 ** 3,
    keepInput: options.auditInput !== 'digest',
    sidecarId: options.sidecarId ?? null,
    log: options.log ?? silent,
  });
  try {
    await sidecar.ready(options.readyTimeoutMs ?? 10_000);
  } catch (error) {
    await sidecar.close(0);
    throw error;
  }
  return { run: (run) => startRun(sidecar, run), close: (deadlineMs) => sidecar.close(deadlineMs) };
}

function tlsOf(tls: TlsOptions | undefined): LinkTls | null {
  if (tls === undefined) return null;
  const given = { ca: null, enrol: null, tokenFile: null, folder: null, ...tls };
  const read = readTls(given, optionNames);
  const problems = 'problems' in read ? read.problems : read.tls === null ? ['tls must have ca or folder'] : [];
  if ('problems' in read || problems.length > 0) throw new AppError({ code: 'bad_request', publicMessage: problems.join('; ') });
  return read.tls;
}
