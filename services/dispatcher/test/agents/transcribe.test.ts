import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import { createTranscriber } from '../../src/agents/kinds/transcriber.ts'
import { createMediaSlots } from '../../src/agents/model/media-slots.ts'
import { createTranscriptOf, type TranscriptOf } from '../../src/agents/model/transcribe.ts'
import type { Usage } from '../../src/agents/usage/usage.ts'
import type { GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { agentOf } from './agent-system.ts'
import { localFetch, type ModelWorld, startModelWorld } from './model-world.ts'

let world: ModelWorld
let guarded: GuardedFetch
let transcriptOf: TranscriptOf
let configs: Map<string, JsonObject>
let stored: () => Promise<Buffer | undefined> = async () => undefined

beforeAll(async () => {
  world = await startModelWorld()
  guarded = localFetch()
  const sources = {
    channels: { find: async () => undefined },
    webhook: { getBytes: () => stored() },
    http: { getBytes: async () => ({ status: 404, headers: {}, body: Buffer.alloc(0) }) },
  }
  transcriptOf = createTranscriptOf({ fetch: guarded.fetch, sources, usage })
})
afterAll(async () => {
  guarded.close()
  await world.close()
})
beforeEach(async () => {
  await world.script()
  const baseUrl = `${world.url}/v1`
  configs = new Map<string, JsonObject>([
    ['transcription', { provider: 'openai-compatible', model: 'whisper', baseUrl }],
    ['openai-compatible_CREDENTIALS', { apiKey: 'key-of-nobody-4711' }],
  ])
})

const usage: Pick<Usage, 'meter' | 'spent'> = {
  meter: (_use, { ask }) => ask({ received: () => {} }),
  spent: () => undefined,
}
const NO_MESSAGE = { extId: 'c', user: {}, thread: {}, answer: {} }
const OGG = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(60)])
const place = {
  ...{ _id: 'm', workspace: 1, channel: 'c', thread: 't', source: 'api' },
  ...{ order: 1, tries: 0, attempts: [], timeline: [] },
}
const hear = (message: object, more: Partial<Parameters<TranscriptOf>[0]['record']> = {}) =>
  transcriptOf({
    agent: { ...agentOf(1, 'chat'), configs },
    record: { ...place, body: JSON.stringify(message), ...more },
    config: {},
    person: 'p',
    timeoutMs: 2_000,
    signal: new AbortController().signal,
  })
const audio = { audio: OGG.toString('base64') }

describe('the agent of type transcriber', () => {
  const handled = (message: object, mediaSlots = createMediaSlots()) => {
    const agent = { ...agentOf(1, 'chat'), configs }
    const transcriber = createTranscriber({
      loadAgent: async () => ({ kind: 'found', agent }),
      transcriptOf,
      mediaSlots,
    })
    const channel = {
      _id: 1,
      workspace: 1,
      hook: 'rpc',
      callback: 'rpc',
      handlerUrl: '',
      config: {},
    } as const
    const { signal } = new AbortController()
    const record = { ...place, body: JSON.stringify(message) }
    return transcriber({ channel, record, message: NO_MESSAGE, signal })
  }

  test('answers with what is said in the audio', async () => {
    await world.script({ when: { path: 'transcription' }, text: 'Where is my parcel?' })
    expect(await handled(audio)).toEqual({ kind: 'answer', answer: { message: 'Where is my parcel?' } })
  })

  test('answers with nothing where there is no audio', async () => {
    expect(await handled({ input: 'text' })).toEqual({ kind: 'answer', answer: {} })
  })

  test('waits for a slot where its workspace has as many as it may have, unless there is nothing to hear', async () => {
    const mediaSlots = createMediaSlots()
    const [release] = Array.from({ length: 8 }, () => mediaSlots.audio.take(1))
    const busy = await handled(audio, mediaSlots)
    expect([busy.kind, await handled({ input: 'text' }, mediaSlots)]).toEqual([
      'busy',
      { kind: 'answer', answer: {} },
    ])
    expect(await world.requests()).toEqual([])
    release?.()
    if (busy.kind === 'busy') await busy.room
    for (const _time of [1, 2]) expect(await handled(audio, mediaSlots)).toMatchObject({ kind: 'answer' })
  })

  test('needs a config transcription of its assistant', async () => {
    configs.delete('transcription')
    expect(await handled(audio)).toMatchObject({
      kind: 'permanent',
      code: 'config_missing',
      fault: 'channel',
    })
  })
})

describe('the audio of a message', () => {
  test('is transcribed by the assistant’s own model, with its key', async () => {
    await world.script({ when: { path: 'transcription' }, text: 'Where is my parcel?' })
    expect(await hear(audio)).toEqual({ kind: 'text', text: 'Where is my parcel?' })
    const [{ model, key, body }] = await world.requests()
    expect([model, key, body.file.bytes]).toEqual(['whisper', '4711', OGG.length])
  })

  test('is not transcribed again once its text is stored', async () => {
    expect(await hear(audio, { transcript: 'as before' })).toEqual({ kind: 'text', text: 'as before' })
    expect(await world.requests()).toEqual([])
  })

  test('is unheard when the assistant has no transcription model', async () => {
    configs.delete('transcription')
    expect(await hear(audio)).toEqual({ kind: 'unheard' })
  })

  test('may be missing, or silent', async () => {
    expect(await hear({ input: 'text' })).toEqual({ kind: 'none' })
    await world.script({ when: { path: 'transcription' }, text: '' })
    expect(await hear(audio)).toEqual({ kind: 'text', text: '' })
  })

  test('that large audio is stored elsewhere makes no difference', async () => {
    stored = async () => OGG
    expect(await hear({ audioRef: { id: 'm' } })).toEqual({
      kind: 'text',
      text: `Audio of ${OGG.length} bytes`,
    })
    stored = async () => undefined
    expect(await hear({ audioRef: { id: 'm' } })).toMatchObject({ kind: 'refused', code: 'audio_unreadable' })
    stored = async () => {
      throw new Problem('unavailable')
    }
    expect(await hear({ audioRef: { id: 'm' } })).toMatchObject({
      kind: 'retryable',
      code: 'audio_unavailable',
    })
  })

  test.each([
    [
      { error: { status: 503, retryAfterSeconds: 3 } },
      { kind: 'retryable', code: 'http_503', retryAfterSeconds: 3 },
    ],
    [
      { error: { status: 401, message: 'No key-of-nobody' } },
      { kind: 'refused', reason: 'The provider answered 401: No […]' },
    ],
    [{ broken: 'malformed' }, { kind: 'retryable', code: 'bad_answer' }],
    [{ broken: 'cut' }, { kind: 'retryable', code: 'no_answer' }],
    [{ broken: 'silent' }, { kind: 'retryable', code: 'timeout' }],
  ])('with the answer %j is a result, no exception', async (scripted, result) => {
    await world.script({ when: { path: 'transcription' }, ...scripted })
    expect(await hear(audio)).toMatchObject(result)
  })
})
