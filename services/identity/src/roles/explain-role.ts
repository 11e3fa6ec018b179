import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { byReference } from '@parley/shared/permission/by-reference'
import { decide } from '@parley/shared/permission/decide'
import { explain } from '@parley/shared/permission/explain'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import type { RequestHandler } from 'express'
import { z } from 'zod'
import { findReadable, publicFieldsOf } from '../access/authorizer.ts'
import type { Administration } from '../administration.ts'
import { pathId } from '../requests.ts'

/** What is to be explained. */
export const explanationBody = z.strictObject({
  resource: z.string(),
  id: z.union([z.number().int(), z.string()]).nullish(),
  doc: jsonObject.nullish(),
})

/**
 * `POST /rest/roles/{id}/explain`: what each entry of the role comes to for the caller's account. With `id` the
 * document is looked at if this service has the resource; of any other it can be sent along as `doc`, without
 * which the answer says what depends on it. `references` is what the role may do with the resource beyond that, because
 * documents name others.
 */
export function explainRole(administration: Administration): RequestHandler {
  const { collections, authorizer } = administration
  return async (req, res) => {
    const caller = callerOf(res)
    const role = await findReadable({
      authorizer,
      caller,
      resource: 'roles',
      collection: collections.roles,
      id: pathId(req),
    })
    const { resource, id, doc: sent } = parse(explanationBody, req.body)
    const doc = await documentOf(administration, caller, { resource, id, sent })
    const account = {
      ...caller.account,
      workspace: caller.workspace,
      role: { _id: role._id, name: role.name },
    }
    const { permissions } = role
    const fields = publicFieldsOf(resource)
    const explained = explain({ permissions, resource, account, fields, ...defined({ doc }) })
    const references = byReference(
      resource,
      (access, of) => decide({ permissions, resource: of, account, access }).kind !== 'none',
    )
    res.json({ ...explained, references })
  }
}

interface Asked {
  resource: string
  id: number | string | null | undefined
  sent: object | null | undefined
}

/** The document to look at as it is stored, as decisions do; a rule sees the fields of its public view. */
async function documentOf(
  { collections, authorizer }: Administration,
  caller: Caller,
  { resource, id, sent }: Asked,
): Promise<object | undefined> {
  if (typeof id !== 'number') return sent ?? undefined
  const lookup = { authorizer, caller, resource, id }
  if (resource === 'users') return findReadable({ ...lookup, collection: collections.accounts })
  if (resource === 'roles') return findReadable({ ...lookup, collection: collections.roles })
  if (resource === 'tokens') return findReadable({ ...lookup, collection: collections.apiTokens })
  if (resource === 'audit') return findReadable({ ...lookup, collection: collections.audit })
  return sent ?? undefined
}
