import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { assistantOperations } from './api/description/assistant-operations.ts'
import { messageOperations } from './api/description/message-operations.ts'
import { reconciliationOperation } from './reconciliation/reconciliation-routes.ts'

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [
  ...messageOperations,
  reconciliationOperation,
  ...assistantOperations,
]
