// Original file: tollgate/v1/quota.proto

import type { Answer as _tollgate_v1_Answer, Answer__Output as _tollgate_v1_Answer__Output } from '../../tollgate/v1/Answer.ts';

export interface Answers {
  'answers'?: (_tollgate_v1_Answer)[];
}

export interface Answers__Output {
  'answers': (_tollgate_v1_Answer__Output)[];
}
