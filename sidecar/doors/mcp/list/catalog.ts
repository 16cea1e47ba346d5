// Stores what is known about the tools of a tool server: the names, the digests of the definitions, and the arguments
// that the tools want in headers. This comes from every list of the server that the proxy has seen. The list is
// requested again if it is unknown or no longer reliable. A tool with a name or headers beyond the size limits is
// ignored: it is neither listed nor called.
import { bounds, NotJson, toolDefinitionDigest } from '@tollgate/proto/contract';
import { type ParamHeader, paramHeadersOf } from '../../../upstream/wire/header-values.ts';
import { isFields } from '../../../upstream/wire/message.ts';
import type { ToolServer } from '../../../upstream/upstream.ts';

interface KnownTool {
  /** Null: there is no digest, because the definition exceeds our limits or the name occurs twice. */
  readonly digest: string | null;
  readonly headers: readonly ParamHeader[];
}

export interface Catalog {
  readonly tools: ReadonlyMap<string, KnownTool>;
  /** Stores one page of a list. Returns the names that may be listed. */
  note(tools: readonly unknown[]): ReadonlySet<string>;
  /** Marks the list as outdated. Called when the server reports that its list has changed. */
  expire(): void;
  /** Whether the stored list is at most `ageMaxMs` old. Null: the list must be requested. */
  isCurrent(now: number, ageMaxMs: number | null): boolean;
  /**
   * Requests the list if the stored one is older than `ageMaxMs` (null: always). Concurrent callers share one request.
   * If the request fails, the stored list stays.
   */
  refresh(now: number, ageMaxMs: number | null, ask: () => Promise<readonly unknown[]>): Promise<void>;
}

const toolsMax = 5_000;
// After a failed request, the list is not requested again for this time if the call can be made without it.
const retryMs = 30_000;

function createCatalog(): Catalog {
  let tools = new Map<string, KnownTool>();
  let askedAt: number | null = null;
  let failedAt: number | null = null;
  let asking: Promise<void> | null = null;
  const isCurrent: Catalog['isCurrent'] = (now, ageMaxMs) => askedAt !== null && ageMaxMs !== null && now - askedAt <= ageMaxMs;
  return {
    isCurrent,
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
      if (isCurrent(now, ageMaxMs)) return;
      if (failedAt !== null && ageMaxMs === Number.POSITIVE_INFINITY && now - failedAt < retryMs) return;
      try {
        if (asking !== null) return await asking;
      } catch {
        // The shared request failed, perhaps because of the session of the caller that sent it. So this caller sends
        // its own request.
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
    // A name that occurs twice is ambiguous, so its digest is null.
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

/**
 * Returns the catalog of a server. Catalogs are stored by the server's address, so a change of permissions or
 * admissions does not discard them.
 */
export function catalogOf({ reach }: ToolServer): Catalog {
  const catalog = catalogs.get(reach) ?? createCatalog();
  catalogs.set(reach, catalog);
  return catalog;
}

/** Whether the workspace admits this definition for calls. */
export const isAdmitted = ({ admitted }: Pick<ToolServer, 'admitted'>, tool: string, known: KnownTool | undefined): boolean =>
  admitted === null || (known !== undefined && known.digest !== null && admitted.get(tool) === known.digest);
