// Original file: tollgate/v1/approval.proto

import type { AskedCall as _tollgate_v1_AskedCall, AskedCall__Output as _tollgate_v1_AskedCall__Output } from '../../tollgate/v1/AskedCall.ts';
import type { Revision as _tollgate_v1_Revision, Revision__Output as _tollgate_v1_Revision__Output } from '../../tollgate/v1/Revision.ts';
import type { Long } from '@grpc/proto-loader';

export interface _tollgate_v1_AskApproval_Finding {
  'kind'?: (string);
  'count'?: (number);
}

export interface _tollgate_v1_AskApproval_Finding__Output {
  'kind': (string);
  'count': (number);
}

export interface _tollgate_v1_AskApproval_HiddenValue {
  'path'?: (string);
  'kind'?: (string);
  'length'?: (number);
  'value'?: (string);
}

export interface _tollgate_v1_AskApproval_HiddenValue__Output {
  'path': (string);
  'kind': (string);
  'length': (number);
  'value': (string);
}

export interface AskApproval {
  'number'?: (number | string | Long);
  'call'?: (_tollgate_v1_AskedCall | null);
  'shownInput'?: (string);
  'findings'?: (_tollgate_v1_AskApproval_Finding)[];
  'hidden'?: (_tollgate_v1_AskApproval_HiddenValue)[];
  'claimedClient'?: (string);
  'revision'?: (_tollgate_v1_Revision | null);
  'mayCreate'?: (boolean);
  'roundId'?: (string);
}

export interface AskApproval__Output {
  'number': (number);
  'call': (_tollgate_v1_AskedCall__Output | null);
  'shownInput': (string);
  'findings': (_tollgate_v1_AskApproval_Finding__Output)[];
  'hidden': (_tollgate_v1_AskApproval_HiddenValue__Output)[];
  'claimedClient': (string);
  'revision': (_tollgate_v1_Revision__Output | null);
  'mayCreate': (boolean);
  'roundId': (string);
}
