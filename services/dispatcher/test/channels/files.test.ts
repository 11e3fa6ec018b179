import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { createReadThreadFile } from '../../src/channels/media/thread-files.ts'
import { config } from '../../src/config.ts'
import { actionOf, agentOf, callTool, startTools } from '../agent-world.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'
import { newRecord } from '../new-record.ts'

const database = dispatcherDatabase({ partitions: 1 })
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0, 1, 2, 255])])
const PDF = Buffer.from('%PDF-1.7 \xff\x00', 'latin1')
const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS.parse('127.0.0.0/8') })
let meta: Listening
let shop: Listening
let tools: ReturnType<typeof startTools>
const stalled = new Set<() => void>()
let readFile: ReturnType<typeof createReadThreadFile>
let received: { path: string; type: string; body: Buffer }[] = []

beforeAll(async () => {
  meta = await listen((req, res) => {
    const [, id = ''] = /(\w+)$/.exec(req.url ?? '') ?? []
    const type = id.startsWith('pdf') ? 'application/pdf' : 'image/png'
    if (id.startsWith('gone')) return void res.writeHead(404).end('{}')
    if (req.url?.startsWith('/bytes/slow')) return void stalled.add(() => res.end(PNG))
    if (req.url?.startsWith('/bytes')) return void res.end(type === 'image/png' ? PNG : PDF)
    res.end(JSON.stringify({ url: `${meta.url}/bytes/${id}`, mime_type: type }))
  })
  shop = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      received.push({
        path: req.url ?? '',
        type: req.headers['content-type'] ?? '',
        body: Buffer.concat(chunks),
      })
      res.end('{}')
    })
  })
  const channel = { _id: 1, workspace: 1, hook: 'whatsapp', callback: 'whatsapp', handlerUrl: '' }
  const settings = { phoneNumberId: '1', accessToken: 't', apiUrl: `${meta.url}/v23.0` }
  const channels = { find: async () => ({ ...channel, config: settings }) }
  const webhook = { getBytes: async () => undefined }
  readFile = createReadThreadFile(database.collections, { channels, webhook, http })
  tools = startTools({ readFile })
})
afterAll(async () => {
  await tools.close()
  http.close()
  await Promise.all([meta.close(), shop.close()])
})
beforeEach(async () => {
  received = []
  await database.collections.messages.deleteMany({})
})

/** Inserts messages of the person, the oldest first; the message that is answered is `m`. */
const sent = (...contents: (object | string)[]) =>
  database.collections.messages.insertMany(
    contents.map((content, at) =>
      newRecord({
        ...{ _id: at === contents.length - 1 ? 'm' : `m${at}`, order: at, source: 'meta' },
        receivedAt: new Date(Date.UTC(2026, 0, 1, 0, at)),
        body: JSON.stringify({
          ...{ extId: 'c', user: {}, thread: {}, answer: {}, input: 'x' },
          ...(typeof content === 'string' ? {} : { meta: content }),
        }),
      }),
    ),
  )
const image = (id: string) => ({ type: 'image', image: { id } })
const pdf = { type: 'document', document: { id: 'pdf1', filename: 'Bill "of" May.pdf' } }

const binary = { type: 'string', format: 'binary' }
const action = (photo: object = {}, encoding: object = {}) => {
  const properties = {
    note: { type: 'string' },
    photo: { ...binary, ...photo },
    all: { type: 'array', items: binary },
  }
  const post = (operationId: string, content: object) => ({ post: { operationId, requestBody: { content } } })
  const schema = { type: 'object', properties, additionalProperties: false }
  const spec = {
    ...{ openapi: '3.0.3', servers: [{ url: shop.url }] },
    paths: {
      '/form': post('upload', { 'multipart/form-data': { schema, encoding } }),
      '/raw': post('raw', { 'application/octet-stream': { schema: binary } }),
    },
  }
  const _id = 1_000 + Math.floor(Math.random() * 1e6)
  return tools.open(agentOf([actionOf({ _id, spec: JSON.stringify(spec) })]))
}
const fieldsOf = async () => {
  const [{ type, body } = { type: '', body: Buffer.of() }] = received
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const read = async ([name, value]: [string, string | File]) =>
    typeof value === 'string'
      ? [name, value]
      : [name, value.name, value.type, Buffer.from(await value.arrayBuffer())]
  return Promise.all([...form].map(read))
}

