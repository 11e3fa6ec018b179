import { channelNotice } from '@parley/shared/channel-notice'
import { every } from '@parley/shared/every'
import { safeInteger } from '@parley/shared/json-object'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import { MESSAGES_EXCHANGE, NOTICE_KEY, ORDERED_QUEUE } from '@parley/shared/messaging/topology'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { allProviders } from '@parley/shared/providers/registry'
import type { TemplateNotice } from '@parley/shared/providers/templates'
import { isUnavailable } from '@parley/shared/unavailable'
import type { Channel, ConsumeMessage } from 'amqplib'
import { type Syncing, syncAccount } from './sync-templates.ts'
import { type Accounts, findAccounts } from './template-accounts.ts'
import { type AccountRecord, accountsOf } from './template-store.ts'

const QUEUE = 'campaigns.notices'
const MAX_NOTICES = 100_000
const LOOK_MS = 5_000
/** Where none is due for longer. */
const MOST_LOOK_MS = 30_000
const LEASE_MS = 5 * 60_000
/** A notice of a change may come before the change is in the list, so the list is read this many milliseconds later. */
const AFTER_NOTICE_MS = 60_000

/** The dependencies of the worker that keeps templates as their providers have them. */
type TemplateWork = Syncing & Accounts & { log: Log }

/** Declares the queue of what happens to channels: it drops the oldest, since the accounts are read each day anyway. */
async function declareNotices(channel: Channel): Promise<void> {
  await channel.assertExchange(MESSAGES_EXCHANGE, 'topic', { durable: true })
  const { durable, arguments: of } = ORDERED_QUEUE
  await channel.assertQueue(QUEUE, { durable, arguments: { ...of, 'x-max-length': MAX_NOTICES } })
  await channel.bindQueue(QUEUE, MESSAGES_EXCHANGE, NOTICE_KEY)
}

/**
 * Synchronises accounts once a day, and what providers tell of at once, where there is a broker. Connects in the
 * background.
 */
export async function startTemplates({
  ready,
  url,
  ...work
}: TemplateWork & { ready: Promise<unknown>; url: string | undefined }): Promise<{ stop(): Promise<void> }> {
  const closing = Promise.withResolvers<void>()
  const daily = Promise.race([ready, closing.promise]).then(() => startDailySync(work))
  const broker = url ? await connectBroker({ url, declare: declareNotices, log: work.log }) : undefined
  const notices = broker && consumeTemplateNotices(work, broker.declare)
  if (notices) void ready.then(() => broker?.follow(notices))
  return {
    async stop() {
      closing.resolve()
      await (await daily).stop()
      await notices?.close()
      await broker?.close()
    },
  }
}

/** Synchronises each account once a day, by whichever instance comes first. */
function startDailySync(work: TemplateWork): { stop(): Promise<void> } {
  const accounts = () => accountsOf(work.connection)
  let pauseMs = LOOK_MS
  return every({
    pauseMs: () => pauseMs,
    async run(signal) {
      pauseMs = LOOK_MS
      while (!signal.aborted) {
        const now = new Date()
        const account = await accounts().findOneAndUpdate(
          { dueAt: { $lte: now }, $or: [{ leasedUntil: { $exists: false } }, { leasedUntil: { $lt: now } }] },
          { $set: { leasedUntil: new Date(now.getTime() + LEASE_MS) } },
          { sort: { dueAt: 1 }, returnDocument: 'after' },
        )
        if (account === null) {
          pauseMs = untilDue(await accounts().findOne({}, { sort: { dueAt: 1 } }))
          return
        }
        await syncAccount(work, account)
      }
    },
    failed: (error) => work.log.debug({ reason: error.message }, 'templates are synchronised later'),
  })
}

/** How long it is until the next one is due, from 5 to 30 s. */
function untilDue(next: Pick<AccountRecord, 'dueAt'> | null): number {
  const ms = next === null ? MOST_LOOK_MS : next.dueAt.getTime() - Date.now()
  return Math.min(Math.max(ms, LOOK_MS), MOST_LOOK_MS)
}

/** Consumes what providers tell of templates: each is read anew within seconds. */
function consumeTemplateNotices(work: TemplateWork, declare: () => Promise<void>): Consumer {
  return consumeBatches({
    ...{ queue: QUEUE, declare, log: work.log },
    async work(batch) {
      for (const reported of latestOf(batch.flatMap(readNotice)))
        await syncReported(work, reported).catch((error: unknown) => {
          if (isUnavailable(error)) throw error
          work.log.error({ err: error, workspace: reported.workspace }, 'a template was not synchronised')
        })
      return []
    },
  })
}

interface ReportedChange {
  workspace: number
  channelId: number
  notice: TemplateNotice
}

function readNotice({ content, properties }: ConsumeMessage): ReportedChange[] {
  const { data } = channelNotice.safeParse(jsonOrUndefined(content.toString()))
  const { data: channelId } = safeInteger.safeParse(properties.headers?.channelId)
  if (data === undefined || channelId === undefined) return []
  const notice = allProviders()
    .map(({ templates }) => templates?.noticeOf(data))
    .find((found) => found !== undefined)
  return notice === undefined ? [] : [{ workspace: data.workspace, channelId, notice }]
}

/** Of many notices of one template all that they say: the last one of each thing. */
function latestOf(all: readonly ReportedChange[]): ReportedChange[] {
  const latest = new Map<string, ReportedChange>()
  for (const reported of all) {
    const { workspace, channelId, notice } = reported
    const key = JSON.stringify([workspace, channelId, notice.name, notice.language])
    latest.set(key, { ...reported, notice: { ...latest.get(key)?.notice, ...notice } })
  }
  return [...latest.values()]
}

async function syncReported(
  work: TemplateWork,
  { workspace, channelId, notice }: ReportedChange,
): Promise<void> {
  const account = await accountOf(work, workspace, channelId)
  if (account === undefined) return
  const { name } = notice
  await syncAccount(work, account, name === undefined ? {} : { name, notice })
  const again = new Date(Date.now() + AFTER_NOTICE_MS)
  await accountsOf(work.connection).updateOne({ _id: account._id }, { $min: { dueAt: again } })
}

async function accountOf(
  work: TemplateWork,
  workspace: number,
  channel: number,
): Promise<AccountRecord | undefined> {
  const known = await accountsOf(work.connection).findOne({ workspace, channels: channel })
  if (known !== null) return known
  const found = await findAccounts(work, workspace)
  return found.find(({ channels }) => channels.includes(channel))
}
