import { methodNotAllowed } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { type RequestHandler, Router } from 'express'
import { findReadable, scopeOf } from '../access/authorizer.ts'
import { userView } from '../accounts/user-view.ts'
import type { Administration } from '../administration.ts'
import { page } from '../collection/page.ts'
import { pathId } from '../collection/path-id.ts'
import { createUser } from './create-user.ts'
import { deleteUser } from './delete-user.ts'
import { updateUser } from './update-user.ts'

/** `/rest/users`: the users of the caller's workspace. */
export function userRoutes(administration: Administration, body: RequestHandler): Router {
  const { models, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/users')
    .post(body, createUser(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'users', 'read'))
      res.json(await page({ req, model: models.accounts, filter, view: userView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/users/:id')
    .get(async (req, res) => {
      const wanted = { authorizer, caller: callerOf(res), resource: 'users', id: pathId(req) }
      res.json(userView(await findReadable({ ...wanted, model: models.accounts })))
    })
    .patch(body, updateUser(administration))
    .delete(deleteUser(administration))
    .all(methodNotAllowed('GET', 'PATCH', 'DELETE'))
  return router
}
