import { describe, expect, test } from '@jest/globals'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { boundedResponse } from '../../src/channels/http/bounded-response.ts'
import { JsonCounter, type ResponseBounds, ResponseCount } from '../../src/channels/http/response-bounds.ts'

const BOUNDS: ResponseBounds = {
  bytes: 2_000,
  lines: 100,
  events: 20,
  eventBytes: 500,
  nodes: 60,
  outerNodes: 40,
  repeatedNodes: 90,
  depth: 10,
}

/** A response whose body comes in these pieces, and says how many of them were asked for. */
function responseOf(pieces: Uint8Array[]) {
  const state = { pulled: 0, cancelled: undefined as unknown }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[state.pulled++]
        if (piece === undefined) controller.close()
        else controller.enqueue(piece)
      },
      cancel(reason) {
        state.cancelled = reason
      },
    },
    { highWaterMark: 0 },
  )
  return { response: new Response(body, { headers: { 'content-type': 'text/event-stream' } }), state }
}

async function read(pieces: Uint8Array[], form: 'events' | 'text', bounds = BOUNDS): Promise<string[]> {
  const { response } = responseOf(pieces)
  const { body } = boundedResponse(response, { form, count: new ResponseCount(bounds) })
  const chunks: string[] = []
  for await (const chunk of body as ReadableStream<Uint8Array>) chunks.push(Buffer.from(chunk).toString())
  return chunks
}

function piecesOf(text: string, sizes: number[]): Uint8Array[] {
  const bytes = Buffer.from(text)
  const pieces: Uint8Array[] = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = (sizes[n % sizes.length] ?? 0) + 1
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

function eventsIn(chunks: string[]): EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => events.push(event) })
  for (const chunk of chunks) parser.feed(chunk)
  return events
}

const sizes = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 8 })
const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '',
    'data',
    'data:',
    'event: named',
    'id: 7',
    ': comment',
    'unknown: x',
    'retry: 10',
  ),
  fc.string({ maxLength: 12 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, ' ')}`),
)
const stream = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 40 })
  .map((lines) => lines.map(([text, end]) => text + end).join(''))

describe('an event stream', () => {
  test('says the same as before, however it was cut and its lines ended', async () => {
    const wide = { ...BOUNDS, lines: 1_000, events: 1_000, nodes: 1_000, outerNodes: 1_000, depth: 1_000 }
    await fc.assert(
      fc.asyncProperty(stream, sizes, async (text, cuts) => {
        const expected = eventsIn([`${text}\n`]).filter(({ data }) => data !== undefined)
        const chunks = await read(piecesOf(`${text}\n`, cuts), 'events', wide)
        expect(eventsIn(chunks)).toEqual(expected)
        expect(chunks.join('')).not.toContain('\r')
      }),
      { numRuns: 300 },
    )
  })

  test('is passed on in whole events, and its comments and empty lines not at all', async () => {
    const text = '\ufeff: hello\n\n\n\r\n\rdata: {"a":1}\r\n\r\nevent: x\rdata: 2\r\r: bye\n\n'
    const chunks = await read(piecesOf(text, [0]), 'events')
    expect(chunks).toEqual(['data: {"a":1}\n\n', 'event: x\ndata: 2\n\n'])
  })

  test.each([
    ['line ends', '\n'.repeat(101)],
    ['line ends of all kinds', '\r\n'.repeat(101)],
    ['comments', ': a\n'.repeat(101)],
    ['events', 'data: 1\n\n'.repeat(21)],
    ['a line without end', `data: ${'a'.repeat(501)}`],
    ['an event without end', 'data: a\n'.repeat(80)],
    ['an event of many nodes', `data: [[${'1,'.repeat(60)}1]]\n\n`],
    ['a deep event', `data: ${'['.repeat(11)}\n\n`],
    ['bytes', `data: ${'a'.repeat(300)}\n\n`.repeat(7)],
  ])('with too many %s fails, and nothing more of it is read', async (_name, text) => {
    const pieces = [...piecesOf(text, [99]), ...Array.from({ length: 100 }, () => Buffer.from('data: 1\n\n'))]
    const { response, state } = responseOf(pieces)
    const { body } = boundedResponse(response, { form: 'events', count: new ResponseCount(BOUNDS) })
    const reading = (async () => {
      for await (const _ of body as ReadableStream<Uint8Array>);
    })()
    await expect(reading).rejects.toMatchObject({ failure: 'answer_too_large' })
    expect(state.pulled).toBeLessThanOrEqual(pieces.length - 99)
    expect(state.cancelled).toMatchObject({ failure: 'answer_too_large' })
  })

  test('that nobody reads any more is not read any more', async () => {
    const { response, state } = responseOf(Array.from({ length: 10 }, () => Buffer.from('data: 1\n\n')))
    const { body } = boundedResponse(response, { form: 'events', count: new ResponseCount(BOUNDS) })
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await reader.cancel('enough')
    expect(state).toEqual({ pulled: 1, cancelled: 'enough' })
  })
})

describe('a text', () => {
  test('is passed on as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 2 }), sizes, async (text, cuts) => {
        const wide = { ...BOUNDS, bytes: 1e6, nodes: 1e5, outerNodes: 1e5 }
        expect((await read(piecesOf(text, cuts), 'text', wide)).join('')).toBe(text)
      }),
      { numRuns: 100 },
    )
  })

  test.each([
    ['items', `[[[${'0,'.repeat(61)}0]]]`],
    ['objects', `[[[${'{},'.repeat(31)}{}]]]`],
    ['members', `{${Array.from({ length: 42 }, (_, n) => `"a${n}":1`).join(',')}}`],
    ['levels', '['.repeat(11)],
    ['bytes', `"${'a'.repeat(2_000)}"`],
  ])('with too many %s fails', async (_name, text) => {
    await expect(read([Buffer.from(text)], 'text')).rejects.toMatchObject({ failure: 'answer_too_large' })
  })

  test.each([
    [true, '{"id":"a","tools":TOOLS,"output":[]}'],
    [true, '{"type":"response.created","response":{"tools":TOOLS}}'],
    [true, '{"tools":TOOLS}'],
    [false, '{"output":[{"tools":TOOLS}]}'],
    [false, '{"output":TOOLS}'],
    [false, '{"tools":[],"output":TOOLS}'],
    [false, '{"\\"tools":TOOLS}'],
  ])('may repeat the tools of its request: %s for %s', async (isFine, text) => {
    const tools = `[[${Array.from({ length: 80 }, () => '0').join(',')}]]`
    const reading = read([Buffer.from(text.replace('TOOLS', tools))], 'text')
    if (isFine) await expect(reading).resolves.toBeDefined()
    else await expect(reading).rejects.toMatchObject({ failure: 'answer_too_large' })
  })
})

test('the nodes of a JSON text are counted alike however it comes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), sizes, (value, cuts) => {
      const counter = new JsonCounter()
      for (const piece of piecesOf(JSON.stringify(value), cuts)) counter.add(piece)
      expect(counter.nodes + counter.repeatedNodes).toBe(nodesIn(value))
      expect(counter.depth).toBe(depthOf(value))
    }),
  )
})

/** Objects and arrays, and what has a comma before it. */
function nodesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const values = Object.values(value)
  return 1 + Math.max(0, values.length - 1) + values.reduce<number>((sum, one) => sum + nodesIn(one), 0)
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
