// Original file: tollgate/v1/approval.proto

import type { ApprovalHello as _tollgate_v1_ApprovalHello, ApprovalHello__Output as _tollgate_v1_ApprovalHello__Output } from '../../tollgate/v1/ApprovalHello.ts';
import type { AskApproval as _tollgate_v1_AskApproval, AskApproval__Output as _tollgate_v1_AskApproval__Output } from '../../tollgate/v1/AskApproval.ts';
import type { WatchApproval as _tollgate_v1_WatchApproval, WatchApproval__Output as _tollgate_v1_WatchApproval__Output } from '../../tollgate/v1/WatchApproval.ts';
import type { ClaimUse as _tollgate_v1_ClaimUse, ClaimUse__Output as _tollgate_v1_ClaimUse__Output } from '../../tollgate/v1/ClaimUse.ts';
import type { ReturnUse as _tollgate_v1_ReturnUse, ReturnUse__Output as _tollgate_v1_ReturnUse__Output } from '../../tollgate/v1/ReturnUse.ts';
import type { ReadApproval as _tollgate_v1_ReadApproval, ReadApproval__Output as _tollgate_v1_ReadApproval__Output } from '../../tollgate/v1/ReadApproval.ts';

export interface ApproveRequest {
  'hello'?: (_tollgate_v1_ApprovalHello | null);
  'ask'?: (_tollgate_v1_AskApproval | null);
  'watch'?: (_tollgate_v1_WatchApproval | null);
  'claim'?: (_tollgate_v1_ClaimUse | null);
  'return'?: (_tollgate_v1_ReturnUse | null);
  'read'?: (_tollgate_v1_ReadApproval | null);
  'message'?: "hello"|"ask"|"watch"|"claim"|"return"|"read";
}

export interface ApproveRequest__Output {
  'hello'?: (_tollgate_v1_ApprovalHello__Output | null);
  'ask'?: (_tollgate_v1_AskApproval__Output | null);
  'watch'?: (_tollgate_v1_WatchApproval__Output | null);
  'claim'?: (_tollgate_v1_ClaimUse__Output | null);
  'return'?: (_tollgate_v1_ReturnUse__Output | null);
  'read'?: (_tollgate_v1_ReadApproval__Output | null);
  'message'?: "hello"|"ask"|"watch"|"claim"|"return"|"read";
}
