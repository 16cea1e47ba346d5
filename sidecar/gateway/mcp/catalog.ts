// What is known of a tool server's tools, from whatever lists of it were seen: which there are, the digests of their
// definitions, and which arguments they want in headers. Asked for anew where it is not known, or not to be relied on. A tool whose
// name or headers are longer than may be kept is none: it is neither listed nor called.
import { bounds, NotJson, toolDefinitionDigest } from '@tollgate/proto/contract';
import { type ParamHeader, paramHeadersOf } from './wire/header-values.ts';
import { isFields } from './wire/message.ts';
import type { ToolServer } from './upstream.ts';

interface KnownTool {
  /** Null where it is out of our bounds. */
  readonly digest: string | null;
  readonly headers: readonly ParamHeader[];
}

export interface Catalog {
  readonly tools: ReadonlyMap<string, KnownTool>;
  /** One page of a list; answers the names of those that may be listed. */
  note(tools: readonly unknown[]): ReadonlySet<string>;
  /** The server says that its list is another now. */
  expire(): void;
  /** Asks, where what is known is older than `ageMaxMs`; null: in any case. Several who ask at once ask once. Stays as it is where that fails. */
  refresh(now: number, ageMaxMs: number | null, ask: () => Promise<readonly unknown[]>): Promise<void>;
}

const toolsMax = 5_000;
// A server that does not say is not asked before every call, where nothing depends on it.
const retryMs = 30_000;

function createCatalog(): Catalog {
  let tools = new Map<string, KnownTool>();
  let askedAt: number | null = null;
  let failedAt: number | null = null;
  let asking: Promise<void> | null = null;
  return {
    get tools() {
      return tools;
    },
    note: (listed) => {
      const page = knownTools(listed);
      for (const [name, known] of page) if (tools.size < toolsMax || tools.has(name)) tools.set(name, known);
      return new Set(page.map(([name]) => name));
    },
    expire: () => {
      askedAt = null;
    },
    refresh: async (now, ageMaxMs, ask) => {
      if (askedAt !== null && ageMaxMs !== null && now - askedAt <= ageMaxMs) return;
      if (failedAt !== null && ageMaxMs === Number.POSITIVE_INFINITY && now - failedAt < retryMs) return;
      try {
        if (asking !== null) return await asking;
      } catch {
        // Of another request, whose session may be what failed.
      }
      asking ??= ask()
        .then(
          (listed) => {
            tools = new Map(knownTools(listed).slice(0, toolsMax));
            askedAt = now;
          },
          (error: unknown) => {
            failedAt = now;
            throw error;
          },
        )
        .finally(() => {
          asking = null;
        });
      await asking;
    },
  };
}

function knownTools(listed: readonly unknown[]): readonly (readonly [string, KnownTool])[] {
  const known = new Map<string, KnownTool>();
  const beyond = new Set<string>();
  for (const tool of listed) {
    const name = isFields(tool) ? tool['name'] : undefined;
    if (!isFields(tool) || typeof name !== 'string' || name.length > bounds.nameLength) continue;
    const headers = paramHeadersOf(tool['inputSchema']);
    // Of two that are called the same nobody can say which is meant.
    if (headers === null) beyond.add(name);
    else known.set(name, { digest: known.has(name) ? null : digestOf(tool), headers });
  }
  return [...known].filter(([name]) => !beyond.has(name));
}

function digestOf(tool: Readonly<Record<string, unknown>>): string | null {
  try {
    return toolDefinitionDigest(tool);
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}

const catalogs = new WeakMap<ToolServer['reach'], Catalog>();

/** Known by where the server is, so that another answer about who may call what forgets nothing. */
export function catalogOf({ reach }: ToolServer): Catalog {
  const catalog = catalogs.get(reach) ?? createCatalog();
  catalogs.set(reach, catalog);
  return catalog;
}

/** Whether the workspace lets this definition be called. */
export const isAdmitted = ({ admitted }: Pick<ToolServer, 'admitted'>, tool: string, known: KnownTool | undefined): boolean =>
  admitted === null || (known !== undefined && known.digest !== null && admitted.get(tool) === known.digest);
