-- Up Migration

-- New tables only, and two columns of a table with one row: nothing that is in use is locked for long.

-- From it the keys are derived with which approvals bind their calls and seal what is not shown. Null: none was needed yet.
alter table deployment
  add column approval_secret bytea,
  -- Whether it is encrypted with a key of TOLLGATE_SECRET_KEY.
  add column approval_secret_sealed boolean not null default false;

-- One row a call that a rule asks a person about. All times are by the clock of the database.
create table approval (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  -- Calls of one round that meet the same rules are one question.
  question_id text collate "C" not null,
  state text not null check (state in ('pending', 'approved', 'denied', 'expired', 'cancelled', 'used')),
  -- Raised by each step.
  version integer not null default 1,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  -- Until then a person may answer.
  expires_at timestamptz not null,
  -- Until then a use may begin. Null: not approved.
  usable_until timestamptz,
  -- When it expires without a further step. Null: it is final.
  due_at timestamptz,
  answered_at timestamptz,
  answered_by text collate "C",
  note text,
  -- No foreign keys: it outlives them.
  key_id text collate "C" not null,
  origin_sub text collate "C" not null,
  session_id text collate "C" not null,
  agents text[] collate "C" not null,
  agent_type text collate "C" not null,
  tier text collate "C" not null,
  tool text collate "C" not null,
  -- The rules that ask, with their terms. Not jsonb, which would reorder them.
  rules json not null,
  rule_digests text[] collate "C" not null,
  -- Everyone whom a rule names, for the lists of members.
  approvers text[] collate "C" not null,
  -- HMAC-SHA-256 of the whole call, its input and the digests of its rules included.
  call_hmac bytea not null,
  valid_seconds integer not null,
  uses integer not null,
  need integer not null,
  revision_epoch text not null,
  revision bigint not null,
  claimed_client text not null,
  round_id text collate "C" not null,
  shown_input text not null,
  findings json not null,
  -- Of what is not shown: path, kind and length.
  hidden json not null,
  -- What is not shown, sealed. Null: there is nothing, or it was erased when the approval became final.
  sealed bytea,
  revealed_by text[] collate "C" not null default '{}',
  bytes integer not null,
  primary key (workspace_id, id),
  check ((due_at is null) = (state not in ('pending', 'approved'))),
  check (due_at is not null or sealed is null)
);
-- A call has one approval that is not final.
create unique index approval_open on approval (workspace_id, call_hmac) where state in ('pending', 'approved');
create index approval_denied on approval (workspace_id, call_hmac) where state = 'denied';
create index approval_newest on approval (workspace_id, created_at, id);
create index approval_changed on approval (workspace_id, changed_at);
create index approval_session on approval (workspace_id, session_id, created_at);
create index approval_sub on approval (workspace_id, origin_sub, created_at);
create index approval_question on approval (workspace_id, question_id);
create index approval_due on approval (due_at) where due_at is not null;
create index approval_old on approval (changed_at) where due_at is null;

-- The answers of persons who approve.
create table approval_answer (
  workspace_id bigint not null,
  approval_id text collate "C" not null,
  uid text collate "C" not null,
  -- Everyone behind the credential: the member, and of a key who made and who rotated it.
  persons text[] collate "C" not null,
  -- When the member was made, so that a later member of the same uid is not taken for this one.
  member_since timestamptz not null,
  via text not null check (via in ('key', 'session')),
  key_id text collate "C" not null,
  at timestamptz not null,
  primary key (workspace_id, approval_id, uid),
  foreign key (workspace_id, approval_id) references approval on delete cascade
);

create table approval_use (
  workspace_id bigint not null,
  approval_id text collate "C" not null,
  request_id text collate "C" not null,
  -- Null: it was returned before it was claimed.
  claimed_at timestamptz,
  -- Null: it is used. A returned use cannot be claimed again by its request.
  returned_at timestamptz,
  primary key (workspace_id, approval_id, request_id),
  foreign key (workspace_id, approval_id) references approval on delete cascade
);

-- Rules that a person denied for the rest of a session.
create table approval_session_denial (
  workspace_id bigint not null,
  key_id text collate "C" not null,
  origin_sub text collate "C" not null,
  session_id text collate "C" not null,
  rule_digest text collate "C" not null,
  approval_id text collate "C" not null,
  primary key (workspace_id, key_id, origin_sub, session_id, rule_digest),
  foreign key (workspace_id, approval_id) references approval on delete cascade
);
create index approval_session_denial_approval on approval_session_denial (workspace_id, approval_id);

-- Each step of an approval.
create table approval_event (
  workspace_id bigint not null,
  approval_id text collate "C" not null,
  version integer not null,
  at timestamptz not null,
  action text not null,
  -- Of the caller that made the step. Empty: time made it.
  sub text collate "C" not null,
  key_id text collate "C" not null,
  detail jsonb not null,
  primary key (workspace_id, approval_id, version),
  foreign key (workspace_id, approval_id) references approval on delete cascade
);

-- Down Migration
drop table approval_event, approval_session_denial, approval_use, approval_answer, approval;
alter table deployment drop column approval_secret_sealed, drop column approval_secret;
