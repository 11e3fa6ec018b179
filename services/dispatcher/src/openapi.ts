import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { assistantOperations } from './api/description/assistant-operations.ts'
import { messageOperations } from './api/description/message-operations.ts'
import { streamOperations } from './api/description/stream-operations.ts'
import { subscriptionOperations } from './api/description/subscription-operations.ts'
import { threadOperations } from './api/description/thread-operations.ts'
import { noticeOperation } from './api/notices/notice-routes.ts'
import { trafficOperation } from './api/traffic/traffic-routes.ts'
import { waitingOperation } from './api/traffic/waiting-routes.ts'
import { usageOperation } from './api/usage/usage-routes.ts'
import { reconciliationOperation } from './reconciliation/reconciliation-routes.ts'

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [
  ...messageOperations,
  trafficOperation,
  waitingOperation,
  reconciliationOperation,
  ...assistantOperations,
  usageOperation,
  noticeOperation,
  ...subscriptionOperations,
  ...streamOperations,
  ...threadOperations,
]
