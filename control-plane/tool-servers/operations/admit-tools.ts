// Admits the last discovered definitions of a server's tools. An owner or admin admits the definitions that they have
// read in the answers of this API. The server may report other definitions now, and `If-Match` guarantees that those
// are not admitted.
import { isServerName } from '@tollgate/proto/contract';
import { accepted } from '../../base/refusal.ts';
import { admit, hintsOf, parseAdmission } from '../rules/admission.ts';
import { findToolServer, updateAdmitted } from '../store/tool-servers.ts';
import { writeOperation } from '../../access/operation.ts';
import { refuseMissing } from './read-tool-servers.ts';

interface Admission {
  readonly name: string;
  readonly body: unknown;
}

export const admitTools = writeOperation('tool-server.write', async ({ client, workspaceId, revision }, { name, body }: Admission) => {
  const wanted = accepted(parseAdmission(body));
  const server = (isServerName(name) ? await findToolServer(client, workspaceId, name) : null) ?? refuseMissing();
  const admitted = accepted(admit(server.admitted, server, wanted));
  const hints = hintsOf(admitted, server.tools, server.hints);
  await updateAdmitted(client, workspaceId, name, { admitted, hints, revision });
  return {
    result: { server: { ...server, admitted, hints, revision } },
    target: `tool-server/${name}`,
    detail: { change: 'admit', tools: wanted === null ? server.tools.length : wanted.length },
  };
});
