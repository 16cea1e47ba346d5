// Original file: tollgate/v1/approval.proto

import type { Long } from '@grpc/proto-loader';

export interface ReadApproval {
  'number'?: (number | string | Long);
  'approvalId'?: (string);
  'keyId'?: (string);
}

export interface ReadApproval__Output {
  'number': (number);
  'approvalId': (string);
  'keyId': (string);
}
