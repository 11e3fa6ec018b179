import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { accountOperations } from './description/account-operations.ts'
import { roleOperations } from './description/role-operations.ts'
import { tokenOperations } from './description/token-operations.ts'
import { userOperations } from './description/user-operations.ts'
import { workspaceOperations } from './description/workspace-operations.ts'

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [
  ...accountOperations,
  ...tokenOperations,
  ...userOperations,
  ...roleOperations,
  ...workspaceOperations,
]
