import { Problem } from '@parley/shared/problem'
import type { Options } from 'amqplib'
import type { PublishChannel } from './publish-channel.ts'

const CONFIRM_MS = 4_500

/** Publishes persistently; resolves once the broker has confirmed, rejects with `unavailable` after 4.5 s. */
export function publishConfirmed(
  publishChannel: Pick<PublishChannel, 'current'>,
  publication: { exchange: string; key: string; body: object; properties: Options.Publish },
): Promise<void> {
  const { exchange, key, body, properties } = publication
  return new Promise((resolve, reject) => {
    const unavailable = () => reject(new Problem('unavailable', { detail: 'The message broker is away.' }))
    const channel = publishChannel.current()
    if (channel === undefined) return unavailable()
    const late = setTimeout(unavailable, CONFIRM_MS)
    const done = (error: unknown) => {
      clearTimeout(late)
      if (error) unavailable()
      else resolve()
    }
    const options = { ...properties, persistent: true, contentType: 'application/json' }
    channel.publish(exchange, key, Buffer.from(JSON.stringify(body)), options, done)
  })
}
