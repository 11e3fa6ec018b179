import type { Channel, ChannelModel } from 'amqplib'
import { connectBroker, declareOn } from './broker.ts'
import type { Log } from './log.ts'

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

/** Keeps a connection to the broker, with what `declare` declares, and tells its followers of every new one. */
export async function followBroker(options: {
  url: string
  declare(channel: Channel): Promise<void>
  log: Log
}): Promise<FollowedBroker> {
  const { url, declare, log } = options
  const followers: Follower[] = []
  const stopping = new AbortController()
  let current: ChannelModel | undefined
  const broker = await connectBroker({
    url,
    log,
    setup: (connection) => declareOn({ connection, declare, log, signal: stopping.signal }),
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
