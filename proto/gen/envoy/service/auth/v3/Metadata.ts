// Original file: envoy/service/auth/v3/external_auth.proto

import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from '../../../../google/protobuf/Struct.ts';

export interface Metadata {
  'filterMetadata'?: ({[key: string]: _google_protobuf_Struct});
}

export interface Metadata__Output {
  'filterMetadata': ({[key: string]: _google_protobuf_Struct__Output});
}
