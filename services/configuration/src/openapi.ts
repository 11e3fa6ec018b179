import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { checkOperation } from './check/check-configuration.ts'
import { deleteOperation } from './documents/delete-document.ts'
import { listOperation } from './documents/list-documents.ts'
import { patchOperation } from './documents/patch-document.ts'
import { postOperation } from './documents/post-document.ts'
import { putOperation } from './documents/put-document.ts'
import { readOperation } from './documents/read-document.ts'
import { historyOperation } from './history/read-history.ts'
import { allResources } from './resources/all-resources.ts'
import { exportOperation } from './transfer/export-configuration.ts'
import { importOperation } from './transfer/import-configuration.ts'

/** Every public operation of this service; those of a resource follow from its definition. */
export const operations: readonly DescribedOperation[] = [
  ...allResources.flatMap((definition) => [
    listOperation(definition),
    postOperation(definition),
    readOperation(definition),
    putOperation(definition),
    patchOperation(definition),
    deleteOperation(definition),
    historyOperation(definition),
  ]),
  checkOperation,
  exportOperation,
  importOperation,
]
