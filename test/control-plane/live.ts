// A client of the live audit stream over real HTTP, which reads when the test says so.
import { request } from 'undici';
import { field, type Rest } from './rest.ts';

/** A block of the stream: an event, or a comment. */
interface Block {
  readonly comment: string | null;
  readonly event: string | null;
  readonly id: number | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

export interface Live {
  /** Null at the end of the stream; throws where it was cut. */
  next(): Promise<Block | null>;
  /** The ids of the next `count` entries. */
  take(count: number): Promise<readonly string[]>;
  close(): void;
}

interface Asked {
  readonly query?: string;
  readonly key?: string;
  readonly lastEventId?: number;
}

/** Resolves once the stream has confirmed that it listens. */
export async function listen(rest: Rest, { query = '', key = rest.owner, lastEventId }: Asked = {}): Promise<Live> {
  const headers = { authorization: `Bearer ${key}`, ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }) };
  const {
    statusCode,
    headers: answered,
    body,
  } = await request(`${rest.origin}/acme/admin/audit/stream?${query}`, { headers, bodyTimeout: 0 });
  const type = String(answered['content-type']).split(';', 1)[0];
  if (statusCode !== 200 || type !== 'text/event-stream') throw new Error(`${statusCode} ${type} ${await body.text()}`);
  const blocks = readBlocks(body);
  const next = async (): Promise<Block | null> => {
    const block = (await blocks.next()).value ?? null;
    if (block !== null) checkBlock(rest, '/acme/admin/audit/stream', block);
    return block;
  };
  const first = await next();
  if (first?.comment !== 'listening') throw new Error(`the stream began with ${JSON.stringify(first)}`);
  return {
    next,
    take: async (count) => {
      const found: string[] = [];
      while (found.length < count) {
        const block = await next();
        if (block === null) throw new Error(`the stream ended after ${found.length} of ${count}`);
        if (block.data !== null) found.push(String(block.data['id']));
      }
      return found;
    },
    close: () => void body.on('error', () => {}).destroy(),
  };
}

/** Throws where the block is an event that is not as the API document says. */
export function checkBlock({ document }: Pick<Rest, 'document'>, url: string, { event, id, data }: Block): void {
  if (event !== null) document.checkEvent({ method: 'GET', url }, { event, id: id === null ? null : String(id), data });
}

/** Reads the blocks of a stream of events. */
export async function* readBlocks(body: AsyncIterable<Buffer>): AsyncGenerator<Block, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    yield* blocks.map(parseBlock);
  }
  if (text !== '') throw new Error(`the stream ended within a block: ${text}`);
}

function parseBlock(block: string): Block {
  const fields = new Map(
    block.split('\n').map((line) => {
      const [, name = '', value = ''] = /^([^:]*): (.*)$/s.exec(line) ?? [];
      return [name, value];
    }),
  );
  const data = fields.get('data');
  return {
    comment: fields.get('') ?? null,
    event: fields.get('event') ?? null,
    id: fields.has('id') ? Number(fields.get('id')) : null,
    data: data === undefined ? null : (JSON.parse(data) as Readonly<Record<string, unknown>>),
  };
}

/** The comments up to the end. */
export async function drain(live: Live): Promise<readonly (string | null)[]> {
  const comments: (string | null)[] = [];
  for (let block = await live.next(); block !== null; block = await live.next()) comments.push(block.comment);
  return comments;
}

const expiresAt = '2026-06-25T12:30:00.000Z';

/** A key that may only watch, of a new member. */
export async function makeWatcherKey(rest: Rest): Promise<{ readonly key: string; readonly id: string }> {
  await rest.keyOf('admin');
  const body = { name: 'watcher', scopes: ['admin.audit.read'], uid: 'admin-1', expiresAt };
  const made = await rest.ask('POST', '/acme/admin/keys', { body });
  return { key: field(made, 'key'), id: field(made, 'id') };
}

/** Ways to end that key. */
export const keyEnds: readonly (readonly [string, (rest: Rest, id: string) => Promise<unknown>])[] = [
  ['the key is revoked', (rest, id) => rest.ask('DELETE', `/acme/admin/keys/${id}`)],
  ['the member is removed', (rest) => rest.ask('DELETE', '/acme/admin/members/admin-1')],
  ['the key expires', async (rest) => (rest.clock.now = new Date(expiresAt))],
];
