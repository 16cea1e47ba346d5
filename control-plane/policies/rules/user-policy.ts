// Combines the two parts of the user layer: the part that the member writes (`self`) and the part that the organisation
// writes. This module defines what each author sees of the other author's part.
import { isDeepStrictEqual } from 'node:util';
import { strictestPermission } from '@tollgate/proto/contract';
import type { PolicyDocument, RuleDocument, TierRulesDocument } from '@tollgate/sidecar/engine/compile';
import { invalid } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';

export interface UserPolicyView extends PolicyDocument {
  readonly parts: { readonly organisation?: PolicyDocument; readonly self?: PolicyDocument };
}

type Places = Readonly<Record<string, TierRulesDocument>>;

/**
 * Returns the result of GET: for each place that a part names, the stricter rule of both parts; and the two parts as
 * they were written.
 */
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

/** Removes `parts` from `patch`, because they are read-only. Throws if they differ from the `parts` that GET shows. */
export function stripParts(view: unknown, patch: PolicyDocument): PolicyDocument {
  if (!Object.hasOwn(patch, 'parts')) return patch;
  const { parts, ...rest }: Readonly<Record<string, unknown>> = { ...patch };
  if (!isObject(view) || !Object.hasOwn(view, 'parts') || !isDeepStrictEqual(parts, view['parts']))
    throw invalid([{ path: 'parts', message: 'must be omitted, or be exactly what GET returns now: it is read-only' }]);
  return rest;
}

/**
 * Removes from `patch` the values that are equal to those in `view`, so that a client can send back the result of GET
 * with its changes. A value is kept if `own`, the writer's part, has a different value in that place. `own` is null if
 * the whole document was sent back; then every value that is equal to the one in `view` is removed.
 */
export function stripUnchanged(view: unknown, own: unknown, patch: unknown): unknown {
  if (!isObject(patch) || !isObject(view)) return patch;
  // The terms belong to their permission: if they differ, both are kept as they were sent.
  const keepsAsk = isObject(patch['ask']) && patch['permission'] === 'ask' && !isDeepStrictEqual(patch['ask'], view['ask']);
  return Object.fromEntries(
    Object.entries(patch).flatMap(([key, value]) => {
      if (keepsAsk && (key === 'ask' || key === 'permission')) return [[key, value]];
      const shown = Object.hasOwn(view, key) ? view[key] : undefined;
      const held = isObject(own) && Object.hasOwn(own, key) ? own[key] : undefined;
      if (!isObject(value))
        return isDeepStrictEqual(value, shown) && (held === undefined || isDeepStrictEqual(held, value)) ? [] : [[key, value]];
      const left = stripUnchanged(shown, held, value);
      return isObject(left) && Object.keys(left).length === 0 && isObject(shown) ? [] : [[key, left]];
    }),
  );
}

function mergedMode(organisation: PolicyDocument | null, self: PolicyDocument | null): Pick<PolicyDocument, 'mode'> {
  const modes = [organisation, self].flatMap((document) => (document === null ? [] : [document.mode]));
  if (modes.includes('enforce')) return { mode: 'enforce' };
  // An absent mode also means enforce, and is shown as absent.
  const shown = modes.includes(undefined) ? undefined : modes[0];
  return shown === undefined ? {} : { mode: shown };
}

const present = <K extends string, V extends object>(key: K, value: V): { readonly [P in K]?: V } =>
  // TypeScript gives an object with a computed key an index signature, but here the key is known to be `K`.
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

/** Only the organisation writes cases. They are shown at the place of their rule, as they were written. */
function stricterRule(a: RuleDocument, b: RuleDocument): RuleDocument {
  const limits = [a.rateLimit, b.rateLimit].filter((limit) => limit !== undefined);
  const permission = strictestPermission(a.permission, b.permission);
  // If both ask, both count. Here the terms of the organisation are shown; `parts` has both.
  const ask = permission !== 'ask' ? undefined : a.permission === 'ask' ? a.ask : b.ask;
  const cases = a.cases ?? b.cases;
  const transform = a.transform === 'redact' || b.transform === 'redact' ? 'redact' : (a.transform ?? b.transform);
  return {
    ...(permission === undefined ? {} : { permission }),
    ...(ask === undefined ? {} : { ask }),
    ...(limits.length === 0 ? {} : { rateLimit: Math.min(...limits) }),
    ...(transform === undefined ? {} : { transform }),
    ...(a.override === true || b.override === true ? { override: true as const } : {}),
    ...(cases === undefined ? {} : { cases }),
  };
}
