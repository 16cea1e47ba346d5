-- Up Migration

-- The authorities that vouch for control planes and sidecars; all control planes share them.
create table authority (
  id bigint generated always as identity primary key,
  -- PEM.
  certificate text not null,
  -- Sealed under the operator's key, for this certificate.
  sealed_key bytea not null,
  made_at timestamptz not null,
  expires_at timestamptz not null
);

-- Down Migration
drop table authority;
