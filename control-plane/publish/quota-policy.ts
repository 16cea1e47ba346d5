// Gives the ledger of leases the policy that it needs, at the newest revision that this control plane has received.
// Only this module connects the leases with the publisher.
import type { RevisionName } from '@tollgate/proto/contract';
import { compileAgent, type PolicyDefaults } from '@tollgate/sidecar/engine/compile';
import { subjectOf } from '../access/rules/key.ts';
import { limitMaxOf } from '../quota/rules/limit-place.ts';
import type { LiveWorkspace, Publisher } from './publisher.ts';

export interface QuotaPolicy {
  readonly revision: RevisionName;
  readonly windowSeconds: number;
  /** Returns the maximum number of calls in a window; null if there is no limit with this id. */
  limitMax(id: string): number | null;
  /** Returns the maximum number of tool calls of a run of that agent; null if there is no such agent. */
  capOf(agentId: string): number | null;
  /** Whether a member with this uid exists. For `apikey:<id>`: whether a valid key with this id exists. */
  hasSubject(sub: string): boolean;
  hasKey(id: string): boolean;
}

export interface QuotaPolicyWatch {
  /** The policy at the newest revision; null until it was read for the first time. */
  readonly current: QuotaPolicy | null;
  /** Resolves with the first policy. */
  readonly first: Promise<QuotaPolicy>;
  close(): void;
}

interface QuotaPolicyDeps {
  readonly publisher: Pick<Publisher, 'follow'>;
  readonly defaults: PolicyDefaults;
}

export function watchQuotaPolicy({ publisher, defaults }: QuotaPolicyDeps, workspaceId: number): QuotaPolicyWatch {
  let current: QuotaPolicy | null = null;
  let tellFirst: (policy: QuotaPolicy) => void = () => undefined;
  const first = new Promise<QuotaPolicy>((resolve) => {
    tellFirst = resolve;
  });
  const unfollow = publisher.follow(workspaceId, {
    view: { form: 'process' },
    offer: (_published, live) => {
      current = policyOf(live, defaults);
      tellFirst(current);
    },
    gone: () => undefined,
  });
  return {
    get current() {
      return current;
    },
    first,
    close: unfollow,
  };
}

/** The prefix of the subject of a service key. */
const serviceSubject = subjectOf('', null);

function policyOf(live: LiveWorkspace, { windowSeconds }: PolicyDefaults): QuotaPolicy {
  return {
    get revision() {
      return { epoch: live.epoch, number: live.revision };
    },
    windowSeconds,
    limitMax: (id) => limitMaxOf(id, (key) => live.documentOf(key)),
    capOf: (agentId) => {
      const agent = live.agentOf(agentId);
      return agent === undefined ? null : compileAgent(agent).maxToolCalls;
    },
    hasSubject: (sub) =>
      live.hasMember(sub) || (sub.startsWith(serviceSubject) && live.keyOf(sub.slice(serviceSubject.length)) !== undefined),
    hasKey: (id) => live.keyOf(id) !== undefined,
  };
}
