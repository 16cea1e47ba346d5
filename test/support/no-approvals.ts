// The parts of approvals for a program that asks no one.
import { AppError } from '@tollgate/proto/contract';
import { type ApprovalParts, noApprovalMetrics } from '../../control-plane/approvals/operations/parts.ts';
import { fatigueBounds } from '../../control-plane/approvals/rules/fatigue.ts';

export const noDeliveries: ApprovalParts['deliveries'] = {
  start: () => Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'there is no database here' })),
  startIfNeeded: async () => undefined,
  removeOld: async () => undefined,
};

export const noApprovals: ApprovalParts = {
  keys: () => Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'there is no database here' })),
  metrics: noApprovalMetrics,
  fatigue: fatigueBounds,
  changes: { onChange: () => () => undefined },
  deliveries: noDeliveries,
};
