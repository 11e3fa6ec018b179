import { createEventParser, type ServerEvent } from '@parley/client/event-stream'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'

/** A stream that is read in the background. */
export interface ReadStream {
  response: Response
  /** The events until now; ids of places are included as events without data. */
  events: ServerEvent[]
  /** The last id that was given, also without an event. */
  lastId(): string
  /** Waits until the events are as asked for. */
  until<T>(condition: (events: ServerEvent[]) => T | undefined): Promise<T>
  isEnded(): boolean
  close(): void
}

/** Reads a response's events until either side ends it. */
export function readEvents(response: Response): ReadStream {
  const parser = createEventParser({ maxCharacters: 1024 * 1024, id: '' })
  const events: ServerEvent[] = []
  let isEnded = false
  const reader = response.body?.pipeThrough(new TextDecoderStream() as never).getReader()
  const read = async () => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      events.push(...parser.push(part.value as unknown as string))
  }
  void read()
    .catch(() => undefined)
    .finally(() => {
      isEnded = true
    })
  return {
    response,
    events,
    lastId: () => parser.id(),
    until: (condition) => eventually(() => condition(events)),
    isEnded: () => isEnded,
    close: () => void reader?.cancel().catch(() => undefined),
  }
}

/** An event in a few words: what it is, and of which message in which state. */
export function inWords({ event, data }: ServerEvent): string {
  const { _id, message, state } = JSON.parse(data) as Parsed
  return `${event} ${_id ?? message}${state === undefined ? '' : ` ${state}`}`
}
