import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import type { Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Request, Response } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { nameIn } from '../../message/thread-record.ts'
import type { EventStreams } from './event-streams.ts'
import { positionIn } from './position.ts'
import type { Readable, Subject } from './reader.ts'

const QUERY_MS = 5_000

const lastEventId: OperationParameter = {
  in: 'header',
  name: 'Last-Event-ID',
  required: false,
  schema: z.string(),
  description: 'The id of the last event that was seen: the stream goes on after it',
}

const response = {
  schema: z.string().describe('Server-sent events: `message`, `state`, `thread`, `delta`, `presence`, `gap`'),
  example: 'event: state\nid: 6920bd5100000003.82\ndata: {"_id":"48341280","state":"sent"}\n\n',
  types: ['text/event-stream'],
} as const

const LASTS =
  'The stream lasts until the token ends, is revoked or its role changes; follow it anew from the last id then. At most 20 are open for a token. docs/event-streams.md says what each event holds.'

export interface Following {
  streams: EventStreams
  authorizer: Authorizer
  db(): mongo.Db | undefined
}

const followed = {
  method: 'GET',
  access: 'read',
  tag: 'events',
  description: LASTS,
  response,
  errors: ['too_many_streams', 'validation_failed'],
} as const

export const followEvents = route({
  ...followed,
  path: '/rest/events',
  resource: 'messages',
  id: 'followEvents',
  summary: 'Follow all messages and threads that the caller may read',
  parameters: [lastEventId],
  handle: (following: Following) => async (req, res, asked) => {
    refuseHead(req)
    asked.query()
    await open(following, { req, res, scope: {} })
  },
})

export const followThread = route({
  ...followed,
  path: '/rest/threads/{extId}/events',
  id: 'followThread',
  summary: 'Follow one thread',
  parameters: [
    {
      in: 'path',
      name: 'extId',
      required: true,
      schema: z.string(),
      example: '5511999990000',
      description: 'The external id of the thread',
    },
    lastEventId,
  ],
  query: z.object({
    channel: z
      .string()
      .max(1_024)
      .optional()
      .describe('The external id of its channel, where several have such a thread'),
  }),
  handle: (following: Following) => async (req, res, asked) => {
    refuseHead(req)
    const { channel } = asked.query()
    const { extId } = req.params
    const name = nameIn(extId)
    const scope = { thread: name?.extId ?? extId, ...defined({ channel: channel ?? name?.channel }) }
    await open(following, { req, res, scope })
  },
})

/** Express answers HEAD as GET, and a stream has no end. */
function refuseHead({ method }: { method: string }): void {
  if (method === 'HEAD') throw new Problem('method_not_allowed', { headers: { allow: 'GET' } })
}

async function open(
  following: Following,
  {
    req,
    res,
    scope,
  }: { req: Pick<Request, 'headers'>; res: Response; scope: { thread?: string; channel?: string } },
): Promise<void> {
  const caller = callerOf(res)
  const readable = await readableBy(caller, following)
  const last = req.headers['last-event-id']
  const from = typeof last === 'string' ? positionIn(last) : undefined
  const isUnknown = last !== undefined && last !== '' && from === undefined
  await following.streams.open({
    res,
    account: caller.account._id,
    scope: { workspace: caller.workspace._id, ...scope },
    readable,
    from,
    isUnknown,
  })
}

/** Returns the caller's rights to read messages and threads. Throws `forbidden` if it may read neither. */
async function readableBy(
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
