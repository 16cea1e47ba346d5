-- Up Migration

-- When a thing was last changed, for writes that are made on a condition.
create index admin_event_target on admin_event (workspace_id, target, revision);

-- Down Migration
drop index admin_event_target;
