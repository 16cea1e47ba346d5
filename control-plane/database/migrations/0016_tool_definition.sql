-- Up Migration

-- [[tool, digest of its definition]]: what owners and admins have admitted. Tools in `tools` have a `digest` from now on;
-- those that were discovered before have none, and are admitted once they were discovered again.
alter table tool_server add column admitted json not null default '[]';

-- Down Migration
alter table tool_server drop column admitted;
