import { type MessageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { DISPATCHER_EXCHANGE, STATUS_QUEUES } from '@parley/shared/messaging/topology'
import { z } from 'zod'
import type { Collections } from '../store/collections.ts'

/** A status that no provider reports. To a dispatcher of a version without markers it is one that changes nothing. */
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

/** Puts a marker at the end of its status queue, and nowhere else. One that is lost is sent again later. */
export function sendMarker(publisher: Pick<Publisher, 'publish'>, marker: StatusMarker): void {
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
  const routingKey = STATUS_QUEUES[marker.queue]
  if (routingKey === undefined) return
  const publication = { exchange: DISPATCHER_EXCHANGE, routingKey, type: STATUS_TYPE }
  // Whoever waits for it sends the next one after a while, whether this one was lost on its way there or back.
  publisher.publish({ ...publication, body: Buffer.from(JSON.stringify(body)) }).catch(() => {})
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
