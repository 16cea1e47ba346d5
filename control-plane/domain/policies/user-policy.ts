// The user layer has two authors: the member (`self`) and the organisation. This is what they see of each other.
import { isDeepStrictEqual } from 'node:util';
import type { Rule } from '@tollgate/proto/contract';
import type { PolicyDocument, TierRulesDocument } from './policy.ts';
import { invalid } from '../refusal.ts';
import { isObject } from '../shape.ts';

export interface UserPolicyView extends PolicyDocument {
  readonly parts: { readonly organisation?: PolicyDocument; readonly self?: PolicyDocument };
}

type Places = Readonly<Record<string, TierRulesDocument>>;

/** What GET shows: at each place that either part names the stricter of both, and the two parts as written. */
export function mergedUserView(organisation: PolicyDocument | null, self: PolicyDocument | null): UserPolicyView | Record<string, never> {
  if (organisation === null && self === null) return {};
  const parts = { ...(organisation === null ? {} : { organisation }), ...(self === null ? {} : { self }) };
  const a = organisation ?? {};
  const b = self ?? {};
  return {
    ...mergedMode(organisation, self),
    ...present('defaults', merged(a.defaults, b.defaults, stricterRule)),
    ...present('tools', merged<Places[string]>(a.tools, b.tools, stricterTiers)),
    ...present('agentTypes', merged<Places[string]>(a.agentTypes, b.agentTypes, stricterTiers)),
    parts,
  };
}

/** `patch` without the `parts` that GET showed: they are read, not written. Other ones are refused. */
export function stripParts(view: unknown, patch: PolicyDocument): PolicyDocument {
  if (!Object.hasOwn(patch, 'parts')) return patch;
  const { parts, ...rest }: Readonly<Record<string, unknown>> = { ...patch };
  if (!isObject(view) || !Object.hasOwn(view, 'parts') || !isDeepStrictEqual(parts, view['parts']))
    throw invalid([{ path: 'parts', message: 'must be exactly what GET shows now, or left out: it is read, not written' }]);
  return rest;
}

/**
 * `patch` without what `view` shows there and `own` says nothing else of: a client may send back what GET showed, with
 * what it wants changed. `own` is the writer's part, or null where the whole was sent back: then nothing that was shown
 * is of its sender.
 */
export function stripUnchanged(view: unknown, own: unknown, patch: unknown): unknown {
  if (!isObject(patch) || !isObject(view)) return patch;
  return Object.fromEntries(
    Object.entries(patch).flatMap(([key, value]) => {
      const shown = Object.hasOwn(view, key) ? view[key] : undefined;
      const held = isObject(own) && Object.hasOwn(own, key) ? own[key] : undefined;
      if (!isObject(value)) return value === shown && (held === undefined || held === value) ? [] : [[key, value]];
      const left = stripUnchanged(shown, held, value);
      return isObject(left) && Object.keys(left).length === 0 && isObject(shown) ? [] : [[key, left]];
    }),
  );
}

function mergedMode(organisation: PolicyDocument | null, self: PolicyDocument | null): Pick<PolicyDocument, 'mode'> {
  const modes = [organisation, self].flatMap((document) => (document === null ? [] : [document.mode]));
  if (modes.includes('enforce')) return { mode: 'enforce' };
  // Absent means enforce too, and is shown as it stands.
  const shown = modes.includes(undefined) ? undefined : modes[0];
  return shown === undefined ? {} : { mode: shown };
}

const present = <K extends string, V extends object>(key: K, value: V): { readonly [P in K]?: V } =>
  // One computed key gives an index signature; the key is known here.
  Object.keys(value).length === 0 ? {} : ({ [key]: value } as { readonly [P in K]?: V });

function merged<V>(
  a: Readonly<Record<string, V>> | undefined,
  b: Readonly<Record<string, V>> | undefined,
  stricter: (a: V, b: V) => V,
): Record<string, V> {
  const all = new Map(Object.entries(a ?? {}));
  for (const [key, value] of Object.entries(b ?? {})) {
    const other = all.get(key);
    all.set(key, other === undefined ? value : stricter(other, value));
  }
  return Object.fromEntries(all);
}

const stricterTiers = (a: TierRulesDocument, b: TierRulesDocument): TierRulesDocument => merged(a, b, stricterRule);

function stricterRule(a: Rule, b: Rule): Rule {
  const limits = [a.rateLimit, b.rateLimit].filter((limit) => limit !== undefined);
  const permission = a.permission === 'deny' || b.permission === 'deny' ? 'deny' : (a.permission ?? b.permission);
  const transform = a.transform === 'redact' || b.transform === 'redact' ? 'redact' : (a.transform ?? b.transform);
  return {
    ...(permission === undefined ? {} : { permission }),
    ...(limits.length === 0 ? {} : { rateLimit: Math.min(...limits) }),
    ...(transform === undefined ? {} : { transform }),
    ...(a.override === true || b.override === true ? { override: true as const } : {}),
  };
}
