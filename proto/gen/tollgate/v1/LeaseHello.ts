// Original file: tollgate/v1/quota.proto


export interface LeaseHello {
  'sidecarId'?: (string);
  'holderSecret'?: (Buffer | Uint8Array | string);
  'capabilities'?: (string)[];
}

export interface LeaseHello__Output {
  'sidecarId': (string);
  'holderSecret': (Buffer);
  'capabilities': (string)[];
}
