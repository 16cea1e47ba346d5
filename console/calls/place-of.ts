// Where a policy document is changed: its layer in words, and its path in the REST API. Pure.

export interface DocumentPlace {
  /** Such as `the policy of the role`. */
  readonly words: string;
  /** Such as `member`. Empty: there is one document of this layer. */
  readonly whose: string;
  readonly path: string;
}

/** `document`: `workspace`, `role:<role>`, `agent-type:<type>`, or `user:<uid>:<part>`. */
export function placeOf(document: string, workspace: string): DocumentPlace {
  const [layer = ''] = document.split(':', 1);
  const rest = document.slice(layer.length + 1);
  const at = (collection: string, name: string): string => `/${workspace}/admin/${collection}/${encodeURIComponent(name)}`;
  if (layer === 'role') return { words: 'the policy of the role', whose: rest, path: at('rolePolicies', rest) };
  if (layer === 'agent-type') return { words: 'the policy of the agent type', whose: rest, path: at('agentTypePolicies', rest) };
  if (layer === 'user') {
    const isOwn = rest.endsWith(':self');
    const uid = rest.replace(/:(?:organisation|self)$/, '');
    return {
      words: isOwn ? 'the part of the policy that is set by the user' : 'the policy of the user',
      whose: uid,
      path: at('userPolicies', uid),
    };
  }
  return { words: 'the policy of the workspace', whose: '', path: `/${workspace}/admin/workspacePolicy` };
}
