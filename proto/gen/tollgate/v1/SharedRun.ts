// Original file: tollgate/v1/quota.proto


export interface SharedRun {
  'id'?: (string);
  'agentId'?: (string);
  'keyId'?: (string);
  'sub'?: (string);
  'sessionId'?: (string);
  'agents'?: (string)[];
}

export interface SharedRun__Output {
  'id': (string);
  'agentId': (string);
  'keyId': (string);
  'sub': (string);
  'sessionId': (string);
  'agents': (string)[];
}
