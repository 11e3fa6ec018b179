import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { type RequestHandler, Router } from 'express'
import { findReadable, scopeOf } from '../access/authorizer.ts'
import type { Administration } from '../administration.ts'
import { page } from '../collection/page.ts'
import { pathId } from '../collection/path-id.ts'
import { roleView } from '../store/role.ts'
import { deleteRole } from './delete-role.ts'
import { explainRole } from './explain-role.ts'
import { partOfRole, wholeRole } from './role-body.ts'
import { changeRole, createRole } from './save-role.ts'

/** `/rest/roles`: the roles of the caller's workspace. */
export function roleRoutes(administration: Administration, body: RequestHandler): Router {
  const { models, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/roles')
    .post(body, createRole(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'roles', 'read'))
      res.json(await page({ req, model: models.roles, filter, view: roleView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/roles/:id')
    .get(async (req, res) => {
      const wanted = { authorizer, caller: callerOf(res), resource: 'roles', id: pathId(req) }
      res.json(roleView(await findReadable({ ...wanted, model: models.roles })))
    })
    .put(body, changeRole(administration, wholeRole))
    .patch(body, changeRole(administration, partOfRole))
    .delete(deleteRole(administration))
    .all(methodNotAllowed('GET', 'PUT', 'PATCH', 'DELETE'))
  router.route('/roles/:id/explain').post(body, explainRole(administration)).all(methodNotAllowed('POST'))
  return router
}
