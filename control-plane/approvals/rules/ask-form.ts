// Checks the form of what a sidecar asks. This is the only place that does so. Sizes are in bytes unless the name says
// otherwise. Pure.
import { type ApprovalAsk, type AskedCall, bounds, canonicalJson, isTier, type JsonSize } from '@tollgate/proto/contract';
import { isPlainText, prettyJson } from './plain-text.ts';
import { rulesMax } from './terms.ts';

/** The maxima of one ask. */
const askSizes = {
  shownInput: bounds.payloadCharacters,
  /** As people read it, in lines, in UTF-16 code units. A deep value has long lines. */
  shownText: 8 * 1_048_576,
  hidden: 262_144,
  hiddenValues: 1_000,
  findings: 200,
} as const;

const agentsMax = 64;
const wordLength = 100;
const agentTypeLength = 3 * bounds.nameLength + 4;
const placeLength = 2_000;
const requestIdLength = 100;
const sha256 = /^[0-9a-f]{64}$/;

const isName = (text: string, max: number = bounds.nameLength, min = 1): boolean =>
  text.length >= min && text.length <= max && isPlainText(text);

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Returns what is wrong with the call; null: nothing is wrong with its form. The rules were read before. */
export function callProblem({ keyId, originSub, sessionId, agents, agentType, tier, tool, inputSha256, rules }: AskedCall): string | null {
  const names = { key_id: keyId, origin_sub: originSub, session_id: sessionId, tool };
  for (const [name, text] of Object.entries(names))
    if (!isName(text)) return `call.${name} must be 1 to ${bounds.nameLength} characters without NUL`;
  if (agents.length > agentsMax || !agents.every((agent) => isName(agent, bounds.nameLength, 0)))
    return `call.agents must be at most ${agentsMax} names`;
  if (!isName(agentType, agentTypeLength, 0)) return `call.agent_type must be at most ${agentTypeLength} characters`;
  if (!isTier(tier)) return 'call.tier must be a tier';
  if (!sha256.test(inputSha256)) return 'call.input_sha256 must be 32 bytes';
  if (rules.length === 0 || rules.length > rulesMax) return `call.rules must be 1 to ${rulesMax}`;
  return new Set(rules.map(({ digest }) => digest)).size === rules.length ? null : 'call.rules must name each rule only once';
}

/** Returns what is wrong with the ask; null: nothing is wrong with its form. */
export function askProblem({ call, shownInput, findings, hidden, claimedClient, revision, roundId }: ApprovalAsk): string | null {
  const problem = callProblem(call);
  if (problem !== null) return problem;
  if (Buffer.byteLength(shownInput) > askSizes.shownInput || !isJson(shownInput))
    return `shown_input must be JSON text of at most ${askSizes.shownInput} bytes`;
  if (prettyJson(shownInput).length > askSizes.shownText)
    return `shown_input must have at most ${askSizes.shownText} characters when it is printed in lines`;
  if (findings.length > askSizes.findings || !findings.every(({ kind, count }) => isName(kind, wordLength) && isCount(count)))
    return `findings must be at most ${askSizes.findings} kinds with a count`;
  const areHidden = hidden.every(
    ({ path, kind, length, value }) => isName(path, placeLength, 0) && isName(kind, wordLength) && isCount(length) && isJson(value),
  );
  if (hidden.length > askSizes.hiddenValues || !areHidden || hiddenBytes(hidden) > askSizes.hidden)
    return `hidden must be at most ${askSizes.hiddenValues} values with a path, a kind and a length, of ${askSizes.hidden} bytes together`;
  if (!isName(claimedClient, bounds.nameLength, 0)) return `claimed_client must be at most ${bounds.nameLength} characters`;
  if (!isName(roundId, bounds.nameLength, 0)) return `round_id must be at most ${bounds.nameLength} characters`;
  return isName(revision.epoch, wordLength) && isCount(revision.number) ? null : 'revision must be an epoch and a number';
}

const hiddenBytes = (hidden: ApprovalAsk['hidden']): number =>
  hidden.reduce((sum, { path, kind, value }) => sum + Buffer.byteLength(path) + kind.length + Buffer.byteLength(value), 0);

/** Returns the number of bytes that a call takes, roughly. */
export const callBytes = ({ rules }: Pick<AskedCall, 'rules'>): number =>
  1_024 + rules.reduce((sum, { document, path, terms }) => sum + document.length + path.length + JSON.stringify(terms).length, 0);

/** Returns the number of bytes that an approval of this ask keeps in the database, roughly. */
export const keptBytes = ({ call, shownInput, hidden }: ApprovalAsk): number =>
  callBytes(call) + Buffer.byteLength(shownInput) + hiddenBytes(hidden);

export const isRequestId = (text: string): boolean => isName(text, requestIdLength);

/** Like an input, so that no sidecar can send what this process could not print. Marks of redaction may have made it longer. */
const shownSize: JsonSize = { characters: Number.POSITIVE_INFINITY, nodes: bounds.jsonNodes };

function isJson(text: string): boolean {
  try {
    canonicalJson(JSON.parse(text), shownSize);
    return isPlainText(text);
  } catch {
    return false;
  }
}
