-- Up Migration

-- How far the clock of a sidecar is ahead of that of its control plane, as it reports; negative: behind; null: it has not
-- reported it.
alter table sidecar add column clock_ahead_seconds bigint;

-- Down Migration
alter table sidecar drop column clock_ahead_seconds;
