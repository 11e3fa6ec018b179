/** A server-sent event. */
export interface ServerEvent {
  /** The last id that the stream gave, which is where it goes on from; empty for none. */
  id: string
  event: string
  data: string
}

export interface EventParser {
  /** A new connection: what the one before left unfinished is dropped. */
  begin(): void
  /** The events that end in this part of the stream. Throws for an event of more than `maxCharacters`. */
  push(text: string): Generator<ServerEvent>
  /** The id of the last event; empty for none. */
  id(): string
  /** Milliseconds that the server asks to wait before a reconnection. */
  retryMs(): number | undefined
}

/** What an event has so far. */
interface Unfinished {
  id?: string
  event?: string
  data: string[]
  characters: number
}

/** Reads server-sent events as the HTML standard has them, in whatever parts they arrive; `id` is that of the last one before. */
export function createEventParser({ maxCharacters, id }: { maxCharacters: number; id: string }): EventParser {
  let last = id
  let lastRetryMs: number | undefined
  let lines = createLines()
  let event: Unfinished = { data: [], characters: 0 }
  const readField = (line: string) => {
    const [, name = '', value = ''] = /^([^:]*)(?::[ ]?(.*))?$/s.exec(line) ?? []
    if (name === 'data') event.data.push(value)
    else if (name === 'event') event.event = value
    else if (name === 'id' && !value.includes('\0')) event.id = value
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) lastRetryMs = Number(value)
  }
  return {
    begin() {
      lines = createLines()
      event = { data: [], characters: 0 }
    },
    *push(text) {
      for (const line of lines.push(text)) {
        event.characters += line.length
        if (event.characters > maxCharacters) throw new Error('an event of the stream is too large')
        if (line !== '') {
          readField(line)
          continue
        }
        const { data, event: name } = event
        last = event.id ?? last
        event = { data: [], characters: 0 }
        if (data.length > 0) yield { id: last, event: name || 'message', data: data.join('\n') }
      }
      if (event.characters + lines.unfinished() > maxCharacters)
        throw new Error('an event of the stream is too large')
    },
    id: () => last,
    retryMs: () => lastRetryMs,
  }
}

/** Lines end with a carriage return, a line feed or both; a byte order mark at the beginning is no part of them. */
function createLines() {
  let rest = ''
  let isFirst = true
  let endedInReturn = false
  return {
    push(text: string): string[] {
      if (text === '') return []
      let part = isFirst ? text.replace(/^\ufeff/, '') : text
      isFirst = false
      // The line feed that belongs to the carriage return before it.
      if (endedInReturn) part = part.replace(/^\n/, '')
      endedInReturn = text.endsWith('\r')
      const lines = (rest + part).split(/\r\n|\n|\r/)
      rest = lines.pop() ?? ''
      return lines
    },
    unfinished: () => rest.length,
  }
}
