-- Up Migration
-- Events are counted within their workspace: an id from a sequence that all share tells each how busy the others are.

alter table admin_event add column position integer;

update admin_event set position = numbered.position
from (select workspace_id, id, row_number() over (partition by workspace_id, revision order by id) as position from admin_event) as numbered
where admin_event.workspace_id = numbered.workspace_id and admin_event.id = numbered.id;

alter table admin_event
  alter column position set not null,
  drop constraint admin_event_pkey,
  drop column id,
  add primary key (workspace_id, revision, position);

-- Down Migration
alter table admin_event drop constraint admin_event_pkey, add column id bigint;

update admin_event set id = numbered.id
from (select workspace_id, revision, position, row_number() over (order by workspace_id, revision, position) as id from admin_event) as numbered
where admin_event.workspace_id = numbered.workspace_id and admin_event.revision = numbered.revision
  and admin_event.position = numbered.position;

alter table admin_event alter column id set not null;
alter table admin_event
  alter column id add generated always as identity,
  drop column position,
  add primary key (workspace_id, id);
select setval(pg_get_serial_sequence('admin_event', 'id'), (select coalesce(max(id), 0) + 1 from admin_event), false);
