// Parses the query string of `GET …/policyHistory`, and the cursor that carries the query from page to page.
import { type DocumentId, documentKey, isRole, isUid, parseAgentType } from '@tollgate/proto/contract';
import { parseLimit } from '../../audit/rules/audit-query.ts';
import type { Checked, Problem } from '@tollgate/proto/shape';

/** The position of a write in the order "newest first". */
export interface HistoryPosition {
  readonly revision: number;
  readonly id: DocumentId;
}

export interface HistoryQuery {
  readonly limit: number;
  /** Only writes of this document; null: of all documents. */
  readonly document: DocumentId | null;
  /** Only writes after this position, that is, older ones. */
  readonly after: HistoryPosition | null;
}

export interface HistoryParameters {
  readonly limit?: string | undefined;
  readonly cursor?: string | undefined;
  readonly document?: string | undefined;
}

const limitStandard = 200;

export function parseHistoryQuery({ limit, cursor, document }: HistoryParameters): Checked<HistoryQuery> {
  const problems: Problem[] = [];
  const read = <T>(path: string, text: string | undefined, parse: (text: string) => T | null, message: string): T | null => {
    const value = text === undefined ? null : parse(text);
    if (text !== undefined && value === null) problems.push({ path, message });
    return value;
  };
  const query = {
    limit: read('limit', limit, parseLimit, 'must be an integer') ?? limitStandard,
    document: read(
      'document',
      document,
      parseDocumentKey,
      'must be workspace, role:<role>, agent-type:<key>, user:<uid>:organisation or user:<uid>:self',
    ),
    after: read('cursor', cursor, parsePosition, 'must be the `next` of an earlier answer'),
  };
  return problems.length > 0 ? { problems } : { value: query };
}

const positionForm = /^(\d{1,15})\/(.*)$/su;

export const cursorOf = ({ revision, id }: HistoryPosition): string => Buffer.from(`${revision}/${documentKey(id)}`).toString('base64url');

function parsePosition(cursor: string): HistoryPosition | null {
  const [, revision, key = ''] = positionForm.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? [];
  const id = parseDocumentKey(key);
  return revision === undefined || id === null ? null : { revision: Number(revision), id };
}

/** The inverse of `documentKey`; null if the text cannot name a document. */
function parseDocumentKey(text: string): DocumentId | null {
  if (text === 'workspace') return { layer: 'workspace' };
  const [, layer, name = ''] = /^(role|agent-type|user):(.*)$/su.exec(text) ?? [];
  switch (layer) {
    case 'role':
      return isRole(name) ? { layer, role: name } : null;
    case 'agent-type':
      return parseAgentType(name) === null ? null : { layer, agentType: name };
    case 'user': {
      const [, uid = '', part] = /^(.*):(organisation|self)$/su.exec(name) ?? [];
      return isUid(uid) && (part === 'organisation' || part === 'self') ? { layer, uid, part } : null;
    }
    default:
      return null;
  }
}
