import { connectBroker, declareOn, declareTopology } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import type { ChannelModel } from 'amqplib'

/** Something that works on every new connection to the broker. */
export interface Follower {
  attach(connection: ChannelModel): void
}

export interface FollowedBroker {
  /** Attaches to the present connection, and to every later one. */
  follow(follower: Follower): void
  isUp(): Promise<boolean>
  close(): Promise<void>
}

/** Keeps a connection to the broker, with the topology declared, and tells its followers of every new one. */
export async function followBroker(options: { url: string; log: Log }): Promise<FollowedBroker> {
  const { url, log } = options
  const followers: Follower[] = []
  const stopping = new AbortController()
  let current: ChannelModel | undefined
  const broker = await connectBroker({
    url,
    log,
    setup: (connection) => declareOn({ connection, declare: declareTopology, log, signal: stopping.signal }),
  })
  broker.on('connect', (connection: ChannelModel) => {
    current = connection
    for (const follower of followers) follower.attach(connection)
  })
  broker.on('disconnect', () => {
    current = undefined
  })
  return {
    follow(follower) {
      followers.push(follower)
      if (current !== undefined) follower.attach(current)
    },
    isUp: async () => current !== undefined,
    close: () => {
      stopping.abort()
      return broker.close()
    },
  }
}
