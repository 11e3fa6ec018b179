import type { Replica } from '@parley/shared/config-replica/replica'
import { channelFor } from '@parley/shared/config-replica/replica'
import { own } from '@parley/shared/providers/own'
import { allProviders } from '@parley/shared/providers/registry'
import type { MessageRecord } from '../message/message-record.ts'
import type { Collections } from '../store/collections.ts'
import type { KnownStatus } from './read-status.ts'

const READ_AT_ONCE = 500
const QUERY_MS = 10_000

type Located = KnownStatus & { send: NonNullable<KnownStatus['send']> }
type FoundSend = Pick<MessageRecord, '_id' | 'channel' | 'sends'>

/**
 * Finds sends by the ids that their provider gave them, in the workspace of each status: of its channel, or of another
 * one with the same number.
 */
export async function findSends(
  { collections, replica }: { collections: Pick<Collections, 'messages'>; replica: Pick<Replica, 'find'> },
  statuses: readonly KnownStatus[],
): Promise<{ found: Located[]; unknown: KnownStatus[] }> {
  const found: Located[] = []
  const unknown: KnownStatus[] = []
  for (const [workspace, some] of Map.groupBy(statuses, (one) => one.workspace)) {
    for (let at = 0; at < some.length; at += READ_AT_ONCE) {
      const asked = some.slice(at, at + READ_AT_ONCE)
      const sends = await sendsWith(collections, workspace, asked)
      for (const one of asked) {
        const send = sends.get(one.status.providerId)
        const isOurs = send && (await isOfNumber(replica, one, send.channel))
        if (send && isOurs) found.push({ ...one, send })
        else unknown.push(one)
      }
    }
  }
  return { found, unknown }
}

async function sendsWith(
  { messages }: Pick<Collections, 'messages'>,
  workspace: number,
  statuses: readonly KnownStatus[],
): Promise<Map<string, Located['send'] & { channel: string }>> {
  const ids = [...new Set(statuses.map(({ status }) => status.providerId))]
  const records = await messages
    .find({ workspace, 'sends.providerId': { $in: ids } }, { maxTimeMS: QUERY_MS })
    .project<FoundSend>({ channel: 1, 'sends.providerId': 1 })
    .toArray()
  return new Map(
    records.flatMap(({ _id: messageId, channel, sends }) =>
      sends.flatMap(({ providerId }, index) =>
        providerId === undefined ? [] : [[providerId, { messageId, index, channel }] as const],
      ),
    ),
  )
}

/** Two channels may have one number: one receives, and the other sends. */
async function isOfNumber(
  replica: Pick<Replica, 'find'>,
  { workspace, channel }: KnownStatus,
  other: string,
): Promise<boolean> {
  if (channel === other) return true
  const [one = [], another = []] = await Promise.all(
    [channel, other].map(async (extId) => {
      const documents = await replica.find({ resource: 'channels', workspace, extId })
      return receiversOf(channelFor(documents, extId))
    }),
  )
  return one.some((receiver) => another.includes(receiver))
}

function receiversOf(channel: object | undefined): string[] {
  return allProviders().flatMap(({ name, inbound }) => {
    const value = inbound?.receiver && own(channel, 'config', inbound.receiver)
    return value === undefined || value === '' ? [] : [`${name} ${value}`]
  })
}
