-- Up Migration

-- Null: nobody knows, since whoever ran it died.
alter table run
  alter column prompt_tokens drop not null,
  alter column completion_tokens drop not null,
  alter column tool_calls drop not null;

-- Down Migration
update run set prompt_tokens = coalesce(prompt_tokens, 0), completion_tokens = coalesce(completion_tokens, 0), tool_calls = coalesce(tool_calls, 0);
alter table run
  alter column prompt_tokens set not null,
  alter column completion_tokens set not null,
  alter column tool_calls set not null;
