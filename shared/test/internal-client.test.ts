import { expect, test } from '@jest/globals'
import { listen, makeServiceKeys } from '@parley/local/testing/service-under-test'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { createInternalClient, roundRobin } from '../src/internal-client.ts'
import { createInternalSigner, createInternalVerifier } from '../src/internal-token.ts'
import { createLog } from '../src/log.ts'
import { createServiceCalls } from '../src/service-calls.ts'

const keys = makeServiceKeys()
const signer = createInternalSigner(keys.own.webhook)
const { verify } = createInternalVerifier({ audience: 'identity', jwks: keys.jwks })
const NOBODY = new URL('http://127.0.0.1:1')

/** Each with a key that stands where another stood before it, as the keys of free-form objects may. */
const documents = ['a\\', 'a\n'].map((key) => ({ first: 1, [key]: [{ [key]: 2 }] }))

const identity = startedForTests(() =>
  listen((req, res) => {
    const { issuer } = verify(req.headers.authorization)
    const status = req.url === '/none' ? 404 : req.url === '/broken' ? 500 : 200
    res
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(req.url === '/keys' ? documents : { issuer, path: req.url }))
  }),
)

const calls = startedForTests(() =>
  createServiceCalls({ caFile: undefined, log: createLog({ service: 'test', level: 'silent' }) }),
)
const clientOf = (...urls: URL[]) =>
  createInternalClient({ targets: roundRobin(urls), audience: 'identity', signer, calls })

test('it speaks for its service; 404 is undefined, anything else unavailable', async () => {
  const client = clientOf(new URL(identity.url))
  expect(await client.get('/here')).toEqual({ issuer: 'webhook', path: '/here' })
  expect(await client.post('/here', {})).toEqual({ issuer: 'webhook', path: '/here' })
  expect(await client.get('/none')).toBeUndefined()
  await expect(client.get('/broken')).rejects.toMatchObject({ code: 'unavailable' })
})

test('whatever keys a document has, they are read as they are', async () => {
  const client = clientOf(new URL(identity.url))
  for (let times = 0; times < 3; times++) expect(await client.get('/keys')).toEqual(documents)
})

test('an instance that can not be reached is not noticed when another one can be', async () => {
  const client = clientOf(NOBODY, new URL(identity.url))
  for (let call = 0; call < 4; call++) expect(await client.get('/here')).toMatchObject({ path: '/here' })
})

test('an instance that is not ready is not noticed either', async () => {
  const starting = await listen((_req, res) => void res.writeHead(503).end())
  const client = clientOf(new URL(starting.url), new URL(identity.url))
  for (let call = 0; call < 4; call++) expect(await client.get('/here')).toMatchObject({ path: '/here' })
  await expect(clientOf(new URL(starting.url)).get('/here')).rejects.toMatchObject({ code: 'unavailable' })
  await starting.close()
})

test('with no instance to be reached it says so', async () => {
  await expect(clientOf(NOBODY).get('/here')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(clientOf(NOBODY, new URL('http://127.0.0.1:2')).get('/here')).rejects.toMatchObject({
    code: 'unavailable',
  })
})
