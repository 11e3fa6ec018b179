import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createAskSeeing, isSeeing } from '../../src/agents/model/seeing.ts'
import type { ConversationItem, ModelRequest } from '../../src/agents/model-client.ts'
import { imageItems } from '../../src/agents/tools/tool-images.ts'
import type { Channel } from '../../src/channels/channels.ts'
import { CallError } from '../../src/channels/http/call-error.ts'
import { modelTurn } from './agent-system.ts'
import { modelRequest } from './model-world.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const channel: Channel = {
  ...{ _id: 1, workspace: 1, hook: 'whatsapp', callback: 'whatsapp', handlerUrl: '' },
  config: { phoneNumberId: '1', accessToken: 't', apiUrl: 'http://meta.example/v23.0' },
}
const image = (mediaId: string): ConversationItem => ({
  role: 'person',
  text: '',
  image: { source: 'meta', mediaId },
})
const choice = { provider: 'openai-compatible', model: 'm', vision: true } as const

/** Asks with the images whose bytes Meta has; resolves with what the model was given. */
async function asked(
  conversation: ConversationItem[],
  { bytes = () => PNG, vision = true }: { bytes?: (id: string) => Buffer | undefined; vision?: boolean } = {},
) {
  const fetched: string[] = []
  const requests: ModelRequest[] = []
  const ask = createAskSeeing({
    model: {
      ask: async (_choice, request) => {
        requests.push(request)
        return modelTurn('Seen.')
      },
    },
    http: {
      getBytes: async ({ url, maxBytes }) => {
        const id = url.split('/').at(-1) ?? ''
        if (!url.includes('/bytes/')) {
          fetched.push(id)
          const body = JSON.stringify({ url: `http://meta.example/bytes/${id}`, mime_type: 'image/png' })
          return { status: 200, headers: {}, body: Buffer.from(body) }
        }
        const body = bytes(id)
        if (body === undefined || body.length > maxBytes) return { status: 404, headers: {}, body: PNG }
        return { status: 200, headers: {}, body }
      },
    },
  })
  const result = await ask({ ...choice, vision }, { ...modelRequest({ conversation }), channel })
  return { result, fetched, given: requests[0]?.conversation ?? [] }
}

describe('images that tools gave', () => {
  const given: ConversationItem = {
    role: 'data',
    json: '{"imagesOfToolResults":["chart"]}',
    images: [{ mediaType: 'image/png', data: PNG }],
  }
  const hello: ConversationItem = { role: 'person', text: 'Hi' }

  test('are shown to a model that reads images', async () => {
    expect((await asked([hello, given])).given).toEqual([hello, given])
    expect(isSeeing(choice, { conversation: [hello, given] })).toBe(true)
  })

  test('are left out for another, which reads of them in the results', async () => {
    expect((await asked([hello, given], { vision: false })).given).toEqual([hello])
    expect(isSeeing({ ...choice, vision: false }, { conversation: [given] })).toBe(false)
  })

  test('are the latest four of a message, 8 MiB together at most, with the tools that gave them', () => {
    const of = (bytes: number) => ({ mediaType: 'image/png', data: Buffer.alloc(bytes) })
    const images = new Map([
      ['a', [of(1), of(2)]],
      ['b', []],
      ['c', [of(3), of(4), of(5)]],
    ])
    const calls = ['a', 'b', 'c', 'gone'].map((id) => ({ id, tool: `tool ${id}` }))
    const [item] = imageItems({ get: (id) => images.get(id) ?? [] }, calls)
    expect(item).toEqual({
      role: 'data',
      json: '{"imagesOfToolResults":["tool a","tool c","tool c","tool c"]}',
      images: [of(2), of(3), of(4), of(5)],
    })
    const large = { get: () => [of(5 * 1024 * 1024), of(4 * 1024 * 1024)] }
    expect(imageItems(large, [{ id: 'a', tool: 't' }])).toMatchObject([{ images: [of(5 * 1024 * 1024)] }])
    expect(imageItems({ get: () => [] }, calls)).toEqual([])
  })
})

