import type { WebhookMessage } from '@parley/shared/message'
import { route } from '@parley/shared/openapi/route'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { providerNamed } from '@parley/shared/providers/registry'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import type { ShowTyping } from '../../channels/typing.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { ofThread, type ThreadRecord } from '../../message/thread-record.ts'
import { requireThread, type ThreadStore } from './find-thread.ts'
import { channelQuery } from './list-threads.ts'
import { threadErrors, threadParameter } from './thread-schemas.ts'

const QUERY_MS = 3_000
/** The latest messages of the thread among which the person’s last one is sought. */
const LOOKED_AT = 50
const MAX_BODY_BYTES = 64 * 1024

/** The dependencies of showing that somebody types. */
export interface TypingShown extends ThreadStore {
  channels: Pick<Channels, 'find'>
  showTyping: ShowTyping
}

export const showTyping = route({
  method: 'POST',
  path: '/rest/threads/{id}/typing',
  access: 'write',
  id: 'showTyping',
  tag: 'threads',
  summary: 'Show the person that somebody is typing',
  description:
    'For as long as the provider shows it, some 25 seconds, or until a message comes; what the person wrote is marked as read by it. Nothing is shown where `config.typing` is false, or nothing came from the provider.',
  parameters: [threadParameter],
  query: channelQuery,
  response: {
    schema: z.object({ asked: z.boolean().describe('Whether the provider is asked to show it') }),
    example: { asked: true },
  },
  errors: threadErrors,
  handle: (shown: TypingShown) => async (req, res, asked) => {
    const { channel: named } = asked.query()
    const thread = await requireThread(shown, res, { id: req.params.id, channel: named, access: 'write' })
    const channel = await shown.channels.find(thread.workspace, thread.channel)
    const source = providerNamed(channel?.callback)?.inbound?.source
    const last = source === undefined ? undefined : await lastOf(shown, thread, source)
    const isAsked = channel !== undefined && channel.config.typing !== false && last !== undefined
    if (isAsked) shown.showTyping({ channel, ...last }, Promise.resolve())
    res.json({ asked: isAsked })
  },
})

type Last = Parameters<ShowTyping>[0]

/** The person’s last message of a source, among the latest of the thread. */
async function lastOf(
  { collections: { messages } }: ThreadStore,
  { workspace, channel, extId, joined }: ThreadRecord,
  source: string,
): Promise<Pick<Last, 'record' | 'message'> | undefined> {
  const found = await messages
    .aggregate<Pick<MessageRecord, 'source' | 'body' | 'workspace'>>(
      [
        { $match: { workspace, thread: ofThread({ extId, joined }) } },
        { $sort: { receivedAt: -1, _id: -1 } },
        { $limit: LOOKED_AT },
        { $match: { channel, source, $expr: { $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] } } },
        { $limit: 1 },
        { $project: { source: 1, body: 1, workspace: 1 } },
      ],
      { maxTimeMS: QUERY_MS },
    )
    .toArray()
  const [record] = found
  const message = record && (jsonOrUndefined(record.body) as WebhookMessage | undefined)
  return record && message && { record, message }
}
