import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { checkOperation } from './description/check-operation.ts'
import { resourceOperations } from './description/resource-operations.ts'
import { transferOperations } from './description/transfer-operations.ts'
import { allResources } from './resources/all-resources.ts'

/** Every public operation of this service; those of a resource follow from its definition. */
export const operations: readonly DescribedOperation[] = [
  ...allResources.flatMap(resourceOperations),
  checkOperation,
  ...transferOperations,
]
