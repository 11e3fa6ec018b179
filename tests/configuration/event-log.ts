import { CONFIGURATION_EXCHANGE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'

/** One event as it came. */
interface LoggedEvent {
  id: number
  version: number
  text: string
}

const QUEUE = 'events.check'

/** A queue that outlives the broker and gets every event; declared before there are any. */
export async function retainEvents(url: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await channel.assertExchange(CONFIGURATION_EXCHANGE, 'topic', { durable: true })
  await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  await channel.bindQueue(QUEUE, CONFIGURATION_EXCHANGE, '#')
  await connection.close()
}

/** Takes a workspace's events up to the first one of document `last`; throws when it is not there in `waitMs`. */
export async function takeEvents(options: {
  url: string
  waitMs: number
  workspace: number
  last: number
}): Promise<LoggedEvent[]> {
  const connection = await connect(options.url)
  const events: LoggedEvent[] = []
  try {
    const channel = await connection.createChannel()
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error(`only ${events.length} events came in ${options.waitMs} ms`))
      const timer = setTimeout(late, options.waitMs)
      const taken = channel.consume(QUEUE, (message) => {
        if (message === null) return
        const text = message.content.toString()
        const { workspace, _id: id, version } = JSON.parse(text) as Record<string, number>
        channel.ack(message)
        if (workspace !== options.workspace || id === undefined || version === undefined) return
        events.push({ id, version, text })
        if (id !== options.last) return
        clearTimeout(timer)
        resolve()
      })
      taken.catch(reject)
    })
    await channel.close()
  } finally {
    await connection.close()
  }
  return events
}

interface EventAccount {
  /** Versions that the database has and no event told of. */
  lost: number
  /** Events of versions that the database never had, or that differ between two tellings of one version. */
  invented: number
  /** Events that came before the version in front of them. */
  misplaced: number
  /** Events that came again. */
  repeated: number
}

/** Holds events against the version that each document has in the end. */
export function account(events: readonly LoggedEvent[], versions: ReadonlyMap<number, number>): EventAccount {
  const logged = new Map<string, string>()
  const latest = new Map<number, number>()
  const result = { lost: 0, invented: 0, misplaced: 0, repeated: 0 }
  for (const { id, version, text } of events) {
    const known = logged.get(`${id}/${version}`)
    logged.set(`${id}/${version}`, text)
    if (version > (versions.get(id) ?? 0) || (known !== undefined && known !== text)) result.invented++
    else if (known !== undefined) result.repeated++
    else if (version !== (latest.get(id) ?? 0) + 1) result.misplaced++
    latest.set(id, Math.max(version, latest.get(id) ?? 0))
  }
  for (const [id, version] of versions) {
    for (let at = 1; at <= version; at++) if (!logged.has(`${id}/${at}`)) result.lost++
  }
  return result
}
