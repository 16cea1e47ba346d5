import type { FastifyInstance } from 'fastify';
import { readAuthorities } from './operations/read-authorities.ts';
import type { AppDeps } from '../http/deps.ts';
import { addRoute, ok } from '../http/route.ts';
import { okAnd, text } from '../http/shapes.ts';

export function addAuthorityRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/api/v1/authorities',
    id: 'readAuthorities',
    tag: 'Sidecars',
    summary: 'Reads the authorities that sidecars verify the control plane with, for TOLLGATE_CA',
    description: 'There are several while one replaces another. A sidecar that enrols receives them with each certificate.',
    answers: okAnd({ authorities: { ...text, description: 'certificates, as PEM' } }),
    refusals: ['not_found'],
    operation: readAuthorities,
    schema: {},
    input: () => undefined,
    answer: (authorities) => ok({ authorities }),
  });
}
