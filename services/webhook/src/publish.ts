import {
  connectBroker,
  declareTopology,
  MESSAGES_EXCHANGE,
  openConfirmChannel,
  partitionKey,
  partitionOf,
} from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import { MESSAGE_TYPE } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import type { ConfirmChannel } from 'amqplib'

const CONFIRM_MS = 4_500
const MAX_IN_FLIGHT = 5_000

export interface Publication {
  messageId: string
  workspace: number
  /** External id of the channel, as the message names it. */
  channel: string
  thread: string
  source: 'api'
  requestId: string
  body: Buffer
}

export interface Publisher {
  /**
   * Resolves when the broker has confirmed, so that the message is safe. Rejects with `unavailable` when the
   * broker is away, refuses, is blocked, has not confirmed within 4.5 s, or 5,000 are in flight: then it is not
   * known whether the message got there.
   */
  publish(publication: Publication): Promise<void>
  isUp(): Promise<boolean>
  /** Waits for the confirms under way, 4.5 s at most, and disconnects. */
  close(): Promise<void>
}

/** A confirmed publisher to exchange `messages`, on one channel that is made anew after every loss. */
export async function createPublisher(options: { url: string; log: Log }): Promise<Publisher> {
  const { url, log } = options
  const inFlight = new Set<Promise<void>>()
  let channel: ConfirmChannel | undefined
  let blocked = false
  const connection = await connectBroker({
    url,
    log,
    setup: async (model) => {
      const opened = await openConfirmChannel(model, log)
      await declareTopology(opened)
      blocked = false
      channel = opened
      opened.once('close', () => {
        if (channel === opened) channel = undefined
        // A channel closed by the broker alone would leave a live connection that publishes nothing.
        model.close().catch(() => {})
      })
    },
  })
  connection.on('blocked', (reason: string) => {
    blocked = true
    log.error({ reason }, 'broker takes no messages')
  })
  connection.on('unblocked', () => {
    blocked = false
  })
  const isUp = () => channel !== undefined && !blocked
  return {
    publish(publication) {
      if (channel === undefined || !isUp())
        return Promise.reject(new Problem('unavailable', { detail: 'The message broker is away.' }))
      if (inFlight.size >= MAX_IN_FLIGHT)
        return Promise.reject(new Problem('unavailable', { detail: 'Too many messages are in flight.' }))
      const confirmed = publishOn(channel, publication)
      inFlight.add(confirmed)
      const settled = () => inFlight.delete(confirmed)
      confirmed.then(settled, settled)
      return confirmed
    },
    isUp: async () => isUp(),
    async close() {
      await Promise.allSettled(inFlight)
      await connection.close()
    },
  }
}

function publishOn(channel: ConfirmChannel, publication: Publication): Promise<void> {
  const { messageId, workspace, thread, body } = publication
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Problem('unavailable', { detail: 'The message broker is slow.' })),
      CONFIRM_MS,
    )
    const done = (error?: Error | null) => {
      clearTimeout(late)
      if (error)
        reject(new Problem('unavailable', { detail: 'The message broker did not take it.', cause: error }))
      else resolve()
    }
    try {
      channel.publish(
        MESSAGES_EXCHANGE,
        partitionKey(partitionOf(workspace, thread)),
        body,
        {
          persistent: true,
          messageId,
          type: MESSAGE_TYPE,
          contentType: 'application/json',
          timestamp: Math.floor(Date.now() / 1000),
          headers: {
            workspace,
            channel: publication.channel,
            thread,
            source: publication.source,
            requestId: publication.requestId,
          },
        },
        done,
      )
    } catch (error) {
      done(error instanceof Error ? error : new Error('publish failed'))
    }
  })
}
