#!/usr/bin/env bash
# Writes the TypeScript types of the contract to proto/gen. CI runs it and the difference must be empty.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf gen
npx proto-loader-gen-types --longs=Number --enums=String --defaults --oneofs --grpcLib=@grpc/grpc-js \
  --includeDirs=. --outDir=gen --importFileExtension=.ts --targetFileExtension=.ts \
  tollgate/v1/policy.proto tollgate/v1/audit.proto tollgate/v1/quota.proto tollgate/v1/approval.proto \
  envoy/service/auth/v3/external_auth.proto agentgateway/dev/ext_mcp/ext_mcp.proto
