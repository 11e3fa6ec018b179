import { defined } from '@parley/shared/defined'
import { jsonBody } from '@parley/shared/json-body'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { allProviders } from '@parley/shared/providers/registry'
import { validate } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import { z } from 'zod'
import type { MessageRecord } from '../../message/message-record.ts'
import { publishReplay } from '../../schedule/publish-replay.ts'
import type { Collections } from '../../store/collections.ts'
import { type Standings, standingQuery } from './standings.ts'

const WORKSPACE = /^\d{1,16}$/
const MAX_BYTES = 128 * 1024
const MAX_IDS = 1_000
const MAX_REPLIES = 1_000
const QUERY_MS = 2_000

const byIds = z.object({ ids: z.array(z.string().max(128)).max(MAX_IDS) })
const repliesQuery = z.object({ campaign: z.string().max(128), since: z.iso.datetime() })

interface Needed {
  collections: Pick<Collections, 'messages' | 'threads'>
  publisher: Pick<Publisher, 'publish'>
  standings: Standings
}

/**
 * For the campaigns service, below /workspaces/{workspace}/campaigns, all by POST: `states` of messages by their ids; `replay` of
 * those of `ids` that are dead; `replies`, the threads whose person wrote after a campaign did; `standing` of a channel's
 * number at its provider.
 */
export function campaignRoutes({ collections, publisher, standings }: Needed): Router {
  const { messages, threads } = collections
  const router = Router({ caseSensitive: true, mergeParams: true })
  const post = (name: string, handle: (workspace: number, body: unknown) => Promise<object>) => {
    const handler: RequestHandler<{ workspace: string }> = async (req, res) => {
      res.json(await handle(workspaceIn(req.params), req.body))
    }
    router
      .route(`/${name}`)
      .post(jsonBody({ maxBytes: MAX_BYTES }), handler)
      .all(methodNotAllowed('POST'))
  }
  post('states', async (workspace, body) => {
    const { ids } = validate(byIds, body)
    const found = await messages
      .find({ _id: { $in: ids }, workspace }, { projection: MESSAGE_FIELDS, maxTimeMS: QUERY_MS })
      .toArray()
    return { data: found.map((one) => messageStateOf(one as StoredMessage)) }
  })
  post('replay', async (workspace, body) => {
    const { ids } = validate(byIds, body)
    const found = await messages
      .find({ _id: { $in: ids }, workspace, state: 'dead' }, { maxTimeMS: QUERY_MS })
      .project<{ _id: string; thread: string }>({ thread: 1 })
      .toArray()
    await Promise.all(found.map((one) => publishReplay(publisher, { ...one, workspace })))
    return { replayed: found.length }
  })
  post('replies', async (workspace, body) => {
    const { campaign, since } = validate(repliesQuery, body)
    const found = await threads
      .find(
        { workspace, 'campaign._id': campaign, lastInboundAt: { $gte: new Date(since) } },
        { projection: { campaign: 1, lastInboundAt: 1 }, maxTimeMS: QUERY_MS },
      )
      .sort({ lastInboundAt: 1 })
      .limit(MAX_REPLIES)
      .toArray()
    return {
      data: found.map(({ campaign: of, lastInboundAt: at }) => ({
        recipient: of?.recipient,
        at,
        isReply: of !== undefined && at !== undefined && at > of.at,
      })),
    }
  })
  post('standing', (workspace, body) => standings.read(workspace, validate(standingQuery, body)))
  return router
}

function workspaceIn({ workspace }: { workspace: string }): number {
  if (!WORKSPACE.test(workspace)) throw new Problem('invalid_id')
  return Number(workspace)
}

/** Fields of a message that show its state, without any of its content. */
const MESSAGE_FIELDS = {
  ...{ state: 1, open: 1, due: 1, waitingFor: 1, reason: 1, fault: 1, updatedAt: 1 },
  ...{ 'sends.failure.code': 1, 'sends.pricing': 1, 'sends.content.kind': 1, 'attempts.code': 1 },
} as const

type StoredMessage = Pick<
  MessageRecord,
  '_id' | 'state' | 'open' | 'due' | 'waitingFor' | 'reason' | 'fault' | 'updatedAt'
> & {
  sends?: { failure?: { code: string }; pricing?: { category: string; billable: boolean | null } }[]
  attempts?: { code?: string }[]
}

const FAILED = ['dead', 'failed', 'unrouted']

/** Where a message of a campaign stands; `cause` is what its failure means for whatever the campaign sends next. */
function messageStateOf(record: StoredMessage): object {
  const { _id, state, open, due, waitingFor, reason, fault, updatedAt, sends = [], attempts = [] } = record
  const code = sends.findLast(({ failure }) => failure !== undefined)?.failure?.code ?? attempts.at(-1)?.code
  const pricing = sends.findLast((one) => one.pricing !== undefined)?.pricing
  return {
    _id,
    state,
    updatedAt,
    isOpen: open === true,
    ...defined({ due, waitingFor }),
    ...(FAILED.includes(state) ? defined({ reason, fault, code }) : {}),
    ...(code === undefined ? {} : defined({ cause: causeOf(code) })),
    ...(pricing === undefined ? {} : { category: pricing.category, billable: pricing.billable }),
  }
}

function causeOf(code: string): string | undefined {
  for (const { outbound } of allProviders()) {
    const cause = outbound.standing?.ofCode(code)
    if (cause !== undefined) return cause
  }
  return undefined
}
