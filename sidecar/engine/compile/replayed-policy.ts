// Provides a workspace's documents for deciding past calls again. Each document is compiled and indexed at its first
// use. So in a workspace of ten thousand users, time is spent only on the documents of the few users who called.
import { documentKey } from '@tollgate/proto/contract';
import { type IndexedDocument, indexDocument } from '../decide/document.ts';
import type { ReplayedPolicy } from '../decide/replayed.ts';
import { compileDocument, compileSettings } from './compile.ts';
import type { PolicyDocument, TierRulesDocument } from './policy-document.ts';
import type { PolicyDefaults, PolicySource } from './source.ts';

type Documents = PolicySource['documents'];

export function replayedPolicyOf(state: PolicySource, documents: Documents, defaults: PolicyDefaults): ReplayedPolicy {
  const stored = new Map(documents.map((one) => [documentKey(one.id), one]));
  const indexed = new Map<string, IndexedDocument>();
  return {
    revision: state.revision,
    settings: compileSettings({ ...state, documents }, defaults),
    documents: {
      get: (key) => {
        const one = stored.get(key);
        if (one === undefined) return undefined;
        const document = indexed.get(key) ?? indexDocument(compileDocument(one.id, one.document));
        indexed.set(key, document);
        return document;
      },
    },
    agentScopes: new Map(state.agents.map(({ id, scopes }) => [id, scopes])),
    servers: new Map(state.servers.map((server) => [server.name, server])),
    readsInput: documents.some(({ document }) => hasCases(document)),
  };
}

const hasCases = ({ defaults = {}, tools = {}, agentTypes = {} }: PolicyDocument): boolean =>
  [defaults, ...Object.values(tools), ...Object.values(agentTypes)].some(rulesHaveCases);

const rulesHaveCases = (rules: TierRulesDocument): boolean => Object.values(rules).some(({ cases = [] }) => cases.length > 0);
