import type { Route } from '@parley/shared/openapi/route'
import { checkConfiguration } from './check/check-configuration.ts'
import { deleteDocument } from './documents/delete-document.ts'
import type { Dependencies } from './documents/dependencies.ts'
import { listDocuments } from './documents/list-documents.ts'
import { patchDocument } from './documents/patch-document.ts'
import { postDocument } from './documents/post-document.ts'
import { putDocument } from './documents/put-document.ts'
import { readDocument } from './documents/read-document.ts'
import { readHistory } from './history/read-history.ts'
import { allResources } from './resources/all-resources.ts'
import { exportConfiguration } from './transfer/export-configuration.ts'
import { importConfiguration } from './transfer/import-configuration.ts'

/** Every public operation of this service; those of a resource follow from its definition. */
export const routes: readonly Route<Dependencies>[] = [
  ...allResources.flatMap((definition) => [
    listDocuments(definition),
    postDocument(definition),
    readDocument(definition),
    putDocument(definition),
    patchDocument(definition),
    deleteDocument(definition),
    readHistory(definition),
  ]),
  ...[checkConfiguration, exportConfiguration, importConfiguration],
]
