-- Up Migration

-- Side by side: the checks accept more than before. The previous version changes nothing of a run that waits, but it cannot
-- show one: it answers 500 for it, and for lists that contain it, until it is upgraded.

-- Locks `run` exclusively for a moment: a column that is not written to its rows, and two checks that are replaced without
-- reading the rows (NOT VALID). Each row that the old checks accepted, the new ones accept too.
alter table run
  -- Raised each time the run is resumed. A control plane that has resumed an earlier one cannot write any more.
  add column generation integer not null default 0,
  drop constraint run_status_check,
  add constraint run_status_check check (status in ('running', 'waiting', 'completed', 'failed', 'cancelled')) not valid,
  drop constraint run_check1,
  add constraint run_check1 check ((status in ('running', 'waiting')) = (ended_at is null)) not valid;

-- A run that waits for persons, or that was resumed and has not ended.
create table run_wait (
  workspace_id bigint not null,
  run_id text collate "C" not null,
  -- Made for each wait. A control plane that repeats its write finds it.
  wait_id text collate "C" not null,
  -- The approvals that the run waits for. They outlive the run.
  approval_ids text[] collate "C" not null,
  -- The instance whose client reads the events of the run. While this instance is live, only it resumes the run. Null: none.
  reader text collate "C",
  -- The conversation, the counts and the calls that wait, sealed. Null: the resumed run has made a call or asked its model
  -- since, so it cannot be resumed from here again.
  sealed bytea,
  since timestamptz not null,
  primary key (workspace_id, run_id),
  foreign key (workspace_id, run_id) references run on delete cascade
);
-- What is sealed does not become smaller.
alter table run_wait alter column sealed set storage external;

-- Down Migration
drop table run_wait;
update run set status = 'failed', ended_at = greatest(now(), started_at), error = 'the run waited for a person, and this release cannot resume it'
where status = 'waiting';
alter table run
  drop constraint run_status_check,
  add constraint run_status_check check (status in ('running', 'completed', 'failed', 'cancelled')) not valid,
  drop constraint run_check1,
  add constraint run_check1 check ((status = 'running') = (ended_at is null)) not valid,
  drop column generation;
