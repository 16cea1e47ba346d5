// Lists the detectors of secrets: of those with a form of their own, and of those that only the issuer's name next to
// them identifies.
import type { Detector } from '../../detector.ts';
import { cloudKeys } from './cloud-keys.ts';
import { codeHostingTokens } from './code-hosting-tokens.ts';
import { messagingTokens } from './messaging-tokens.ts';
import { modelKeys } from './model-keys.ts';
import { nearIssuer } from './near-issuer.ts';
import { officeTokens } from './office-tokens.ts';
import { paymentKeys } from './payment-keys.ts';
import { registryTokens } from './registry-tokens.ts';
import { serviceTokens } from './service-tokens.ts';
import { tollgateKeys } from './tollgate-keys.ts';

export const tokens: readonly Detector[] = [
  ...tollgateKeys,
  ...cloudKeys,
  ...codeHostingTokens,
  ...paymentKeys,
  ...messagingTokens,
  ...modelKeys,
  ...registryTokens,
  ...serviceTokens,
  ...officeTokens,
  ...nearIssuer,
];
