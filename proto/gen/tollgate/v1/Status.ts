// Original file: tollgate/v1/policy.proto

import type { ClockDifference as _tollgate_v1_ClockDifference, ClockDifference__Output as _tollgate_v1_ClockDifference__Output } from '../../tollgate/v1/ClockDifference.ts';
import type { Long } from '@grpc/proto-loader';

export interface Status {
  'spoolRecords'?: (number | string | Long);
  'spoolBytes'?: (number | string | Long);
  'spoolAgeMs'?: (number | string | Long);
  'unrecorded'?: (number | string | Long);
  'outageDecisions'?: (number | string | Long);
  'version'?: (string);
  'refusedSpools'?: (number | string | Long);
  'refusedRecords'?: (number | string | Long);
  'clock'?: (_tollgate_v1_ClockDifference | null);
}

export interface Status__Output {
  'spoolRecords': (number);
  'spoolBytes': (number);
  'spoolAgeMs': (number);
  'unrecorded': (number);
  'outageDecisions': (number);
  'version': (string);
  'refusedSpools': (number);
  'refusedRecords': (number);
  'clock': (_tollgate_v1_ClockDifference__Output | null);
}