describe('a model that reads images', () => {
  test('is given each in its place, as its bytes and its type', async () => {
    const { given, result } = await asked([{ role: 'person', text: 'Hi' }, image('1')])
    expect(given).toEqual([
      { role: 'person', text: 'Hi' },
      { role: 'person', text: '', images: [{ mediaType: 'image/png', data: PNG }] },
    ])
    expect(result.kind).toBe('answered')
  })

  test('is given the latest four, and told of the others', async () => {
    const { given, fetched } = await asked(['1', '2', '3', '4', '5'].map(image))
    expect(fetched.sort()).toEqual(['2', '3', '4', '5'])
    expect(given[0]).toMatchObject({ text: expect.stringContaining('can not see') })
  })

  test('is told of one that can not be loaded, or is too large', async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)])
    const { given } = await asked([image('1'), image('2')], {
      bytes: (id) => (id === '1' ? large : undefined),
    })
    for (const item of given) expect(item).toMatchObject({ text: expect.stringContaining('not be loaded') })
  })

  test('has 8 MiB of them at most, the latest first', async () => {
    const large = Buffer.concat([PNG, Buffer.alloc(4.5 * 1024 * 1024)])
    const { given } = await asked([image('1'), image('2')], { bytes: () => large })
    expect(given.map((item) => 'images' in item)).toEqual([false, true])
  })
})

describe.each(['looked up', 'loaded'] as const)('images that stand still while they are %s', (when) => {
  const standing = (request: Pick<ModelRequest, 'timeoutMs' | 'signal'>) => {
    const requests: ModelRequest[] = []
    const called: string[] = []
    const ask = createAskSeeing({
      model: {
        ask: async (_choice, asked) => {
          requests.push(asked)
          return modelTurn('Not seen.')
        },
      },
      http: {
        getBytes: ({ url, signal }) => {
          called.push(url)
          if (when === 'looked up' || url.includes('/bytes/')) return untilAborted(signal)
          const body = Buffer.from(JSON.stringify({ url: 'http://meta.example/bytes/1' }))
          return Promise.resolve({ status: 200, headers: {}, body })
        },
      },
    })
    const conversation = ['1', '2', '3', '4'].map(image)
    const result = ask(choice, { ...modelRequest({ conversation, ...request }), channel })
    return { result, requests, called }
  }
  const notLoaded = ['1', '2', '3', '4'].map(() => ({
    role: 'person',
    text: expect.stringContaining('can not be loaded'),
  }))

  test('leave the model at least half of its time, and it is told of each', async () => {
    const { result, requests } = standing({ timeoutMs: 3_000.5, signal: new AbortController().signal })
    expect((await result).kind).toBe('answered')
    expect(requests[0]?.timeoutMs).toBeGreaterThanOrEqual(1_500)
    expect(requests[0]?.conversation).toEqual(notLoaded)
  })

  test('are given up once the call is aborted', async () => {
    const controller = new AbortController()
    const { result, requests, called } = standing({ timeoutMs: 600_000, signal: controller.signal })
    const begun = when === 'looked up' ? 1 : 2
    await eventually(async () => called.length === begun || undefined)
    controller.abort()
    await result
    expect(called).toHaveLength(begun)
    expect(requests[0]?.signal.aborted).toBe(true)
  })
})

/** Never settles without a signal. */
function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal?.addEventListener('abort', () => reject(new CallError('no_answer', signal.reason))),
  )
}

test('only a call that has images in memory counts as one that sees', () => {
  const conversation = [image('1')]
  expect([
    isSeeing(choice, { conversation }),
    isSeeing({ ...choice, vision: false }, { conversation }),
    isSeeing(choice, { conversation: [{ role: 'person', text: 'Hi' }] }),
  ]).toEqual([true, false, false])
})

test('a model that reads none is told of each, and nothing is fetched', async () => {
  const { given, fetched } = await asked([image('1')], { vision: false })
  expect(given).toEqual([{ role: 'person', text: '[The person sent an image, which you can not see.]' }])
  expect(fetched).toEqual([])
})
