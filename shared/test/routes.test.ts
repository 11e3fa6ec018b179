import { afterEach, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { route, serveRoutes } from '@parley/shared/openapi/route'
import { Problem, problemHandler } from '@parley/shared/problem'
import express from 'express'
import { z } from 'zod'

const response = { schema: z.unknown(), example: {} }
const words = { tag: 'things', summary: '', response }

/** The requests that were handled, and the permission to write. */
interface Things {
  asked: string[]
  mayWrite: boolean
}

const routes = [
  route({
    ...words,
    ...{ method: 'GET', path: '/rest/things/{id}', access: 'read', id: 'read' },
    handle: (things: Things) => (req, res) => {
      things.asked.push(req.params.id)
      res.json({ _id: req.params.id })
    },
  }),
  route({
    ...words,
    ...{ method: 'GET', path: '/rest/things/count', access: 'nothing', id: 'count' },
    handle: () => (_req, res) => void res.json({ count: 1 }),
  }),
  route({
    ...words,
    ...{ method: 'POST', path: '/rest/things', aliases: ['/rest/objects'], access: 'write', id: 'create' },
    query: z.object({ dry: z.enum(['true']).optional() }),
    body: { schema: z.strictObject({ name: z.string() }), example: { name: 'one' }, maxBytes: 64 },
    handle: (things: Things) => {
      let made = 0
      return (_req, res, asked) => {
        if (!things.mayWrite) throw new Problem('forbidden')
        res.json({ ...asked.query(), ...asked.body(), made: ++made })
      }
    },
  }),
  route({
    ...words,
    ...{ method: 'POST', path: '/rest/things/{id}/repair', access: 'write', id: 'repair' },
    body: {
      schema: z.strictObject({ at: z.string().default('once') }),
      ...{ example: {}, optional: true, maxBytes: 64 },
    },
    handle: () => (_req, res, asked) => void res.json(asked.body()),
  }),
]

let close: (() => Promise<void>) | undefined
afterEach(() => close?.())

async function served(things: Things) {
  const app = express()
  const options = {
    requireCaller: (req: express.Request, _res: express.Response, next: express.NextFunction) => {
      if (req.headers.authorization === undefined) throw new Problem('unauthenticated')
      next()
    },
    elsewhere: { '/rest/things': ['GET'] },
  } as const
  app.use(serveRoutes(routes, things, options))
  app.use(() => {
    throw new Problem('not_found')
  })
  app.use(problemHandler(createLog({ service: 'test', level: 'silent' })))
  const server = await listen(app)
  close = server.close
  return async (method: string, path: string, sent: { body?: unknown; token?: string } = {}) => {
    const { body, token = 'token' } = sent
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        ...(token !== '' && { authorization: token }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { status, headers } = answer
    return { status, allow: headers.get('allow'), json: (await answer.json()) as Record<string, unknown> }
  }
}

test('a path without parameters comes before one that would take it', async () => {
  const call = await served({ asked: [], mayWrite: true })
  expect((await call('GET', '/rest/things/count', { token: '' })).json).toEqual({ count: 1 })
  expect((await call('GET', '/rest/things/7')).json).toEqual({ _id: '7' })
})

test('a route that takes a token is not reached without one, whatever its body', async () => {
  const things = { asked: [], mayWrite: true }
  const call = await served(things)
  for (const [method, path] of [
    ['GET', '/rest/things/7'],
    ['POST', '/rest/objects'],
  ] as const)
    expect((await call(method, path, { token: '', body: method === 'POST' ? 7 : undefined })).status).toBe(
      401,
    )
  expect(things.asked).toEqual([])
})

test('what is not described is refused, and only of who may do it at all', async () => {
  const things = { asked: [], mayWrite: true }
  const call = await served(things)
  const codes = async (path: string, body: unknown) => {
    const { status, json } = await call('POST', path, { body })
    return [status, json.code]
  }
  expect(await codes('/rest/things?typo=1', { name: 'one' })).toEqual([422, 'validation_failed'])
  expect(await codes('/rest/things', { typo: 1 })).toEqual([422, 'validation_failed'])
  expect(await codes('/rest/things', { name: 'x'.repeat(64) })).toEqual([413, 'body_too_large'])
  things.mayWrite = false
  expect(await codes('/rest/things?typo=1', { typo: 1 })).toEqual([403, 'forbidden'])
})

test('an optional body that is not there is an empty one, and another that is no object is refused', async () => {
  const call = await served({ asked: [], mayWrite: true })
  expect((await call('POST', '/rest/things/7/repair')).json).toEqual({ at: 'once' })
  expect((await call('POST', '/rest/things/7/repair', { body: { at: 'night' } })).json).toEqual({
    at: 'night',
  })
  expect((await call('POST', '/rest/things/7/repair', { body: null })).status).toBe(422)
})

test('an alias is the same route', async () => {
  const call = await served({ asked: [], mayWrite: true })
  const responses = ['/rest/things', '/rest/objects'].map((path) =>
    call('POST', path, { body: { name: 'one' } }),
  )
  expect(new Set((await Promise.all(responses)).map(({ json }) => json.made))).toEqual(new Set([1, 2]))
})

test('another method is refused with those of the path, also those that another service has', async () => {
  const call = await served({ asked: [], mayWrite: true })
  const refused = [
    call('PUT', '/rest/things'),
    call('PUT', '/rest/objects'),
    call('DELETE', '/rest/things/7', { token: '' }),
    call('GET', '/rest/things/7/'),
  ]
  expect((await Promise.all(refused)).map(({ status, allow }) => [status, allow])).toEqual([
    [405, 'GET, POST'],
    [405, 'POST'],
    [405, 'GET'],
    [404, null],
  ])
})
