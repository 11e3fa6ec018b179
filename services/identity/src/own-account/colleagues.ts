import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { seenByRules } from '../access/caller-of-today.ts'
import { id, NO_STORE } from '../schemas.ts'
import type { Account } from '../store/account.ts'
import type { Collections } from '../store/collections.ts'

const MOST_SHOWN = 1_000
const MAX_MS = 5_000

interface Dependencies {
  collections: Pick<Collections, 'accounts' | 'roles'>
  authorizer: Authorizer
}

/** Whom a thread can be given to: also for who may read no users. */
export const colleaguesRoute = route({
  method: 'GET',
  path: '/api/auth/colleagues',
  access: 'read',
  resource: 'threads',
  id: 'listColleagues',
  tag: 'accounts',
  summary: 'List whom a thread can be assigned to',
  description:
    'The users of the workspace who may read threads, by name; the first 1,000. For who may read threads.',
  response: {
    schema: z
      .object({ data: z.array(z.object({ _id: id, name: z.string() }).meta({ id: 'Colleague' })) })
      .meta({ id: 'Colleagues' }),
    example: { data: [{ _id: 2, name: 'Bruno Lima' }] },
    headers: NO_STORE,
  },
  handle:
    ({ collections, authorizer }: Dependencies) =>
    async (_req, res) => {
      const caller = callerOf(res)
      await authorizer.require(caller, 'threads', 'read')
      const data = await readersOfThreads({ collections, authorizer }, caller)
      res.set('cache-control', 'no-store').json({ data })
    },
})

/** The users of a workspace, of those that are selected, who may read threads. */
export async function readersOfThreads(
  { collections, authorizer }: Dependencies,
  { workspace }: Pick<Caller, 'workspace'>,
  selected: mongo.Filter<Account> = {},
): Promise<{ _id: number; name: string }[]> {
  const ofWorkspace = { workspace: workspace._id }
  const accounts = await collections.accounts
    .find({ ...selected, ...ofWorkspace }, { maxTimeMS: MAX_MS })
    .sort({ name: 1, _id: 1 })
    .limit(MOST_SHOWN)
    .toArray()
  const roles = await collections.roles
    .find(ofWorkspace, { projection: { name: 1, version: 1 }, maxTimeMS: MAX_MS })
    .toArray()
  const byId = new Map(roles.map(({ _id, name, version }) => [_id, { _id, name, version }]))
  const mayRead = await Promise.all(
    accounts.map(async (account) => {
      const role = byId.get(account.role)
      if (role === undefined) return false
      const seen = { account: seenByRules(account), workspace, role }
      return (await authorizer.decide(seen, 'threads', 'read')).kind !== 'none'
    }),
  )
  return accounts.filter((_, at) => mayRead[at]).map(({ _id, name }) => ({ _id, name }))
}
