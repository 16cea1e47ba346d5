// Lists every method that is forwarded, and how it is treated. A method that is not named here is not forwarded: a
// method of a later revision or an extension could be a call under another name.

/**
 * `call`: decided as a tool call. `read`: also decided, under the name of the method, because the model receives the
 * answer. `check`: the policy for the name of the method applies, but only a refusal is recorded.
 */
type Treatment = 'call' | 'read' | 'check' | 'tools' | 'greeting' | 'listen' | 'pass';

export type Era = 'legacy' | 'modern';

/** The requests that a client may send, and how each is treated. */
const requests: Readonly<Record<Era, ReadonlyMap<string, Treatment>>> = {
  legacy: new Map([
    ['initialize', 'greeting'],
    ['ping', 'pass'],
    ['tools/list', 'tools'],
    ['tools/call', 'call'],
    ['resources/list', 'check'],
    ['resources/templates/list', 'check'],
    ['resources/read', 'read'],
    ['resources/subscribe', 'check'],
    ['resources/unsubscribe', 'check'],
    ['prompts/list', 'check'],
    ['prompts/get', 'read'],
    ['completion/complete', 'read'],
    ['logging/setLevel', 'check'],
  ]),
  modern: new Map([
    ['server/discover', 'greeting'],
    ['tools/list', 'tools'],
    ['tools/call', 'call'],
    ['resources/list', 'check'],
    ['resources/templates/list', 'check'],
    ['resources/read', 'read'],
    ['prompts/list', 'check'],
    ['prompts/get', 'read'],
    ['completion/complete', 'read'],
    ['subscriptions/listen', 'listen'],
  ]),
};

export const treatmentOf = (era: Era, method: string): Treatment | null => requests[era].get(method) ?? null;

const clientNotifications: Readonly<Record<Era, ReadonlySet<string>>> = {
  legacy: new Set(['notifications/initialized', 'notifications/cancelled', 'notifications/progress', 'notifications/roots/list_changed']),
  // In the newest revision, a client cancels a request when it closes the stream. A cancellation by id is not accepted,
  // because the id could name a request of any client.
  modern: new Set(),
};

export const isClientNotification = (era: Era, method: string): boolean => clientNotifications[era].has(method);

/**
 * Requests that a server may send to a client. In the newest revision there are none: servers put their questions into
 * results.
 */
const serverRequests: Readonly<Record<Era, ReadonlySet<string>>> = {
  legacy: new Set(['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list']),
  modern: new Set(),
};

export const isServerRequest = (era: Era, method: string): boolean => serverRequests[era].has(method);

const serverNotifications: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/elicitation/complete',
  'notifications/subscriptions/acknowledged',
]);

export const isServerNotification = (method: string): boolean => serverNotifications.has(method);

/** The field of `params` that the header `Mcp-Name` repeats. */
const namedBy: ReadonlyMap<string, 'name' | 'uri'> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

export const nameFieldOf = (method: string): 'name' | 'uri' | null => namedBy.get(method) ?? null;

/** For lists other than the list of tools: the result field with the items. */
const listFields: ReadonlyMap<string, string> = new Map([
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
]);

export const listedBy = (method: string): string | null => listFields.get(method) ?? null;
