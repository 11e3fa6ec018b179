import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { conservationOperation } from './description/conservation-operation.ts'
import { messageOperations } from './description/message-operations.ts'

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [...messageOperations, conservationOperation]
