import { DISPATCHER_EXCHANGE, STATUS_QUEUES } from '@parley/shared/broker'
import { type MessageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import type { Channel } from 'amqplib'
import { z } from 'zod'
import type { Collections } from '../store/collections.ts'

/** What no provider says of a send. A dispatcher that does not know markers ignores it, as any state it does not follow. */
const MARKER_STATUS = 'parley.marker'

const markerSchema = z.object({
  instance: z.string().min(1).max(128),
  queue: z
    .number()
    .int()
    .min(0)
    .max(STATUS_QUEUES.length - 1),
  number: z.number().int().min(0),
})

/** A message that an instance puts behind the statuses of a queue: when it comes back, all before it were applied. */
export type StatusMarker = z.output<typeof markerSchema>

/** Puts a marker at the end of its status queue, and nowhere else. */
export function sendMarker(channel: Pick<Channel, 'publish'>, marker: StatusMarker): void {
  const body: MessageStatus = {
    workspace: 0,
    channel: '',
    providerId: MARKER_STATUS,
    opaque: null,
    status: MARKER_STATUS,
    at: new Date().toISOString(),
    recipient: null,
    marker,
  }
  const queue = STATUS_QUEUES[marker.queue]
  if (queue !== undefined)
    channel.publish(DISPATCHER_EXCHANGE, queue, Buffer.from(JSON.stringify(body)), { type: STATUS_TYPE })
}

/** The marker that a status is, if it is one. */
export function markerOf({ status, marker }: MessageStatus): StatusMarker | undefined {
  return status === MARKER_STATUS ? markerSchema.safeParse(marker).data : undefined
}

/** Notes for the instances that sent them that markers have come back. An instance that is gone has no note. */
export async function noteMarkers(
  instances: Collections['instances'],
  markers: StatusMarker[],
): Promise<void> {
  if (markers.length === 0) return
  await instances.bulkWrite(
    markers.map(({ instance, queue, number }) => ({
      updateOne: { filter: { _id: instance }, update: { $max: { [`statusMarkers.${queue}`]: number } } },
    })),
    { ordered: false },
  )
}
