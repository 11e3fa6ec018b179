import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { byReference, rightsText } from '@parley/shared/permission/by-reference'
import { decide } from '@parley/shared/permission/decide'
import { type Explanation, explain } from '@parley/shared/permission/explain'
import { inAcceptedLanguage } from '@parley/shared/problem-texts'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { findReadable, publicFieldsOf } from '../access/authorizer.ts'
import type { Administration } from '../administration.ts'
import { lookupOf } from '../resource-routes.ts'
import { REST_BODY_BYTES } from '../schemas.ts'
import { roles } from './role.ts'

const part = {
  expression: z.unknown().describe('As it is stored'),
  reason: z.string(),
  column: z.number().int().optional().describe('Where it does not parse, from 1'),
}
const access = z.object({ ...part, grants: z.enum(['none', 'some', 'all']) })
const explanation = z
  .object({
    result: z.string(),
    references: z
      .array(z.string())
      .describe('What the rights of the role give together, because documents of the resource name others'),
    entries: z.array(
      z.object({
        entry: z.number().int().describe('From 1, in the order of the role'),
        schema: z.object({ ...part, applies: z.boolean() }),
        read: access,
        write: access,
      }),
    ),
  })
  .meta({ id: 'Explanation', description: 'Which entry allows or denies, and why' })

const granted = { expression: '{{account.workspace._id}}', reason: 'Came to 1', grants: 'all' }

/**
 * What each entry of a role comes to for the caller's account. With `id` the document is looked at if this service has the
 * resource; of any other it can be sent along as `doc`, without which the answer says what depends on it. `references` is
 * what the role may do with the resource beyond that, because documents name others.
 */
export const explainRole = route({
  method: 'POST',
  path: `${roles.path}/{id}/explain`,
  access: 'read',
  id: 'explainRole',
  tag: roles.tag,
  summary: 'Explain a role',
  parameters: [idParameter()],
  body: {
    schema: z
      .strictObject({
        resource: z.string(),
        id: z.union([z.number().int(), z.string()]).nullish(),
        doc: jsonObject.nullish(),
      })
      .meta({ id: 'ExplanationBody' }),
    example: { resource: 'channels' },
    maxBytes: REST_BODY_BYTES,
  },
  response: {
    schema: explanation,
    example: {
      result: 'The caller may read all of channels (entry 1), and may write all of channels (entry 1).',
      references: [],
      entries: [
        {
          entry: 1,
          schema: { expression: "{{resource}} == 'channels'", reason: 'Came to true', applies: true },
          read: granted,
          write: granted,
        },
      ],
    },
  },
  errors: ['invalid_id', 'not_found'],
  handle: (administration: Administration) => async (req, res, asked) => {
    const caller = callerOf(res)
    const role = await findReadable({ ...lookupOf(roles, administration), caller, id: pathId(req.params) })
    const { resource, id, doc: sent } = asked.body()
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
    res.json(
      inAcceptedLanguage(req, res, (text) => ({
        ...inLanguage(explained, text),
        references: references.map(({ rights, gives }) => `${rightsText(rights, text)}: ${text(gives)}`),
      })),
    )
  },
})

const inLanguage = ({ result, entries }: Explanation, text: (english: string) => string): Explanation => ({
  result: text(result),
  entries: entries.map(({ entry, schema, read, write }) => ({
    entry,
    schema: { ...schema, reason: text(schema.reason) },
    read: { ...read, reason: text(read.reason) },
    write: { ...write, reason: text(write.reason) },
  })),
})

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
  if (resource === 'teams') return findReadable({ ...lookup, collection: collections.teams })
  if (resource === 'tokens') return findReadable({ ...lookup, collection: collections.apiTokens })
  if (resource === 'audit') return findReadable({ ...lookup, collection: collections.audit })
  return sent ?? undefined
}
