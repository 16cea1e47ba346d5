-- Up Migration
-- Which entries of the compiled policy a revision may have changed, so that whoever holds an earlier one reads only these. Triggers
-- write it: no write can forget it, nor can one of a control plane of before, which knows nothing of it.

-- Changes after this revision are all known. First, so that nobody is in the midst of a write.
alter table workspace add column changes_from bigint not null default 0;
update workspace set changes_from = revision;

create table workspace_change (
  workspace_id bigint not null references workspace on delete cascade,
  revision bigint not null,
  -- That of the entry in a snapshot.
  key text collate "C" not null,
  primary key (workspace_id, revision, key)
);

-- The keys that stand on a member.
create index api_key_member on api_key (workspace_id, (coalesce(uid, made_by)));

-- A workspace that is being removed is not there any more, and leaves nothing.
create function note_document_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key)
  select w.id, w.revision, 'document/' || c.layer || case c.layer when 'workspace' then '' when 'user' then ':' || c.key || ':' || c.part else ':' || c.key end
  from changed c join workspace w on w.id = c.workspace_id
  on conflict do nothing;
  return null;
end $$;

create function note_agent_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key)
  select w.id, w.revision, 'agent/' || c.id from changed c join workspace w on w.id = c.workspace_id
  on conflict do nothing;
  return null;
end $$;

-- A member's keys are there only with the member, and have its role.
create function note_member_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key)
  select w.id, w.revision, 'member/' || c.uid from changed c join workspace w on w.id = c.workspace_id
  union all
  select w.id, w.revision, 'key/' || k.id from changed c join workspace w on w.id = c.workspace_id
    join api_key k on k.workspace_id = c.workspace_id and coalesce(k.uid, k.made_by) = c.uid
  on conflict do nothing;
  return null;
end $$;

create function note_key_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key)
  select w.id, w.revision, 'key/' || c.id from changed c join workspace w on w.id = c.workspace_id
  on conflict do nothing;
  return null;
end $$;

create function note_server_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key)
  select w.id, w.revision, 'server/' || c.name from changed c join workspace w on w.id = c.workspace_id
  on conflict do nothing;
  return null;
end $$;

create function note_settings_change() returns trigger language plpgsql as $$
begin
  insert into workspace_change (workspace_id, revision, key) values (new.id, new.revision, 'settings') on conflict do nothing;
  return null;
end $$;

create trigger note_settings after update on workspace for each row
  when ((old.slug, old.frozen) is distinct from (new.slug, new.frozen)) execute function note_settings_change();

do $$
declare
  noted record;
begin
  for noted in select * from (values ('policy_document', 'note_document_change'), ('agent', 'note_agent_change'),
    ('member', 'note_member_change'), ('api_key', 'note_key_change'), ('tool_server', 'note_server_change')) as all_of (name, note)
  loop
    execute format('create trigger note_insert after insert on %I referencing new table as changed for each statement execute function %I()', noted.name, noted.note);
    execute format('create trigger note_delete after delete on %I referencing old table as changed for each statement execute function %I()', noted.name, noted.note);
    -- What a row was is gone, what it is has come: they may be of different keys.
    execute format('create trigger note_update_from after update on %I referencing old table as changed for each statement execute function %I()', noted.name, noted.note);
    execute format('create trigger note_update_to after update on %I referencing new table as changed for each statement execute function %I()', noted.name, noted.note);
  end loop;
end $$;

-- The epoch this database began with: what is on disk for it goes by that, also after it was restored.
alter table deployment add column first_epoch text;
-- It was set back by a restore, and what came after that copy was taken is missing in it.
alter table audit_stream add column restored boolean not null default false;

-- Down Migration
alter table audit_stream drop column restored;
alter table deployment drop column first_epoch;
do $$
declare
  noted text;
begin
  foreach noted in array array['policy_document', 'agent', 'member', 'api_key', 'tool_server']
  loop
    execute format('drop trigger note_insert on %I', noted);
    execute format('drop trigger note_delete on %I', noted);
    execute format('drop trigger note_update_from on %I', noted);
    execute format('drop trigger note_update_to on %I', noted);
  end loop;
end $$;
drop trigger note_settings on workspace;
drop function note_document_change, note_agent_change, note_member_change, note_key_change, note_server_change, note_settings_change;
drop index api_key_member;
drop table workspace_change;
alter table workspace drop column changes_from;
