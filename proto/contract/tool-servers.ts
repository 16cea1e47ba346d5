// Checks the name, the address and the headers of a tool server. The same rules apply to servers of the control plane
// and to servers in a sidecar's gateway file.

const serverName = /^[a-z0-9][a-z0-9-]{0,62}$/;
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
// The characters that are permitted in a header value, because all parsers interpret them in the same way. The tab is
// the only control character among them.
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers of the transport itself, and those that define how a message is framed or where it is sent. */
const ownHeader =
  /^(?:accept(?:-encoding)?|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** Returns whether a text can be the name of a server. Other texts are not looked up. */
export const isServerName = (text: string): boolean => serverName.test(text);
export const serverNameWords = 'must be 1 to 63 of a-z 0-9 and -, not - first';

// Each function below returns the problem in words that follow the place, or null if there is no problem.

export const headerNameProblem = (name: string): string | null =>
  !headerName.test(name) ? 'is not the name of a header' : ownHeader.test(name) ? 'is a header that the connection itself sets' : null;

export const headerValueProblem = (value: string): string | null => (headerValue.test(value) ? null : 'must hold no control character');

/**
 * Returns the problem with the URL of a server. Null: there is no problem. `plainHttp`: whether plain HTTP is allowed.
 */
export function serverUrlProblem(value: string, plainHttp: boolean): string | null {
  if (!URL.canParse(value)) return 'must be a URL';
  const { protocol, username, password, hash } = new URL(value);
  if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https://';
  if (protocol === 'http:' && !plainHttp) return 'must begin with https://; plain http is for private networks';
  if (username !== '' || password !== '') return 'must hold no credentials; put them into headers';
  return hash !== '' || value.includes('#') ? 'must have no fragment' : null;
}

/** Parses `TOLLGATE_TOOL_COMMANDS`: programs separated by commas. */
export const parseCommands = (text: string | null): readonly string[] => text?.split(',').map((one) => one.trim()) ?? [];

export const commandsProblem = (text: string): string | null =>
  parseCommands(text).every((one) => one !== '') ? null : 'must be programs separated by commas';
