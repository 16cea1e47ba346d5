// Original file: tollgate/v1/approval.proto

import type { AskingRule as _tollgate_v1_AskingRule, AskingRule__Output as _tollgate_v1_AskingRule__Output } from '../../tollgate/v1/AskingRule.ts';

export interface AskedCall {
  'keyId'?: (string);
  'originSub'?: (string);
  'sessionId'?: (string);
  'agents'?: (string)[];
  'agentType'?: (string);
  'tier'?: (string);
  'tool'?: (string);
  'inputSha256'?: (Buffer | Uint8Array | string);
  'rules'?: (_tollgate_v1_AskingRule)[];
}

export interface AskedCall__Output {
  'keyId': (string);
  'originSub': (string);
  'sessionId': (string);
  'agents': (string)[];
  'agentType': (string);
  'tier': (string);
  'tool': (string);
  'inputSha256': (Buffer);
  'rules': (_tollgate_v1_AskingRule__Output)[];
}
