import { describe, expect, test } from '@jest/globals'
import type { ConversationItem } from '../../src/agents/conversation.ts'
import { createAskSeeing, isSeeing } from '../../src/agents/model/seeing.ts'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import type { Channel } from '../../src/channels/channels.ts'
import { modelTurn } from './agent-system.ts'
import { modelRequest } from './model-world.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const channel: Channel = {
  ...{ _id: 1, workspace: 1, hook: 'whatsapp', callback: 'whatsapp', handlerUrl: '' },
  config: { phoneNumberId: '1', accessToken: 't', apiUrl: 'http://meta.example/v23.0' },
}
const image = (imageId: string): ConversationItem => ({ role: 'person', text: '', imageId })
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
