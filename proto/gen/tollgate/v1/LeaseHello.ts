// Original file: tollgate/v1/quota.proto


export interface LeaseHello {
  'sidecarId'?: (string);
  'bootId'?: (string);
}

export interface LeaseHello__Output {
  'sidecarId': (string);
  'bootId': (string);
}
