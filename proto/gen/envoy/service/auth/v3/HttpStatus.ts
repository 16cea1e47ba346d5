// Original file: envoy/service/auth/v3/external_auth.proto


export interface HttpStatus {
  'code'?: (number);
}

export interface HttpStatus__Output {
  'code': (number);
}
