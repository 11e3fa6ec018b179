import { setTimeout as pause } from 'node:timers/promises'
import {
  CHANNEL_CHANGES_QUEUE,
  connectBroker,
  declareChannelChanges,
  declareOn,
  openChannel,
} from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import { parseJson } from '@parley/shared/parse-json'
import type { Channel as BrokerChannel, ConsumeMessage } from 'amqplib'
import { channelChange } from './channel-copy.ts'
import type { ChannelStore } from './channel-store.ts'

const PREFETCH = 50
const AGAIN_MS = 1_000

interface Following {
  store: Pick<ChannelStore, 'keep'>
  changed(workspace: number): void
  log: Log
}

/** Keeps the copies fresh from the changes that configuration tells of, also of channels not held yet. */
export async function followChannelChanges(
  options: Following & { url: string },
): Promise<{ close(): Promise<void> }> {
  const { url, log } = options
  const closing = new AbortController()
  const connection = await connectBroker({
    url,
    log,
    setup: async (model) => {
      await declareOn({ connection: model, declare: declareChannelChanges, log, signal: closing.signal })
      const channel = await openChannel(model, log)
      const ended = new AbortController()
      channel.once('close', () => {
        ended.abort()
        model.close().catch(() => {})
      })
      const signal = AbortSignal.any([closing.signal, ended.signal])
      await channel.prefetch(PREFETCH)
      await channel.consume(CHANNEL_CHANGES_QUEUE, (delivery) => {
        if (delivery === null) return void channel.close().catch(() => {})
        void keepAndAck(options, { channel, delivery, signal })
      })
    },
  })
  return {
    close: () => {
      closing.abort()
      return connection.close()
    },
  }
}

/** Acked once it is kept; with the database away it is tried each second, and the broker holds the rest. */
async function keepAndAck(
  { store, changed, log }: Following,
  { channel, delivery, signal }: { channel: BrokerChannel; delivery: ConsumeMessage; signal: AbortSignal },
): Promise<void> {
  const change = readChange(delivery.content)
  if (change === undefined) {
    log.error({ messageId: delivery.properties.messageId }, 'change of a channel not understood')
    return channel.ack(delivery)
  }
  while (!signal.aborted) {
    try {
      await store.keep(change)
      changed(change.workspace)
      if (!signal.aborted) channel.ack(delivery)
      return
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'change of a channel not kept yet')
      await pause(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
}

function readChange(content: Buffer) {
  try {
    return channelChange.parse(parseJson(content.toString()))
  } catch {
    return undefined
  }
}
