// Original file: tollgate/v1/audit.proto


export interface ShipHello {
  'sidecarId'?: (string);
  'capabilities'?: (string)[];
}

export interface ShipHello__Output {
  'sidecarId': (string);
  'capabilities': (string)[];
}
