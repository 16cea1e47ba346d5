-- Up Migration

-- Who was shown the secret: whoever made the key, or rotated it last. Their going, and a rise of the key above them,
-- ends it; a service key has its role from `made_by` all the same.
alter table api_key add column secret_by text collate "C";
update api_key set secret_by = made_by;
alter table api_key alter column secret_by set not null;

-- Down Migration
alter table api_key drop column secret_by;
