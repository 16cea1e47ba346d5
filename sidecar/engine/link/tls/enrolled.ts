// Keeps a certificate that the control plane issues, and renews it as long as the sidecar lives. Only connections wait
// for the certificate. Before it arrives, decisions are made by the policy on disk.
//
// States: without a certificate (it is requested repeatedly) → with a certificate (it is renewed after two thirds to
// five sixths of its lifetime, but within 12 hours) → late (a renewal failed: the sidecar requests repeatedly, and
// continues with its old certificate; the control plane refuses the old certificate after it has expired).
import type { Clock, Timer } from '../../../base/clock.ts';
import { barredMs, createBackoff } from '../../../base/backoff.ts';
import type { Log } from '../../../base/log.ts';
import type { Answer, IssuedCertificate } from './ask-certificate.ts';
import { createCredentialsCell, expiryOf, type LinkCredentials } from './credentials.ts';
import { certificatesIn } from './options.ts';

export interface EnrolledDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Requests a certificate. Never rejects. `authorities`: the authorities that the issuing server is checked with. */
  readonly ask: (authorities: string) => Promise<Answer>;
  /** Stores the authorities from the last answer. False: they are not stored. Never rejects. */
  readonly keep: (authorities: string) => Promise<boolean>;
}

const retry = { firstMs: 200, maxMs: 5_000 };
/** The wait after a refusal. A request that is sent earlier would be refused too. */
const refusedMs = 30_000;
/**
 * The time between renewals. It is at most `max`, because a renewal also brings the current authorities, and these may
 * change during the lifetime of a long-lived certificate. It is at least `min`, so there is always a pause between
 * renewals.
 */
const renewMs = { min: 10_000, max: 12 * 3_600_000 };

/**
 * `ca`: the authorities that were configured. `kept`: the authorities that an earlier process received when it was
 * configured with the same `ca`.
 */
export function keepEnrolled(deps: EnrolledDeps, { ca, kept }: { readonly ca: string; readonly kept: string | null }): LinkCredentials {
  const { clock, random, log } = deps;
  const backoff = createBackoff({ random, ...retry });
  let named = kept;
  let keeping: Promise<boolean> = Promise.resolve(kept !== null);
  let failures = 0;
  let saidExpired = false;
  let timer: Timer | null = null;
  let closed = false;
  const cell = createCredentialsCell(true, async () => {
    closed = true;
    timer?.cancel();
    await keeping;
  });

  const taken = ({ own, authorities }: IssuedCertificate): number => {
    const isNew = authorities !== named;
    named = authorities;
    keeping = keeping.then((isKept) => (isKept && !isNew ? true : deps.keep(authorities)));
    backoff.reset();
    failures = 0;
    saidExpired = false;
    cell.take({ authorities: together(ca, authorities), own });
    const leftMs = expiryOf(own.certificate) - clock.wallTime();
    log.info({ expiresAt: isoOf(expiryOf(own.certificate)) }, 'a certificate was issued to this sidecar');
    if (leftMs <= 0) log.warn({}, "the certificate has expired by this machine's clock, which may be ahead");
    return Math.min(Math.max(leftMs * (2 / 3 + random() / 6), renewMs.min), renewMs.max);
  };
  const lost = ({ refused, problem }: Answer & { readonly ok: false }): number => {
    const waitMs = refused === 'no' ? backoff.next() : barredMs(random, refusedMs);
    failures += 1;
    const { expiresAt } = cell.credentials;
    const isExpired = expiresAt !== null && expiresAt <= clock.wallTime();
    cell.fail(isExpired ? `the certificate expired at ${isoOf(expiresAt)}, and ${problem}` : problem, refused === 'key');
    if (isPowerOfTwo(failures) || (isExpired && !saidExpired)) {
      const until = expiresAt === null ? {} : { expiresAt: isoOf(expiresAt) };
      log.warn(
        { problem, waitMs: Math.round(waitMs), ...until },
        words[refused === 'key' ? 'refused' : expiresAt === null ? 'none' : isExpired ? 'expired' : 'late'],
      );
    }
    saidExpired ||= isExpired;
    return waitMs;
  };
  const attempt = async (): Promise<void> => {
    const answer = await deps.ask(together(ca, named));
    if (closed) return;
    timer = clock.after(answer.ok ? taken(answer.issued) : lost(answer), () => void attempt());
    timer.unref();
  };
  void attempt();
  return cell.credentials;
}

const words = {
  none: 'no certificate is issued to this sidecar: it cannot reach its control plane, and decides by the policy it holds',
  late: 'the certificate is not renewed; this sidecar continues with the one it has',
  expired: 'the certificate has expired: this sidecar cannot reach its control plane, and decides by the policy it holds',
  refused: 'the control plane refuses the key of this sidecar: this sidecar gets no certificate and denies every call',
} as const;

/**
 * Returns the configured and the received authorities together. The configured ones stay valid, for example for a
 * control plane that is restored from a backup.
 */
const together = (ca: string, named: string | null): string =>
  [...new Set([...certificatesIn(ca), ...(named === null ? [] : certificatesIn(named))])].join('\n');

const isoOf = (ms: number): string => new Date(ms).toISOString();
const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;
