// The position of an agent in the list of all agents, and the cursor that carries it from page to page.
import { isInstant } from '../../base/instant.ts';
import type { Agent } from './agent.ts';

/** The position in the order "newest first". `number` decides between agents that were created at the same time. */
export interface AgentPosition {
  readonly createdAt: Date;
  readonly number: number;
}

export interface PositionedAgent {
  readonly agent: Agent;
  readonly position: AgentPosition;
}

const cursorForm = /^(\d{1,15})\.(\d{1,15})$/;

export const agentCursorOf = ({ createdAt, number }: AgentPosition): string =>
  Buffer.from(`${createdAt.getTime()}.${number}`).toString('base64url');

export function parseAgentCursor(text: string): AgentPosition | null {
  const [, ms, number] = cursorForm.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  return number === undefined || !isInstant(Number(ms)) ? null : { createdAt: new Date(Number(ms)), number: Number(number) };
}
