// The reason of a call in one line of a list, in which only its beginning is seen. Pure.

/**
 * What a rule says of itself comes first, and then the place of the rule. The tool, which has a column of its own, is
 * left out.
 */
export function reasonInLine(reason: string, tool: string): string {
  const short = reason.replace(` of ${JSON.stringify(tool)}`, '');
  const end = short.indexOf('): ');
  if (end < 0) return short;
  const own = short.slice(end + '): '.length);
  return own === '' ? short : `${own} · ${short.slice(0, end + 1)}`;
}
