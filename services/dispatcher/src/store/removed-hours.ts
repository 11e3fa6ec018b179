import type { mongo } from 'mongoose'
import type { MessageState } from '../message/message-record.ts'
import type { AuditedMessage, Place, RemovedHour } from './audit-records.ts'
import type { Collections } from './collections.ts'

/** A message, or the place of an id. */
type RemovedMessage = Pick<AuditedMessage, 'workspace' | 'channel' | 'hour'> & {
  place?: Place
  state?: MessageState
}

/** Adds messages and ids that are removed to what their hours have in all. */
export async function addUp(
  removed: Collections['removed'],
  counted: RemovedMessage[],
  session: mongo.ClientSession,
): Promise<void> {
  const hours = Map.groupBy(counted, ({ workspace, channel, hour }) =>
    JSON.stringify([workspace, channel, hour.getTime()]),
  )
  const updates = [...hours.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const { workspace, channel, hour } = first
    const _id: RemovedHour['_id'] = { workspace, channel, hour }
    const update = { $set: { workspace, channel, hour }, $inc: sumsOf(group) }
    return [{ updateOne: { filter: { _id }, update, upsert: true } }]
  })
  await removed.bulkWrite(updates, { session })
}

function sumsOf(group: RemovedMessage[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { place, state } of group) {
    const field = place === undefined ? `states.${state}` : `places.${place}`
    sums[field] = (sums[field] ?? 0) + 1
  }
  return sums
}
