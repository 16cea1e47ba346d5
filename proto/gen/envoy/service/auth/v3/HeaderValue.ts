// Original file: envoy/service/auth/v3/external_auth.proto


export interface HeaderValue {
  'key'?: (string);
  'value'?: (string);
  'rawValue'?: (Buffer | Uint8Array | string);
}

export interface HeaderValue__Output {
  'key': (string);
  'value': (string);
  'rawValue': (Buffer);
}
