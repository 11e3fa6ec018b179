import type { ParleyError } from './parley-error.ts'
import { pause } from './pause.ts'

export interface FollowOptions {
  /** Opens the stream; its headers have the `Last-Event-ID` after the first event. */
  open(request: { headers: Record<string, string>; signal: AbortSignal }): Promise<Response>
  /** The error to throw for a response that is no stream. */
  refusalOf(response: Response): Promise<ParleyError>
  lastEventId?: string
  signal?: AbortSignal
  /** Called whenever the stream has been opened. */
  onOpen?(): void
  /** Called with what failed before it is opened again. */
  onRetry?(error: unknown): void
  /** An attempt at opening it counts as failed after so long, in milliseconds (45,000). */
  openMs?: number
  /** How long its first opening is tried, in milliseconds (300,000). */
  firstForMs?: number
  /** The connection counts as broken after so much silence, in milliseconds (45,000). */
  silenceMs?: number
}

const SILENCE_MS = 45_000
const GIVE_UP_MS = 300_000
const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 15_000
const MAX_DOUBLINGS = 10
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024
/** Refusals that may be over a moment later. */
const PASSING = [408, 429, 502, 503, 504]

/**
 * The events of a stream, one after another. It is opened again where it ends, breaks or is silent, and goes on after
 * the last event (`Last-Event-ID`); after `firstForMs` without a first connection, or 5 minutes without a later one, the
 * last error is thrown. A refusal that does not pass is thrown at once. The signal and the consumer's `break` end it.
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<ServerEvent> {
  const ended = options.signal ?? new AbortController().signal
  const parser = createEventParser({ maxCharacters: MAX_EVENT_CHARACTERS, id: options.lastEventId ?? '' })
  const { openMs = SILENCE_MS, silenceMs = SILENCE_MS } = options
  let giveUpMs = options.firstForMs ?? GIVE_UP_MS
  let downSince: number | undefined = performance.now()
  let failures = 0
  while (!ended.aborted) {
    const connection = createConnection(ended, { openMs, silenceMs })
    let failure: { error: unknown } | undefined
    try {
      const { signal } = connection
      const opening = options.open({ headers: headersAfter(parser), signal })
      const response = await Promise.race([opening, failureAt(signal)])
      if (!response.ok || response.body === null)
        throw await Promise.race([options.refusalOf(response), failureAt(signal)])
      connection.heard()
      downSince = undefined
      giveUpMs = GIVE_UP_MS
      failures = 0
      options.onOpen?.()
      yield* eventsIn(response.body, { parser, connection })
    } catch (error) {
      failure = { error }
    } finally {
      connection.close()
    }
    if (ended.aborted) return
    const pauseMs = pauseAfter(parser, failures++)
    if (failure !== undefined) {
      downSince ??= performance.now()
      const isOver = performance.now() + pauseMs - downSince > giveUpMs
      if (isOver || !isPassing(failure.error)) throw failure.error
      options.onRetry?.(failure.error)
    }
    await pause(pauseMs, ended)
  }
}

/** In milliseconds. Many readers lose their streams at one time, when an instance stops. */
function pauseAfter(parser: EventParser, failures: number): number {
  const first = Math.min(parser.retryMs() ?? FIRST_PAUSE_MS, MAX_PAUSE_MS)
  const backoff = Math.min(first * 2 ** Math.min(failures, MAX_DOUBLINGS), MAX_PAUSE_MS)
  return backoff * (0.5 + Math.random() / 2)
}

function headersAfter(parser: EventParser): Record<string, string> {
  return parser.id() === '' ? {} : { 'last-event-id': parser.id() }
}

interface Connection {
  signal: AbortSignal
  /** Something arrived: the silence begins anew. */
  heard(): void
  close(): void
}

function createConnection(
  ended: AbortSignal,
  { openMs, silenceMs }: { openMs: number; silenceMs: number },
): Connection {
  const controller = new AbortController()
  const close = () => controller.abort()
  const expire = () => controller.abort(new DOMException('The stream is silent.', 'TimeoutError'))
  let timer = setTimeout(expire, openMs)
  ended.addEventListener('abort', close)
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer)
      timer = setTimeout(expire, silenceMs)
    },
    close() {
      clearTimeout(timer)
      ended.removeEventListener('abort', close)
      close()
    },
  }
}

async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  { parser, connection }: { parser: EventParser; connection: Connection },
): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader()
  const { signal } = connection
  signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(() => undefined))
  parser.begin()
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    connection.heard()
    yield* parser.push(part.value)
  }
  signal.throwIfAborted()
}

/** Rejects when the signal is aborted. Of that, fetch hears only until the garbage is collected: it refers to signals weakly. */
function failureAt(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** Broken connections pass, and so do some refusals. */
function isPassing(error: unknown): boolean {
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  return status === undefined || PASSING.includes(status as number)
}

/** A server-sent event. */
export interface ServerEvent {
  /** The last id that the stream gave, which is where it goes on from; empty for none. */
  id: string
  event: string
  data: string
}

interface EventParser {
  /** A new connection: what the one before left unfinished is dropped. */
  begin(): void
  /** The events that end in this part of the stream. Throws for an event of more than `maxCharacters`. */
  push(text: string): Generator<ServerEvent>
  /** The id of the last event; empty for none. */
  id(): string
  /** Milliseconds that the server asks to wait before a reconnection. */
  retryMs(): number | undefined
}

/** The part of an event that has come. */
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
