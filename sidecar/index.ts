// The library: a sidecar inside the agent's own process. It loads no HTTP server.
import { type Run, type RunOptions, startRun } from './gateway/library/library.ts';
import type { Log } from './log.ts';
import type { Durability } from './spool/append.ts';
import { startSidecar } from './start.ts';

export type { ReasonCode, Tier } from '@tollgate/proto/contract';
export { AppError } from '@tollgate/proto/contract';
export type { StopReason } from './decide/decision.ts';
export type { CostDenial, CostReservation, CostVerdict } from './gateway/library/costs.ts';
export type { DelegateOptions, Run, RunOptions } from './gateway/library/library.ts';
export { denialKey, type GuardMcpOptions, type McpClient } from './gateway/library/mcp-client.ts';
export type { GuardToolSetOptions, ToolSet } from './gateway/library/tool-set.ts';
export type { Delivery, Outcome } from './govern/deliver.ts';
export type { ToolCall } from './govern/govern.ts';
export { type Denial, denialText, type Permit, ToolDenied, type Verdict } from './govern/verdict.ts';

export interface ConnectOptions {
  /** `host:port` of the control plane's gRPC. */
  readonly controlPlane: string;
  /** A key with the scopes `sidecar.sync` and `govern`; `govern.impersonate` too, to name other users. */
  readonly key: string;
  /** Folder of the spool and the last good snapshot. Default `./.tollgate/sidecar`. */
  readonly spoolDir?: string;
  /**
   * What an entry survives before `decide` answers: a kill of the process (default), a power loss, or, committed by the
   * control plane, the loss of this machine. For that it waits 5 s at most, then it denies with `audit_unavailable`.
   */
  readonly durability?: Durability;
  /** How large the spool may grow, in bytes, before calls are denied. Default 1 GiB. */
  readonly spoolBytesMax?: number;
  /** What entries keep of an input. Default `full`. */
  readonly auditInput?: 'full' | 'digest';
  /** Allows a connection beyond loopback without TLS. */
  readonly plaintext?: boolean;
  /** How long to wait for policy, in ms. Default 10,000. */
  readonly readyTimeoutMs?: number;
  /** A name for this sidecar, for people. */
  readonly sidecarId?: string;
  /** Where to say what an operator should know; silent by default. */
  readonly log?: Log;
}

export interface Gate {
  run(options: RunOptions): Run;
  /** Ships what it can of the entries within 5 s, or `deadlineMs`; the rest waits on disk for the next process. */
  close(deadlineMs?: number): Promise<void>;
}

const silent: Log = { info: () => undefined, warn: () => undefined };

/**
 * Connects to a control plane and resolves once policy is held: the control plane's, or while it cannot be reached the
 * last good one on disk. Rejects with `AppError` where there is neither, or an option is wrong.
 */
export async function connect(options: ConnectOptions): Promise<Gate> {
  const sidecar = await startSidecar({
    form: 'library',
    controlPlane: options.controlPlane,
    key: options.key,
    plaintext: options.plaintext ?? false,
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
