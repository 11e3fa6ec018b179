import { roundRobin } from '@parley/shared/internal-client'
import type { Consumer } from '@parley/shared/messaging/consumer'
import type { Config } from '../config.ts'
import { createCommitter, statusWriter } from '../store/commit.ts'
import { startEarlyStatuses } from './early-statuses.ts'
import { watchStatuses } from './status-watch.ts'
import { statusConsumers } from './work-statuses.ts'

type Watching = Parameters<typeof watchStatuses>[0]
type Consuming = Parameters<typeof statusConsumers>[0]
type Early = Parameters<typeof startEarlyStatuses>[0]

/** The providers' statuses of sends: if they can arrive, and that they are applied. */
export interface Statuses {
  arrival: ReturnType<typeof watchStatuses>
  /** By their queues. */
  consumers: ReadonlyMap<string, Consumer>
  close(): Promise<void>
}

/** Starts what applies the provider's statuses; the consumers work once they follow the broker. */
export function startStatuses(
  options: Omit<Watching & Consuming & Early, 'gateways' | 'webhooks' | 'committer'> & {
    config: Pick<Config, 'GATEWAY_URL' | 'WEBHOOK_URL'>
  },
): Statuses {
  const { config, collections, instance } = options
  const arrival = watchStatuses({
    ...options,
    gateways: roundRobin(config.GATEWAY_URL),
    webhooks: roundRobin(config.WEBHOOK_URL),
  })
  const work = { ...options, committer: createCommitter(collections.messages, statusWriter(instance)) }
  const consumers = statusConsumers(work)
  const early = startEarlyStatuses(work)
  return {
    arrival,
    consumers,
    close: async () => {
      await Promise.all([arrival.close(), early.stop()])
      await Promise.all([...consumers.values()].map((consumer) => consumer.close()))
    },
  }
}
