// Every method that passes, and how it is treated. Whatever is not named here is not forwarded: a method of a later
// revision, or of an extension, may be a call by another name.

/**
 * `call`: decided as a tool call. `read`: decided too, under a name of its own, because what it answers reaches the model.
 * `aside`: what policy says of that name holds for it, but it is recorded only where it is refused.
 */
type Treatment = 'call' | 'read' | 'aside' | 'tools' | 'greeting' | 'listen' | 'pass';

export type Era = 'legacy' | 'modern';

/** Requests of clients. */
const requests: Readonly<Record<Era, ReadonlyMap<string, Treatment>>> = {
  legacy: new Map([
    ['initialize', 'greeting'],
    ['ping', 'pass'],
    ['tools/list', 'tools'],
    ['tools/call', 'call'],
    ['resources/list', 'aside'],
    ['resources/templates/list', 'aside'],
    ['resources/read', 'read'],
    ['resources/subscribe', 'aside'],
    ['resources/unsubscribe', 'aside'],
    ['prompts/list', 'aside'],
    ['prompts/get', 'read'],
    ['completion/complete', 'read'],
    ['logging/setLevel', 'aside'],
  ]),
  modern: new Map([
    ['server/discover', 'greeting'],
    ['tools/list', 'tools'],
    ['tools/call', 'call'],
    ['resources/list', 'aside'],
    ['resources/templates/list', 'aside'],
    ['resources/read', 'read'],
    ['prompts/list', 'aside'],
    ['prompts/get', 'read'],
    ['completion/complete', 'read'],
    ['subscriptions/listen', 'listen'],
  ]),
};

export const treatmentOf = (era: Era, method: string): Treatment | null => requests[era].get(method) ?? null;

const clientNotifications: Readonly<Record<Era, ReadonlySet<string>>> = {
  legacy: new Set(['notifications/initialized', 'notifications/cancelled', 'notifications/progress', 'notifications/roots/list_changed']),
  // Closing a stream is what cancels: an id would be anybody's.
  modern: new Set(),
};

export const isClientNotification = (era: Era, method: string): boolean => clientNotifications[era].has(method);

/** What a server may ask of a client. The newest revision asks within results. */
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

/** Of lists other than that of tools: the field of the result that holds them. */
const listFields: ReadonlyMap<string, string> = new Map([
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
]);

export const listedBy = (method: string): string | null => listFields.get(method) ?? null;
