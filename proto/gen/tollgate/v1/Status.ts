// Original file: tollgate/v1/policy.proto

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
}
