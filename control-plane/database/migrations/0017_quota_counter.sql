-- Up Migration

-- What several sidecars share, a row each: rate limits and caps of runs. `state` is the ledger's; see domain/quota/ledger.ts.
-- Nothing but the key is indexed, so that an update stays on its page, which has room for that.
create table quota_counter (
  workspace_id bigint not null references workspace on delete cascade,
  -- SHA-256 of the counter's key, in hex.
  key text collate "C" not null,
  -- Null: nobody has been granted anything.
  state jsonb,
  -- Nothing of it counts any more after this, and no clock error could bring it back.
  kept_until timestamptz not null,
  primary key (workspace_id, key)
) with (fillfactor = 50);

-- Down Migration
drop table quota_counter;
