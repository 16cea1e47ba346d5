// Builds the headers that Claude Code (2.1) sends for a hook of type `http`: the headers of the hook. Variables that
// the hook allows are replaced by their values; all other variables are empty.
import type { HttpWay } from './host.ts';

interface Headers {
  readonly headers: Readonly<Record<string, string>>;
  /** Which variable is empty and why, in words. */
  readonly missing: readonly string[];
}

export function headersOf({ headers = [], allowedEnvVars = [] }: HttpWay, env: Readonly<Record<string, string | undefined>>): Headers {
  const missing: string[] = [];
  const valueOf = (header: string, name: string): string => {
    const value = env[name] ?? '';
    if (!allowedEnvVars.includes(name))
      missing.push(`$${name} of the header ${header} is sent empty; add it to "allowedEnvVars" of the hook`);
    else if (value === '') missing.push(`$${name} of the header ${header} is not set, and is sent empty`);
    return allowedEnvVars.includes(name) ? value : '';
  };
  const sent = headers
    .filter(([name]) => !ofTheBody.has(name.trim().toLowerCase()))
    .map(([name, text]) => [
      name,
      text.replace(variable, (_, inBraces?: string, bare?: string) => valueOf(name, inBraces ?? bare ?? '')).replace(/[\r\n\0]/g, ''),
    ]);
  return { headers: { 'content-type': 'application/json', ...Object.fromEntries(sent) }, missing };
}

const variable = /\$\{([A-Z_][A-Z0-9_]*)\}|\$([A-Z_][A-Z0-9_]*)/g;

/** The host computes these headers itself. */
const ofTheBody: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);
