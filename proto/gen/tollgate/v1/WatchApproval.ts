// Original file: tollgate/v1/approval.proto


export interface WatchApproval {
  'approvalId'?: (string);
}

export interface WatchApproval__Output {
  'approvalId': (string);
}
