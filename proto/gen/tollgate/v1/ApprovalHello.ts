// Original file: tollgate/v1/approval.proto


export interface ApprovalHello {
  'sidecarId'?: (string);
  'capabilities'?: (string)[];
}

export interface ApprovalHello__Output {
  'sidecarId': (string);
  'capabilities': (string)[];
}
