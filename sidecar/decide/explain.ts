// Why a call is decided as it is: every layer with the rule it contributes, both folds, and what would have to change.
// For people; it reads the same index and makes the same folds as `decide`, but counts nothing and checks no caps.
import { type Layer, type Part, type Permission, type Tier, type Transform } from '@tollgate/proto/contract';
import { documentsFor } from './bind.ts';
import type { Index } from './build-index.ts';
import type { Subject } from './call.ts';
import type { IndexedDocument, Opinion } from './document.ts';
import { readOpinion } from './document.ts';
import { type Fold, foldDocuments, type Winner } from './fold.ts';
import { ruleWords } from './words.ts';

export interface Question {
  readonly subject: Pick<Subject, 'role' | 'uid'>;
  readonly agentType: string;
  readonly tier: Tier;
  readonly tool: string;
}

interface Outcome {
  readonly permission: Permission;
  /** All limits that must have room, the smallest first; null: none. */
  readonly rateLimit: number | null;
  readonly limits: readonly { readonly layer: Layer; readonly part?: Part; readonly path: string; readonly rateLimit: number }[];
  readonly transform: Transform;
  readonly attributedTo: Place;
}

interface Place {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  readonly path: string;
  readonly override?: true;
}

interface ExplainedField {
  readonly field: keyof Opinion;
  readonly value: string | number;
  readonly path: string;
  readonly override?: true;
}

interface ExplainedLayer {
  readonly layer: Layer;
  readonly part?: Part;
  readonly document: string;
  readonly mode: 'enforce' | 'audit';
  /** Where the document's permission stands, or the first field it sets. */
  readonly path: string;
  readonly rule: Readonly<Record<string, string | number | true>>;
  readonly fields: readonly ExplainedField[];
}

/** One change that, made alone, would allow the call, or be a necessary part of it where `together` is set. */
interface Change {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  readonly path: string;
  readonly change: string;
}

export interface Explanation {
  readonly enforced: Outcome;
  readonly shadow: Outcome;
  readonly decision: Permission;
  readonly reason: string;
  readonly layers: readonly ExplainedLayer[];
  /** Ways to an allow, each a list of changes to make together; empty where the call is allowed. */
  readonly wouldAllow: readonly (readonly Change[])[];
}

export function explain(index: Index, { subject, agentType, tier, tool }: Question): Explanation {
  const documents = documentsFor(index, subject, agentType);
  const enforcing = documents.filter(({ enforces }) => enforces);
  const fold = (of: readonly IndexedDocument[]): Fold =>
    foldDocuments({ documents: of, agentType, tier }, of, tool, index.settings.defaultPermission);
  const enforced = fold(enforcing);
  const verb = enforced.permission === 'allow' ? 'allows' : 'denies';
  const code = enforced.permission === 'allow' ? 'allowed' : 'policy_denied';
  const opinions = documents.flatMap((document) => {
    const opinion = readOpinion(document, tool, tier, agentType);
    return opinion === null ? [] : [{ document, opinion }];
  });
  return {
    enforced: outcomeOf(enforced),
    shadow: outcomeOf(fold(documents)),
    decision: enforced.permission,
    reason: `${code}: ${ruleWords(verb, enforced.permissionBy, tool, tier)}`,
    layers: opinions.map(({ document, opinion }) => explainLayer(document, opinion)),
    wouldAllow: enforced.permission === 'allow' ? [] : waysToAllow(index, opinions, { tier, tool }),
  };
}

function outcomeOf({ permission, permissionBy, limits, transform }: Fold): Outcome {
  return {
    permission,
    rateLimit: limits.length === 0 ? null : Math.min(...limits.map(({ max }) => max)),
    limits: limits.map(({ layer, part, path, max }) => ({ layer, ...(part === undefined ? {} : { part }), path, rateLimit: max })),
    transform,
    attributedTo: placeOf(permissionBy),
  };
}

const placeOf = ({ layer, part, path, override }: Winner): Place => ({
  layer,
  ...(part === null ? {} : { part }),
  path,
  ...(override ? { override: true as const } : {}),
});

function explainLayer(document: IndexedDocument, opinion: Opinion): ExplainedLayer {
  const fields = (['permission', 'rateLimit', 'transform'] as const).flatMap((field) =>
    opinion[field].map(
      ({ value, path, override }): ExplainedField => ({ field, value, path, ...(override ? { override: true as const } : {}) }),
    ),
  );
  return {
    layer: document.layer,
    ...(document.part === null ? {} : { part: document.part }),
    document: document.key,
    mode: document.enforces ? 'enforce' : 'audit',
    path: fields[0]?.path ?? '',
    rule: Object.fromEntries([
      ...fields.map(({ field, value }) => [field, value] as const),
      ...(fields.some(({ override }) => override) ? [['override', true] as const] : []),
    ]),
    fields,
  };
}

interface Spoken {
  readonly document: IndexedDocument;
  readonly opinion: Opinion;
}

/** Undo every denial that holds; or, for the organisation's layers, make an explicit exception at the most specific one. */
function waysToAllow(
  index: Index,
  opinions: readonly Spoken[],
  { tier, tool }: Pick<Question, 'tier' | 'tool'>,
): readonly (readonly Change[])[] {
  const enforcing = opinions.filter(({ document }) => document.enforces);
  const lastOverride = enforcing.findLastIndex(
    ({ document, opinion }) => document.part !== 'self' && opinion.permission.some(({ override }) => override),
  );
  const holding = enforcing.slice(Math.max(0, lastOverride));
  const denials = holding.flatMap(({ document, opinion }) =>
    opinion.permission
      .filter(({ value }) => value === 'deny')
      .map(({ path }): Change => ({ ...where(document), path, change: 'remove permission "deny", or set it to "allow"' })),
  );
  const ownDenials = denials.filter(({ part }) => part === 'self');
  const grants = holding.some(
    ({ document, opinion }) => document.part !== 'self' && opinion.permission.some(({ value }) => value === 'allow'),
  );
  const grant: Change = {
    layer: 'workspace',
    path: `tools[${JSON.stringify(tool)}].${tier}`,
    change: 'set permission "allow": the built-in default denies what nobody grants',
  };
  const undoing = [...denials, ...(index.settings.defaultPermission === 'deny' && !grants ? [grant] : [])];
  const exception: Change = {
    layer: 'user',
    part: 'organisation',
    path: `tools[${JSON.stringify(tool)}].${tier}`,
    change: 'set {"permission": "allow", "override": true}: an exception for this user, by an owner or admin',
  };
  return [undoing, [...ownDenials, exception]];
}

const where = ({ layer, part }: IndexedDocument): Pick<Change, 'layer' | 'part'> => ({ layer, ...(part === null ? {} : { part }) });
