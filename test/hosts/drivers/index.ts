// The coding agents that are run for real, in the order of the table.
import type { Driver } from '../driver.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { copilotCli } from './copilot-cli.ts';
import { geminiCli } from './gemini-cli.ts';
import { opencode } from './opencode.ts';

export const drivers: readonly Driver[] = [claudeCode, codex, geminiCli, copilotCli, opencode, cline];
