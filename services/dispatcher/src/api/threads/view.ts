import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { providerNamed } from '@parley/shared/providers/registry'
import { z } from 'zod'
import type { Channel, Channels } from '../../channels/channels.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import { addressesIn } from '../../message/addresses.ts'
import { handlerOf, publicId, statusOf, type ThreadRecord } from '../../message/thread-record.ts'
import { readableTask } from '../assistant/require-assistant.ts'

/** A thread as the API shows it. Free text goes out until `serviceWindowEndsAt`, where that is known. */
function threadView(thread: ThreadRecord, channel: Pick<Channel, 'callback'> | undefined): object {
  return { ...threadSummary(thread), serviceWindowEndsAt: windowEnd(thread, channel) }
}

/** Returns the part of a thread's view that its document alone contains. */
export function threadSummary(thread: ThreadRecord): object {
  const { channel, extId, joined, lastMessage, lastAt, unread, lastUnreadAt } = thread
  const { assignee, team, labels, closed, campaign } = thread
  const { contactName: name = thread.user.name } = thread
  const now = Date.now()
  const handler = handlerOf(thread, now)
  const status = statusOf(thread, now)
  const handlerUntil = handler === 'person' ? thread.handlerUntil : undefined
  return {
    _id: publicId(thread),
    ...{ extId, channel, user: { ...thread.user, ...defined({ name }) } },
    ...defined({ addresses: addressesIn(thread), joined }),
    handler,
    ...defined({ handlerUntil }),
    status,
    ...defined({ snoozedUntil: status === 'snoozed' ? closed?.until : undefined }),
    ...defined({ assignee, team, labels }),
    ...{ lastMessage, lastAt, unread, ...defined({ lastUnreadAt }) },
    ...(campaign === undefined ? {} : { campaign: { _id: campaign._id, at: campaign.at } }),
    ...defined({ unreadFor: unread > 0 ? unreadView(thread) : undefined }),
  }
}

/** Why there is something to read; where the assistant handed over, what it said. */
function unreadView({ unreadFor, handedOff }: ThreadRecord): object | undefined {
  if (unreadFor === undefined) return undefined
  const { why, message, at, reason } = unreadFor
  return { why, reason: (why === 'handed_off' ? handedOff?.reason : reason) ?? null, message, at }
}

/** The threads of one page, which mostly have few channels. A channel that can't be read now says nothing of its window. */
export async function threadViews(
  channels: Pick<Channels, 'find'>,
  threads: ThreadRecord[],
): Promise<object[]> {
  const names = [...new Set(threads.map(({ channel }) => channel))]
  const found = new Map<string, Channel | undefined>()
  for (const name of names) {
    const { workspace = 0 } = threads[0] ?? {}
    found.set(name, await channels.find(workspace, name).catch(() => undefined))
  }
  return threads.map((thread) => threadView(thread, found.get(thread.channel)))
}

const taskSchema = z.object({
  _id: z.number(),
  name: z.string(),
  status: z.string(),
  workflow: z.number(),
  currentStep: z.number(),
})

/** One thread, with its active task; null where it has none that the caller may read, or configuration is unavailable. */
export async function readThread(
  needed: {
    authorizer: Authorizer
    channels: Pick<Channels, 'find'>
    configuration: Pick<InternalClient, 'get'>
    isFirstOfName: IsFirstOfName
  },
  { thread, caller }: { thread: ThreadRecord; caller: Caller },
): Promise<object> {
  const [channel, task] = await Promise.all([
    needed.channels.find(thread.workspace, thread.channel).catch(() => undefined),
    readableTask(needed, { caller, channel: thread.channel, thread: thread.extId }).catch(() => null),
  ])
  return { ...threadView(thread, channel), task: taskSchema.safeParse(task).data ?? null }
}

function windowEnd(
  { lastInboundAt }: ThreadRecord,
  channel: Pick<Channel, 'callback'> | undefined,
): Date | null {
  const windowMs = providerNamed(channel?.callback)?.outbound.serviceWindowMs
  if (lastInboundAt === undefined || windowMs === undefined) return null
  return new Date(lastInboundAt.getTime() + windowMs)
}
