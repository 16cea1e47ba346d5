// Original file: tollgate/v1/approval.proto


export interface ReturnUse {
  'approvalId'?: (string);
  'requestId'?: (string);
}

export interface ReturnUse__Output {
  'approvalId': (string);
  'requestId': (string);
}
