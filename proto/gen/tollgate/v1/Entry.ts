// Original file: tollgate/v1/policy.proto


export interface Entry {
  'key'?: (string);
  'value'?: (Buffer | Uint8Array | string);
}

export interface Entry__Output {
  'key': (string);
  'value': (Buffer);
}
