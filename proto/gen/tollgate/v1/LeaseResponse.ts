// Original file: tollgate/v1/quota.proto

import type { Answers as _tollgate_v1_Answers, Answers__Output as _tollgate_v1_Answers__Output } from '../../tollgate/v1/Answers.ts';
import type { Recall as _tollgate_v1_Recall, Recall__Output as _tollgate_v1_Recall__Output } from '../../tollgate/v1/Recall.ts';

export interface LeaseResponse {
  'answers'?: (_tollgate_v1_Answers | null);
  'recall'?: (_tollgate_v1_Recall | null);
  'message'?: "answers"|"recall";
}

export interface LeaseResponse__Output {
  'answers'?: (_tollgate_v1_Answers__Output | null);
  'recall'?: (_tollgate_v1_Recall__Output | null);
  'message'?: "answers"|"recall";
}
