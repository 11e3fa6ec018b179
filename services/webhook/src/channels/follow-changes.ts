import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { followChanges } from '@parley/shared/messaging/follow-changes'
import { declareChanges } from '@parley/shared/messaging/topology'
import { channelChange } from './channel-copy.ts'
import type { ChannelStore } from './channel-store.ts'

/** Changes to channels, for the replicas in the database: whichever instance takes them. */
const CHANGES_QUEUE = 'webhook.channels'
const MAX_CHANGES = 100_000

/** Updates the replicas from the changes that configuration publishes, also of channels not stored yet. */
export async function followChannelChanges(options: {
  url: string
  store: Pick<ChannelStore, 'keep'>
  changed(workspace: number): void
  log: Log
}): Promise<{ close(): Promise<void> }> {
  const { url, store, changed, log } = options
  const broker = await connectBroker({
    url,
    declare: (channel) =>
      declareChanges(channel, { queue: CHANGES_QUEUE, resources: ['channels'], maxLength: MAX_CHANGES }),
    log,
  })
  const changes = followChanges({
    queue: CHANGES_QUEUE,
    schema: channelChange,
    apply: async (change) => {
      await store.keep(change)
      changed(change.workspace)
    },
    log,
  })
  broker.follow(changes)
  return {
    close: async () => {
      await changes.close()
      await broker.close()
    },
  }
}
