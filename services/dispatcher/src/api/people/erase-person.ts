import { createHash } from 'node:crypto'
import { ERASED_TYPE } from '@parley/shared/consent'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { PEOPLE_EXCHANGE, PEOPLE_QUEUE } from '@parley/shared/messaging/topology'
import type { mongo } from 'mongoose'
import type { Suppressions } from '../../consent/suppressions.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import { writeThread } from '../../conversations/write-threads.ts'
import type { Delivery } from '../../message/delivery.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import { type ThreadRecord, threadId } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { type Erasing, eraseMessages, eraseThread } from '../threads/erase-thread.ts'
import { type ErasableTasks, tasksOfThread } from '../threads/erasers.ts'
import { messagesOfPerson, noticesOfPerson, type PersonNamed, threadsOfPerson } from './find-everything.ts'

/** Less than whoever asks waits for. */
const WORK_MS = 1_500
const BATCH = 200
const QUERY_MS = 2_000
const NO_TASKS: ErasableTasks = { scope: {}, ids: [], left: 0 }

export interface ErasingPeople extends Erasing {
  collections: Erasing['collections'] & Pick<Collections, 'notices' | 'earlyStatuses' | 'unpublishedConsent'>
  deliveries: mongo.Collection<Delivery>
  suppressions: Pick<Suppressions, 'change' | 'erase' | 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
  publisher: Pick<Publisher, 'publish'>
}

/**
 * Erases what there is of a person, for a second and a half at most; false where there is more, and the same is to be asked
 * again. First of all nothing more is sent to them: of that a hash stays. What an instance still knows of them from before
 * makes nobody of them any more. Rejects with `unavailable`.
 */
export async function erasePerson(needed: ErasingPeople, person: PersonNamed): Promise<{ done: boolean }> {
  const { collections, suppressions, publisher } = needed
  const { workspace, addresses, people = [] } = person
  const until = performance.now() + WORK_MS
  const at = new Date()
  await suppressions.change([{ ...person, purpose: 'marketing', status: 'withdrawn', source: 'api', at }])
  await suppressions.erase(person, at)
  const threads = await threadsOfPerson(collections, person)
  for (const { thread, isTheirs } of threads) {
    if (!isTheirs) continue
    const { scope, found } = await tasksOfThread(needed, thread)
    const tasks = { scope, ids: found.map(({ _id }) => _id), left: 0, areForgotten: true }
    if (!(await eraseThread(needed, thread, tasks, { until }))) return { done: false }
  }
  if (!(await eraseElsewhere(needed, person, until))) return { done: false }
  for (const { thread, isTheirs } of threads) if (!isTheirs) await writeAnew(needed, thread)
  await eraseNotices(needed, person)
  await needed.deliveries.deleteMany({ workspace, line: { $in: people.map((id) => `people/${id}`) } })
  await collections.unpublishedConsent.deleteMany({ workspace, addresses: { $in: addresses } })
  const body = Buffer.from(JSON.stringify({ workspace, addresses }))
  await publisher.publish({
    ...{ exchange: PEOPLE_EXCHANGE, routingKey: PEOPLE_QUEUE, mandatory: true, type: ERASED_TYPE, body },
    messageId: createHash('sha256').update(body).digest('base64url'),
  })
  return { done: true }
}

/** Messages of the person in threads that are with somebody else by now. */
async function eraseElsewhere(needed: ErasingPeople, person: PersonNamed, until: number): Promise<boolean> {
  const { collections, erasers } = needed
  const { workspace } = person
  for (;;) {
    const found = await collections.messages
      .find(messagesOfPerson(person), { maxTimeMS: QUERY_MS })
      .project<Pick<MessageRecord, '_id' | 'channel' | 'thread'>>({ channel: 1, thread: 1 })
      .limit(BATCH)
      .toArray()
    if (found.length === 0) return true
    if (performance.now() > until) return false
    const threads = Map.groupBy(found, ({ channel, thread: extId }) =>
      threadId({ workspace, channel, extId }),
    )
    for (const [first, ...others] of threads.values()) {
      if (first === undefined) continue
      const messageIds = [first, ...others].map(({ _id }) => _id)
      const of = {
        workspace,
        joined: [],
        channel: first.channel,
        extId: first.thread,
        messageIds,
        tasks: NO_TASKS,
      }
      for (const erase of erasers) await erase(of)
      await eraseMessages(needed, messageIds)
    }
  }
}

/** Writes the document of a thread anew from the parts that are left of the person's data. */
async function writeAnew({ collections, retentionMs }: ErasingPeople, thread: ThreadRecord): Promise<void> {
  const { _id, workspace, channel, extId } = thread
  await collections.threads.deleteOne({ _id })
  await writeThread(collections, { workspace, channel, extId }, retentionMs)
}

/** Notices that name the person, the events of them, and statuses that wait for their sends. */
async function eraseNotices(
  { collections: { notices, earlyStatuses }, deliveries }: ErasingPeople,
  person: PersonNamed,
): Promise<void> {
  const { workspace, value: named } = noticesOfPerson(person)
  for (;;) {
    const found = await notices
      .find({ workspace, value: named }, { projection: { channelId: 1 }, maxTimeMS: QUERY_MS })
      .limit(BATCH)
      .toArray()
    if (found.length === 0) break
    for (const { _id, channelId } of found)
      await deliveries.deleteMany({ workspace, line: `channel/${channelId}`, record: `notices/${_id}` })
    await notices.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } })
  }
  await earlyStatuses.deleteMany({ _id: { $regex: `^${workspace}/` }, status: named })
}
