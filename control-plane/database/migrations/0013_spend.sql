-- Up Migration

-- What each caller's runs cost on each day (UTC), in µ¢. Its row is the first one that whoever reserves or settles locks.
create table spend (
  workspace_id bigint not null references workspace on delete cascade,
  sub text collate "C" not null,
  day date not null,
  reserved bigint not null default 0 check (reserved >= 0),
  settled bigint not null default 0 check (settled >= 0),
  primary key (workspace_id, sub, day)
);

-- What is put aside for a model call that is under way: counted in the day, in its run and in every run above it.
create table spend_reservation (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  run_id text collate "C" not null,
  sub text collate "C" not null,
  -- Of when it was made; settled there, also on the next one.
  day date not null,
  amount bigint not null check (amount >= 0),
  primary key (workspace_id, id)
);
create index spend_reservation_run on spend_reservation (workspace_id, run_id);

-- Down Migration
drop table spend_reservation, spend;
