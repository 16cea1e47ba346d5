"""The policy that the tests run under."""

ask = {"permission": "ask", "ask": {"approvers": ["role:admin"]}}
small = {"name": "small", "when": "args.amount <= 100", "permission": "allow"}

workspace_policy = {
    "tools": {
        "github.delete_*": {"api": {"permission": "deny"}},
        "mail.*": {"api": {"transform": "redact"}},
        "payments.transfer": {"api": {**ask, "cases": [small]}},
        "payments.short": {"api": {"permission": "ask", "ask": {"approvers": ["role:admin"], "waitSeconds": 1}}},
        "titled": {"api": {"cases": [{"name": "bad", "when": "args.title == 'bad'", "permission": "deny"}]}},
        # The same under names that providers of models accept.
        "github_delete_*": {"api": {"permission": "deny"}},
        "mail_*": {"api": {"transform": "redact"}},
        "payments_transfer": {"api": {**ask, "cases": [small]}},
        # Of MCP servers.
        "desk.github_delete_repo": {"api": {"permission": "deny"}},
        "desk.mail_send": {"api": {"transform": "redact"}},
        "once": {"api": {"rateLimit": 1}},
        "Bash": {
            "api": {"cases": [{"name": "no push", "when": "args.command.contains('push')", "permission": "deny"}]}
        },
        "Read": {"api": {"transform": "redact"}},
    }
}

# Other agents that the tests name are not registered, so they have no budget.
registered_agent = {"name": "planner", "model": "demo/echo", "enabledTools": ["github.*"], "maxBudgetCents": 1_000}
