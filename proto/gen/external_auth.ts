import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { AttributeContext as _envoy_service_auth_v3_AttributeContext, AttributeContext__Output as _envoy_service_auth_v3_AttributeContext__Output } from './envoy/service/auth/v3/AttributeContext.ts';
import type { AuthorizationClient as _envoy_service_auth_v3_AuthorizationClient, AuthorizationDefinition as _envoy_service_auth_v3_AuthorizationDefinition } from './envoy/service/auth/v3/Authorization.ts';
import type { CheckRequest as _envoy_service_auth_v3_CheckRequest, CheckRequest__Output as _envoy_service_auth_v3_CheckRequest__Output } from './envoy/service/auth/v3/CheckRequest.ts';
import type { CheckResponse as _envoy_service_auth_v3_CheckResponse, CheckResponse__Output as _envoy_service_auth_v3_CheckResponse__Output } from './envoy/service/auth/v3/CheckResponse.ts';
import type { DeniedHttpResponse as _envoy_service_auth_v3_DeniedHttpResponse, DeniedHttpResponse__Output as _envoy_service_auth_v3_DeniedHttpResponse__Output } from './envoy/service/auth/v3/DeniedHttpResponse.ts';
import type { HeaderMap as _envoy_service_auth_v3_HeaderMap, HeaderMap__Output as _envoy_service_auth_v3_HeaderMap__Output } from './envoy/service/auth/v3/HeaderMap.ts';
import type { HeaderValue as _envoy_service_auth_v3_HeaderValue, HeaderValue__Output as _envoy_service_auth_v3_HeaderValue__Output } from './envoy/service/auth/v3/HeaderValue.ts';
import type { HeaderValueOption as _envoy_service_auth_v3_HeaderValueOption, HeaderValueOption__Output as _envoy_service_auth_v3_HeaderValueOption__Output } from './envoy/service/auth/v3/HeaderValueOption.ts';
import type { HttpStatus as _envoy_service_auth_v3_HttpStatus, HttpStatus__Output as _envoy_service_auth_v3_HttpStatus__Output } from './envoy/service/auth/v3/HttpStatus.ts';
import type { Metadata as _envoy_service_auth_v3_Metadata, Metadata__Output as _envoy_service_auth_v3_Metadata__Output } from './envoy/service/auth/v3/Metadata.ts';
import type { OkHttpResponse as _envoy_service_auth_v3_OkHttpResponse, OkHttpResponse__Output as _envoy_service_auth_v3_OkHttpResponse__Output } from './envoy/service/auth/v3/OkHttpResponse.ts';
import type { Status as _envoy_service_auth_v3_Status, Status__Output as _envoy_service_auth_v3_Status__Output } from './envoy/service/auth/v3/Status.ts';
import type { ListValue as _google_protobuf_ListValue, ListValue__Output as _google_protobuf_ListValue__Output } from './google/protobuf/ListValue.ts';
import type { Struct as _google_protobuf_Struct, Struct__Output as _google_protobuf_Struct__Output } from './google/protobuf/Struct.ts';
import type { Value as _google_protobuf_Value, Value__Output as _google_protobuf_Value__Output } from './google/protobuf/Value.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  envoy: {
    service: {
      auth: {
        v3: {
          AttributeContext: MessageTypeDefinition<_envoy_service_auth_v3_AttributeContext, _envoy_service_auth_v3_AttributeContext__Output>
          Authorization: SubtypeConstructor<typeof grpc.Client, _envoy_service_auth_v3_AuthorizationClient> & { service: _envoy_service_auth_v3_AuthorizationDefinition }
          CheckRequest: MessageTypeDefinition<_envoy_service_auth_v3_CheckRequest, _envoy_service_auth_v3_CheckRequest__Output>
          CheckResponse: MessageTypeDefinition<_envoy_service_auth_v3_CheckResponse, _envoy_service_auth_v3_CheckResponse__Output>
          DeniedHttpResponse: MessageTypeDefinition<_envoy_service_auth_v3_DeniedHttpResponse, _envoy_service_auth_v3_DeniedHttpResponse__Output>
          HeaderMap: MessageTypeDefinition<_envoy_service_auth_v3_HeaderMap, _envoy_service_auth_v3_HeaderMap__Output>
          HeaderValue: MessageTypeDefinition<_envoy_service_auth_v3_HeaderValue, _envoy_service_auth_v3_HeaderValue__Output>
          HeaderValueOption: MessageTypeDefinition<_envoy_service_auth_v3_HeaderValueOption, _envoy_service_auth_v3_HeaderValueOption__Output>
          HttpStatus: MessageTypeDefinition<_envoy_service_auth_v3_HttpStatus, _envoy_service_auth_v3_HttpStatus__Output>
          Metadata: MessageTypeDefinition<_envoy_service_auth_v3_Metadata, _envoy_service_auth_v3_Metadata__Output>
          OkHttpResponse: MessageTypeDefinition<_envoy_service_auth_v3_OkHttpResponse, _envoy_service_auth_v3_OkHttpResponse__Output>
          Status: MessageTypeDefinition<_envoy_service_auth_v3_Status, _envoy_service_auth_v3_Status__Output>
        }
      }
    }
  }
  google: {
    protobuf: {
      ListValue: MessageTypeDefinition<_google_protobuf_ListValue, _google_protobuf_ListValue__Output>
      NullValue: EnumTypeDefinition
      Struct: MessageTypeDefinition<_google_protobuf_Struct, _google_protobuf_Struct__Output>
      Value: MessageTypeDefinition<_google_protobuf_Value, _google_protobuf_Value__Output>
    }
  }
}

