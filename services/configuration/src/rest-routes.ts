import { pathsOf } from '@parley/shared/configuration-resources'
import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed } from '@parley/shared/problem'
import { Router } from 'express'
import { checkConfiguration } from './check/check-configuration.ts'
import { deleteDocument } from './documents/delete-document.ts'
import type { Dependencies } from './documents/dependencies.ts'
import { listDocuments } from './documents/list-documents.ts'
import { PATCH_TYPES, patchDocument } from './documents/patch-document.ts'
import { postDocument } from './documents/post-document.ts'
import { putDocument } from './documents/put-document.ts'
import { readDocument } from './documents/read-document.ts'
import { readHistory } from './history/read-history.ts'
import { allResources } from './resources/all-resources.ts'
import type { ResourceDefinition } from './resources/definition.ts'
import { exportConfiguration } from './transfer/export-configuration.ts'
import { importConfiguration } from './transfer/import-configuration.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024
// Some 4,000 documents; what is more is imported in parts.
const MAX_IMPORT_MEMBERS = 40_000

/** `/check`, `/export`, `/import`, and `/{resource}` and `/{resource}/{id}`, the same for every resource. */
export function restRoutes(dependencies: Dependencies): Router {
  const router = Router({ caseSensitive: true })
  const body = jsonBody({ maxBytes: MAX_BODY_BYTES })
  const importBody = jsonBody({ maxBytes: MAX_BODY_BYTES, maxMembers: MAX_IMPORT_MEMBERS })
  const patchBody = jsonBody({ maxBytes: MAX_BODY_BYTES, types: PATCH_TYPES })
  const resource = (path: string, definition: ResourceDefinition) => {
    router
      .route(`/${path}`)
      .get(listDocuments(dependencies, definition))
      .post(body, postDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'POST'))
    router
      .route(`/${path}/:id`)
      .get(readDocument(dependencies, definition))
      .put(body, putDocument(dependencies, definition))
      .patch(patchBody, patchDocument(dependencies, definition))
      .delete(deleteDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'PUT', 'PATCH', 'DELETE'))
    router
      .route(`/${path}/:id/history`)
      .get(readHistory(dependencies, definition))
      .all(methodNotAllowed('GET'))
  }
  for (const definition of allResources)
    for (const path of pathsOf(definition.name)) resource(path, definition)
  router.route('/check').get(checkConfiguration(dependencies)).all(methodNotAllowed('GET'))
  router.route('/export').get(exportConfiguration(dependencies)).all(methodNotAllowed('GET'))
  router.route('/import').post(importBody, importConfiguration(dependencies)).all(methodNotAllowed('POST'))
  return router
}
