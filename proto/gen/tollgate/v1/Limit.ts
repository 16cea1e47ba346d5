// Original file: tollgate/v1/quota.proto


export interface Limit {
  'originSub'?: (string);
  'id'?: (string);
}

export interface Limit__Output {
  'originSub': (string);
  'id': (string);
}
