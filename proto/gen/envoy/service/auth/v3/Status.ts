// Original file: envoy/service/auth/v3/external_auth.proto


export interface Status {
  'code'?: (number);
  'message'?: (string);
}

export interface Status__Output {
  'code': (number);
  'message': (string);
}