describe('a file of the conversation', () => {
  test('is sent by a form as it is, with its type and name, counted from the latest', async () => {
    await sent(image('old'), pdf, 'A text', image('png1'))
    const toolbox = await action()
    const shown = toolbox.descriptions.find(({ name }) => name === 'upload')?.inputSchema.properties
    expect(shown).toMatchObject({ photo: { description: expect.stringContaining('{"media": 1}') } })
    await callTool(toolbox, 'upload', { note: 'n', photo: { media: 1 }, all: [{ media: 2 }, 'a text'] })
    expect(await fieldsOf()).toEqual([
      ['note', 'n'],
      ['photo', 'm.png', 'image/png', PNG],
      ['all', 'Bill_of_May.pdf', 'application/pdf', PDF],
      ['all', 'all', 'application/octet-stream', Buffer.from('a text')],
    ])
  })

  test('is the whole body where that is bytes', async () => {
    await sent(image('png1'))
    await callTool(await action(), 'raw', { body: { media: 1 } })
    expect(received).toEqual([{ path: '/raw', type: 'application/octet-stream', body: PNG }])
  })

  test('that is not there, was taken back, is gone, or is of another type is not sent: the model reads why', async () => {
    await sent(image('png1'), image('gone1'), 'x')
    const encoding = { photo: { contentType: 'application/pdf, text/*' } }
    const toolbox = await action({}, encoding)
    const textOf = async (media: number) => {
      const outcome = await callTool(toolbox, 'upload', { photo: { media } })
      return outcome.kind === 'answered' ? outcome.result.text : outcome.kind
    }
    expect(await textOf(1)).toContain('no longer has it')
    expect(await textOf(2)).toContain('image/png, where application/pdf, text/* is taken')
    expect(await textOf(3)).toContain('no file')
    await database.collections.messages.updateMany(
      {},
      { $set: { changed: { isDeleted: true, by: 'x', at: new Date() } } },
    )
    expect(await textOf(1)).toContain('no file')
    expect(received).toEqual([])
  })

  test('is of its own thread and channel, and not of what came later', async () => {
    await sent('x')
    const later = { receivedAt: new Date(Date.UTC(2026, 1, 1)), source: 'meta' } as const
    const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {}, meta: image('png1') })
    await database.collections.messages.insertMany([
      newRecord({ _id: 'other', thread: 'other', source: 'meta', body }),
      newRecord({ _id: 'of-channel', channel: 'd', source: 'meta', body }),
      newRecord({ _id: 'of-workspace', workspace: 2, source: 'meta', body }),
      newRecord({ _id: 'later', ...later, body }),
      newRecord({ _id: 'forged', source: 'api', body }),
    ])
    const outcome = await callTool(await action(), 'upload', { photo: { media: 1 } })
    expect(outcome).toMatchObject({ result: { state: 'failed', text: expect.stringContaining('no file') } })
  })

  test('comes through beside four slow ones of another workspace, of which the oldest makes room', async () => {
    const body = JSON.stringify({ extId: 'c', user: {}, thread: {}, answer: {}, meta: image('slow') })
    await sent(image('png1'))
    await database.collections.messages.insertMany(
      [1, 2, 3, 4].map((at) =>
        newRecord({ _id: `slow${at}`, thread: `t${at}`, workspace: 2, source: 'meta', body }),
      ),
    )
    const signal = AbortSignal.timeout(20_000)
    const slow = [1, 2, 3, 4].map((at) =>
      readFile({ messageId: `slow${at}`, position: 1 }, signal).catch(({ code }) => code),
    )
    await eventually(async () => stalled.size === 4)
    const { bytes } = await readFile({ messageId: 'm', position: 1 }, signal)
    expect(bytes).toEqual(PNG)
    for (const end of stalled) end()
    const ended = await Promise.all(slow)
    expect(ended.filter((one) => one === 'unavailable')).toHaveLength(1)
  })

  test.each([{ media: 0 }, { media: 51 }, { media: '1' }, { media: 1, more: 1 }, { file: 1 }])(
    'is not named by %j',
    async (photo) => {
      await sent(image('png1'))
      const toolbox = await action()
      expect(await toolbox.open({ tool: 'upload', args: JSON.stringify({ photo }) })).toMatchObject({
        kind: 'invalid',
      })
    },
  )
})
