import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import type { Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import type { Readable, Subject } from './reader.ts'

const QUERY_MS = 5_000

/** What the role of a caller lets it read of messages and threads. Throws `forbidden` where that is neither. */
export async function readableBy(
  caller: Caller,
  { authorizer, db }: { authorizer: Authorizer; db(): mongo.Db | undefined },
): Promise<Readable> {
  const decisions: Record<Subject['resource'], Decision> = {
    messages: await authorizer.decide(caller, 'messages', 'read'),
    threads: await authorizer.decide(caller, 'threads', 'read'),
  }
  if (decisions.messages.kind === 'none' && decisions.threads.kind === 'none')
    throw new Problem('forbidden', { detail: 'The role may read neither messages nor threads.' })
  return {
    kindOf: (resource) => decisions[resource].kind,
    async among(resource, ids) {
      const decision = decisions[resource]
      if (decision.kind === 'none') return new Set()
      const allowed = decision.kind === 'some' ? decision.filter : {}
      const own = { _id: { $in: ids }, workspace: caller.workspace._id }
      const found = await db()
        ?.collection<{ _id: unknown }>(resource)
        .find({ $and: [own, allowed] } as object, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })
        .toArray()
      return new Set(found?.map(({ _id }) => _id))
    },
  }
}
