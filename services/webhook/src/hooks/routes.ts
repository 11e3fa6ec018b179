import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import { safeInteger } from '@parley/shared/json-object'
import { idCursor, pageLimit, splitPage } from '@parley/shared/list-query'
import { mapYielding } from '@parley/shared/map-yielding'
import { pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { usualProvider } from '@parley/shared/providers/registry'
import type { SecretBox } from '@parley/shared/sealed-value'
import { callerOf } from '@parley/shared/service-app'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Request } from 'express'
import { z } from 'zod'
import { channelFields } from '../channels.ts'
import type { Collections } from '../database.ts'
import { hookView } from './hook-view.ts'

const responseSchema = z.object({ data: z.array(channelFields), next: z.number().nullable() })

/** How many channels configuration is asked for at once, at most. */
const AT_ONCE = 200
const MAX_MS = 5_000

const NOTES_MS = 3_000

const time = z.iso.datetime().nullable()
const hook = z
  .object({
    channel: z.object({ _id: safeInteger, name: z.string(), extId: z.string(), hook: z.string() }),
    url: z.string().nullable().describe('Where the provider is to send; null where the extId has no address'),
    setup: z
      .array(
        z.object({
          where: z.string(),
          paste: z.string().optional(),
          subscribe: z.array(z.string()).optional(),
        }),
      )
      .describe('What to put where at the provider'),
    problems: z.array(z.string()).describe('What is missing'),
    handshake: z.object({ succeeded: z.boolean(), at: time }),
    lastReceivedAt: time,
    lastError: z.object({ at: z.iso.datetime(), code: z.string(), message: z.string() }).nullable(),
    signingSecret: z
      .object({ source: z.enum(['channel', 'derived']), value: z.string().optional() })
      .nullish()
      .describe('What callbacks are signed with, for those who may write the channel'),
  })
  .meta({ id: 'Hook', description: 'The webhook of one channel, and how it goes' })
const hookExample = {
  channel: { _id: 1, name: 'Support', extId: 'support-line', hook: usualProvider().name },
  url: `https://parley.example.com/api/hooks/${usualProvider().name}/acme/support-line`,
  setup: [],
  problems: [],
  handshake: { succeeded: true, at: '2026-11-20T11:36:37.235Z' },
  lastReceivedAt: null,
  lastError: null,
}

/** The dependencies of the list of webhooks. */
export interface HookList {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  hooks: Collections['hooks']
  publicUrl: string | undefined
  signingSecret: string | undefined
  box: Pick<SecretBox, 'open'>
}

/** The webhooks of the caller's channels, `limit` at a time, lowest channel id first. */
export const listHooks = route({
  method: 'GET',
  path: '/rest/hooks',
  access: 'read',
  resource: 'channels',
  id: 'listHooks',
  tag: 'webhooks',
  summary: 'List webhooks, and how they go',
  query: z.object({ limit: pageLimit.describe('How many channels at a time'), after: idCursor.optional() }),
  response: {
    ...pageOf('Hook', hook, hookExample),
    headers: [{ name: 'Cache-Control', description: '`no-store`' }],
  },
  handle:
    ({ authorizer, configuration, hooks, publicUrl, signingSecret, box }: HookList) =>
    async (req, res, asked) => {
      const caller = callerOf(res)
      const readable = await authorizer.require(caller, 'channels', 'read')
      const writable = await authorizer.decide(caller, 'channels', 'write')
      const { limit, after } = asked.query()
      const workspace = caller.workspace._id
      const { page: visible, last } = await readableChannels({
        configuration,
        workspace,
        readable,
        limit,
        after,
      })
      const ids = visible.map(({ _id }) => `${workspace}/${_id}`)
      const notes = await withTimeout(NOTES_MS, hooks.find({ _id: { $in: ids } }).toArray())
      const origin = publicUrl ?? originOf(req)
      const slug = caller.workspace.host.split('.', 1)[0] ?? ''
      const views = await mapYielding(visible, (channel) =>
        hookView({
          channel: { ...channel, workspace },
          notes: notes.find((one) => one.channel === channel._id),
          origin,
          slug,
          signingSecret,
          box,
          writable: allows(writable, channel),
        }),
      )
      res
        .set('cache-control', 'no-store')
        .json({ data: views, next: last === undefined ? null : String(last._id) })
    },
})

const HOST = /^[\w.:[\]-]{1,255}$/

/** Where the caller reached the gateway, which says so in headers of its own; empty when it is not known. */
function originOf(req: Request): string {
  const { 'x-forwarded-proto': proto = 'http', 'x-forwarded-host': host = req.headers.host } = req.headers
  return typeof host === 'string' && HOST.test(host) ? `${proto}://${host}` : ''
}

/** A page of the workspace's channels, lowest id first, as if there were no others than those that may be read. */
async function readableChannels(options: {
  configuration: Pick<InternalClient, 'get'>
  workspace: number
  readable: Decision
  limit: number
  after: number | undefined
}) {
  const { configuration, workspace, readable, limit } = options
  const found: z.output<typeof channelFields>[] = []
  const until = performance.now() + MAX_MS
  let after = options.after ?? null
  let count = Math.min(limit + 1, AT_ONCE)
  do {
    if (performance.now() > until) {
      // A shorter page leads on, and names none that may not be read.
      if (found.length > 0) return { page: found, last: found.at(-1) }
      throw new Problem('unavailable', { detail: 'The list took too long.' })
    }
    const path = `/internal/workspaces/${workspace}/channels?limit=${count}&after=${after ?? ''}`
    const { data, next } = responseSchema.parse(await configuration.get(path))
    // A rule may search much of each channel.
    const some = await mapYielding(data, (channel) => (allows(readable, channel) ? [channel] : []))
    found.push(...some.flat())
    after = next
    count = AT_ONCE
  } while (found.length <= limit && after !== null)
  return splitPage(found, limit)
}
