// Adjusts the capabilities that a server announces. Its list of tools can change with every policy change, and features
// that the proxy does not forward are removed.
import { memberAt, withMember, withoutMember } from '../../../upstream/wire/json-text.ts';
import type { Pending } from './pending.ts';

const capabilities = ['result', 'capabilities'];

export const greetingPending = (method: string, passing: Pending['passing']): Pending => ({
  method,
  settle: ({ text }) => Promise.resolve(throughProxy(text)),
  abandon: () => Promise.resolve(),
  passing,
});

function throughProxy(text: string): string {
  if (memberAt(text, capabilities) === null) return text;
  const withoutTasks = [
    [...capabilities, 'tasks'],
    [...capabilities, 'extensions', 'io.modelcontextprotocol/tasks'],
  ].reduce((result, path) => (memberAt(result, path) === null ? result : withoutMember(result, path)), text);
  return withMember(withoutTasks, [...capabilities, 'tools', 'listChanged'], 'true');
}
