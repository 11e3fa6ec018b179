import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { audioFromText, fileName } from '../../src/channels/media/media-bytes.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

const OGG = Buffer.concat([Buffer.from('OggS'), Buffer.from([0, 255, 128, 10])])
const base64 = OGG.toString('base64')

describe('audio that came in as text', () => {
  test.each([
    ['base64', base64, OGG, 'audio/ogg'],
    ['base64 for URLs', OGG.toString('base64url'), OGG, 'audio/ogg'],
    ['base64 in lines', base64.replace(/(.{4})/g, '$1\r\n'), OGG, 'audio/ogg'],
    ['a data URL', `data:audio/mpeg;base64,${base64}`, OGG, 'audio/mpeg'],
    ['one with a codec', `data:audio/ogg;codecs=opus;base64,${base64}`, OGG, 'audio/ogg'],
    ['one that would run in a browser', `data:text/html;base64,${base64}`, OGG, 'audio/ogg'],
    ['one that is not base64', 'data:audio/wav,a%20b', Buffer.from('a b'), 'audio/wav'],
    ['text', 'no audio, is it?', Buffer.from('no audio, is it?'), 'application/octet-stream'],
  ])('%s', (_name, text, bytes, contentType) => {
    expect(audioFromText(text)).toEqual({ bytes, contentType })
  })

  test.each([
    ['RIFF....WAVE', 'audio/wav'],
    ['....ftypM4A ', 'audio/mp4'],
    ['#!AMR\n', 'audio/amr'],
    ['ID3\u0003', 'audio/mpeg'],
    ['\u00ff\u00fb', 'audio/mpeg'],
    ['\u00ff\u00f1', 'audio/aac'],
    ['\u001aE\u00df\u00a3', 'audio/webm'],
  ])('that begins with %j is known', (beginning, contentType) => {
    const text = Buffer.from(beginning, 'latin1').toString('base64')
    expect(audioFromText(text).contentType).toBe(contentType)
  })

  test.each([
    ['spaces and a letter that is not of base64', `${' '.repeat(10_000_000)}!`],
    ['a data URL of parameters without an end', `data:${';'.repeat(10_000_000)}`],
    ['a data URL with more parameters than are read', `data:audio/ogg${';a'.repeat(5_000_000)};base64,`],
  ])('of ten million characters is read in a moment: %s', (_name, text) => {
    const started = performance.now()
    const { bytes } = audioFromText(text)
    expect(bytes.toString()).toBe(text)
    // A hundred thousand spaces used to take half a minute.
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  test('is named so that no header breaks', () => {
    expect(fileName('a"b\r\n/../c', 'audio/ogg')).toBe('a_b______c.ogg')
  })
})

describe('GET /rest/messages/{id}/audio', () => {
  let world: DispatchWorld
  let far: Listening
  let asked: Array<{ path: string; authorization: string | undefined }> = []
  let respond: (req: IncomingMessage, res: ServerResponse) => void = (_req, res) =>
    void res.writeHead(404).end()
  const json = (res: ServerResponse, body: object, status = 200) =>
    void res.writeHead(status).end(JSON.stringify(body))

  beforeAll(async () => {
    far = await listen((req, res) => {
      asked.push({ path: req.url ?? '', authorization: req.headers.authorization })
      respond(req, res)
    })
    world = await startDispatchWorld({ WEBHOOK_URL: far.url })
    const config = { phoneNumberId: '1', accessToken: 'token of Meta', apiUrl: `${far.url}/v23.0` }
    const channel = {
      name: '',
      description: '',
      hook: 'whatsapp',
      callback: 'whatsapp',
      handlerUrl: 'native:agents/none',
    }
    await world.putChannel(1, { ...channel, extId: 'line', config })
    await world.putChannel(2, {
      ...channel,
      extId: 'inside',
      config: { ...config, apiUrl: 'http://10.0.0.1/v23.0' },
    })
    await world.putChannel(3, {
      ...channel,
      extId: 'nobody',
      config: { ...config, apiUrl: 'http://127.0.0.1:1/v23.0' },
    })
  })
  afterAll(async () => {
    await world.close()
    await far.close()
  })
  beforeEach(() => {
    asked = []
    respond = (_req, res) => void res.writeHead(404).end()
  })

  const message = (more: object, extId = 'line') => ({ extId, user: {}, thread: {}, answer: {}, ...more })
  const fromMeta = (extId = 'line') =>
    message({ meta: { type: 'audio', audio: { id: '4711', voice: true } } }, extId)
  const stored = async (id: string, body: ReturnType<typeof message>, source: 'api' | 'meta' = 'api') => {
    await world.post(id, body, { source })
    await eventually(async () => (await world.get(`/rest/messages/${id}`)).status === 200)
  }
  const media = () => asked.filter(({ path }) => !path.startsWith('/health'))

  test('hands out audio that is in the message', async () => {
    await stored('a-inline', message({ audio: `data:audio/ogg;base64,${base64}` }))
    const { status, headers, bytes } = await world.bytes('/rest/messages/a-inline/audio')
    expect([status, bytes]).toEqual([200, OGG])
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'audio/ogg',
      'content-length': String(OGG.length),
      'content-disposition': 'attachment; filename="a-inline.ogg"',
      'x-content-type-options': 'nosniff',
    })
  })

  test('hands out audio that the webhook service has stored, by the id of the message alone', async () => {
    respond = (req, res) => {
      if (req.url === `/internal/workspaces/${world.workspace}/audio/a-kept`) res.end(base64)
      else res.writeHead(404).end()
    }
    await stored('a-kept', message({ audio: null, audioRef: { id: 'somebody-elses', bytes: 5 } }))
    const { status, bytes } = await world.bytes('/rest/messages/a-kept/audio')
    expect([status, bytes]).toEqual([200, OGG])
    await stored('a-forgotten', message({ audio: null, audioRef: { id: 'a-forgotten' } }))
    expect((await world.bytes('/rest/messages/a-forgotten/audio')).status).toBe(404)
    respond = (_req, res) => void res.destroy()
    expect((await world.bytes('/rest/messages/a-kept/audio')).status).toBe(503)
  })

  test('fetches what Meta has, with the token of the channel', async () => {
    respond = (req, res) => {
      if (req.url === '/v23.0/4711')
        json(res, { url: `${far.url}/media/1`, mime_type: 'audio/ogg; codecs=opus' })
      else res.end(OGG)
    }
    await stored('a-meta', fromMeta(), 'meta')
    const { status, headers, bytes } = await world.bytes('/rest/messages/a-meta/audio')
    expect([status, headers.get('content-type'), bytes]).toEqual([200, 'audio/ogg; codecs=opus', OGG])
    const authorization = 'Bearer token of Meta'
    expect(media()).toEqual([
      { path: '/v23.0/4711', authorization },
      { path: '/media/1', authorization },
    ])
  })

  test.each<[string, (req: IncomingMessage, res: ServerResponse) => void, number]>([
    ['has it no longer', (_req, res) => json(res, { error: { code: 100, message: 'gone' } }, 400), 404],
    ['refuses the token', (_req, res) => json(res, { error: { code: 190 } }, 401), 502],
    ['is in trouble', (_req, res) => void res.writeHead(500).end(), 503],
    ['answers nonsense', (_req, res) => void res.end('<html>'), 502],
    ['names another host', (_req, res) => json(res, { url: 'https://thief.example/x' }), 502],
    ['names one that only ends alike', (_req, res) => json(res, { url: 'https://thieffbsbx.com/x' }), 502],
    [
      'names one of its own without encryption',
      (_req, res) => json(res, { url: 'http://lookaside.fbsbx.com/x' }),
      502,
    ],
    ['names a file', (_req, res) => json(res, { url: 'file:///etc/passwd' }), 502],
    ['redirects', (_req, res) => void res.writeHead(302, { location: 'http://169.254.169.254' }).end(), 502],
    ['does not answer', () => {}, 504],
    [
      'sends more than 16 MiB',
      (req, res) =>
        req.url === '/v23.0/4711'
          ? json(res, { url: `${far.url}/m` })
          : void res.end(Buffer.alloc(17 * 1024 * 1024)),
      502,
    ],
  ])('says so when Meta %s', async (name, answer, status) => {
    respond = answer
    await stored(`a-${name}`, fromMeta(), 'meta')
    const response = await world.bytes(`/rest/messages/${encodeURIComponent(`a-${name}`)}/audio`)
    expect(response.status).toBe(status)
    expect(response.bytes.toString()).not.toContain('token of Meta')
    expect(media().length).toBe(name.startsWith('sends') ? 2 : 1)
  })

  test.each([
    ['inside', 502],
    ['nobody', 503],
    ['no-such-line', 404],
  ])('with channel %s is %i', async (extId, status) => {
    await stored(`a-${extId}`, fromMeta(extId), 'meta')
    expect((await world.bytes(`/rest/messages/a-${extId}/audio`)).status).toBe(status)
  })

  test('is 404 for a message without audio, for nobody’s, for another workspace’s, and for what claims to be Meta’s', async () => {
    await stored('a-none', message({}))
    await stored('a-claims', fromMeta())
    for (const id of ['a-none', 'a-claims', 'nothing'])
      expect([id, (await world.bytes(`/rest/messages/${id}/audio`)).status]).toEqual([id, 404])
    const other = { workspace: world.workspace + 1_000 }
    expect((await world.bytes('/rest/messages/a-inline/audio', other)).status).toBe(404)
    expect(media()).toEqual([])
  })

  test('takes no other method', async () => {
    expect((await world.call('POST', '/rest/messages/a-inline/audio')).status).toBe(405)
  })
})
