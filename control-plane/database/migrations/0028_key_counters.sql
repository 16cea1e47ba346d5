-- Up Migration

-- Only the counters that an API key has begun are in this index, which is read for no others. It begins with the workspace as the primary key
-- does, so PostgreSQL took it to find counters by their keys, and read all counters of the workspace. It cannot do so with a partial index.
-- Side by side: counters are few or short-lived, and who writes one waits for the index for less than a second.
drop index quota_counter_key;
create index quota_counter_key on quota_counter (workspace_id, key_id, kept_until) where key_id is not null;

-- Down Migration
drop index quota_counter_key;
create index quota_counter_key on quota_counter (workspace_id, key_id, kept_until);
