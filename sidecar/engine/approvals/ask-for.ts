// Builds what people are asked for one call.
import { type ApprovalAsk, type AskingRule, bounds, digestText, type Finding } from '@tollgate/proto/contract';
import type { Caller } from '../decide/caller.ts';
import { withoutNumbers } from '../redact/marks.ts';
import { hiddenValues } from './hidden-values.ts';

export interface AskedFor {
  readonly sessionId: string;
  readonly client: { readonly name: string; readonly version?: string };
  readonly tool: string;
  readonly rules: readonly AskingRule[];
  /** The canonical JSON of the input, before redaction. */
  readonly text: string;
  /** The same after redaction, with its keys in the same order. */
  readonly shown: string;
  readonly findings: readonly Finding[];
  /**
   * True: the tool receives the redacted input, so nothing is hidden. The approval is then bound to both forms: if redaction
   * changes while the call waits, the tool would receive what no one was shown.
   */
  readonly isRedacted: boolean;
}

export function askFor(caller: Caller, { sessionId, client, tool, rules, text, shown, findings, isRedacted }: AskedFor): ApprovalAsk {
  const { hops, claim, index } = caller;
  const last = hops.at(-1);
  return {
    call: {
      keyId: claim.identity.keyId,
      originSub: claim.identity.sub,
      sessionId,
      agents: hops.map(({ name, profile }) => profile?.id ?? name),
      agentType: last?.agentType ?? '',
      tier: last?.tier ?? 'api',
      tool,
      inputSha256: digestText(isRedacted && shown !== text ? `${digestText(text)} ${digestText(withoutNumbers(shown))}` : text),
      rules,
    },
    shownInput: shown,
    findings,
    hidden: isRedacted ? [] : hiddenValues(text, shown),
    claimedClient: (client.version === undefined ? client.name : `${client.name} ${client.version}`).slice(0, bounds.nameLength),
    revision: { epoch: index.epoch, number: index.revision },
    mayCreate: true,
    roundId: '',
  };
}
