import { jsonBody } from '@parley/shared/json-body'
import { methodNotAllowed } from '@parley/shared/problem'
import { Router } from 'express'
import { readHistory } from '../history/read-history.ts'
import { allResources } from '../resources/all-resources.ts'
import { deleteDocument } from './delete-document.ts'
import type { Dependencies } from './dependencies.ts'
import { listDocuments } from './list-documents.ts'
import { patchDocument } from './patch-document.ts'
import { postDocument } from './post-document.ts'
import { putDocument } from './put-document.ts'
import { readDocument } from './read-document.ts'

const MAX_BODY_BYTES = 4 * 1024 * 1024

/** `/{resource}` and `/{resource}/{id}`, the same for every resource. */
export function documentRoutes(dependencies: Dependencies): Router {
  const router = Router()
  const body = jsonBody({ maxBytes: MAX_BODY_BYTES })
  const patchBody = jsonBody({
    maxBytes: MAX_BODY_BYTES,
    types: ['application/json', 'application/merge-patch+json'],
  })
  for (const definition of allResources) {
    router
      .route(`/${definition.name}`)
      .get(listDocuments(dependencies, definition))
      .post(body, postDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'POST'))
    router
      .route(`/${definition.name}/:id`)
      .get(readDocument(dependencies, definition))
      .put(body, putDocument(dependencies, definition))
      .patch(patchBody, patchDocument(dependencies, definition))
      .delete(deleteDocument(dependencies, definition))
      .all(methodNotAllowed('GET', 'PUT', 'PATCH', 'DELETE'))
    router
      .route(`/${definition.name}/:id/history`)
      .get(readHistory(dependencies, definition))
      .all(methodNotAllowed('GET'))
  }
  return router
}
