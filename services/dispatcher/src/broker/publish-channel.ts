import { openConfirmChannel } from '@parley/shared/broker'
import type { Follower } from '@parley/shared/follow-broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel, ConfirmChannel } from 'amqplib'

const PAUSE_MS = 500

/** A confirm channel that is there again after a loss, of itself or of its connection. */
export interface PublishChannel extends Follower {
  /** The channel, while there is one. */
  current(): ConfirmChannel | undefined
  close(): Promise<void>
}

/** Keeps a channel open: one that the broker closed on a live connection is opened anew after half a second. */
export function openPublishChannel(log: Log): PublishChannel {
  let connection: ChannelModel | undefined
  let channel: ConfirmChannel | undefined
  let retry: NodeJS.Timeout | undefined
  const open = async (model: ChannelModel) => {
    if (connection !== model) return
    try {
      const opened = await openConfirmChannel(model, log)
      opened.once('close', () => {
        if (channel === opened) channel = undefined
        again(model)
      })
      channel = opened
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'channel not opened')
      again(model)
    }
  }
  const again = (model: ChannelModel) => {
    if (connection !== model) return
    clearTimeout(retry)
    retry = setTimeout(() => void open(model), PAUSE_MS)
  }
  return {
    attach(model) {
      connection = model
      void open(model)
    },
    current: () => channel,
    async close() {
      connection = undefined
      clearTimeout(retry)
      await channel?.close().catch(() => {})
    },
  }
}
