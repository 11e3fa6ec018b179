import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRouter, routes } from '@parley/gateway/routes'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { allProviders } from '@parley/shared/providers/registry'
import type { Express } from 'express'
import { operations, type PermissionOperation } from '../../docs/permission-operations.ts'
import { grantsByDefault, mayByDefault, mayToOthers } from '../../docs/permissions-page.ts'
import { closedLoop } from '../lab/load/loops.ts'
import { type MatrixCaller, type MatrixWorld, onceAvailable, prepareCallers } from './matrix-callers.ts'
import { bodyFor, concretePath, MARK, seenByAdmin } from './matrix-requests.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const CALLERS = [
  ...['WORKSPACE_ADMIN', 'MEMBER', 'VIEWER', 'PROVIDER'],
  ...['an admin of another workspace', 'nobody'],
]
const UNKNOWN = [404, 405]
const AT_ONCE = 6

const nameOf = ({ method, path }: Pick<PermissionOperation, 'method' | 'path'>) => `${method} ${path}`
const listed = operations.map(nameOf)
let system: Parley
let world: MatrixWorld

beforeAll(async () => {
  system = await startParley({
    services: ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns', 'gateway'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  world = await prepareCallers(system.url)
})
afterAll(() => system.close(), 60_000)

describe('the list of operations', () => {
  test('has everything that a service has a handler for and the gateway lets in, and nothing else', () => {
    const { gateway, ...services } = system.services
    const own = (gateway.app as unknown as { router: { stack: [] } }).router.stack
    const found = [
      ...Object.values(services).flatMap(({ app }) => routedOperations(app)),
      ...operationsBelow('', own),
    ].flatMap(ofEachProvider)
    expect(found.filter((name) => !listed.includes(name))).toEqual([])
    expect(listed.filter((name) => !found.includes(name))).toEqual([])
  })

  test('has something for every line of the gateway’s route table', () => {
    const findRoute = createRouter(routes)
    const used = new Set(
      operations.map(({ method, path }) => findRoute(path.replaceAll(/[{}]/g, ''), method)),
    )
    expect(routes.filter((route) => !used.has(route))).toEqual([])
  })
})

/** One route takes the requests of all providers that messages come from. */
const ofEachProvider = (operation: string): string[] =>
  operation.includes('{provider}')
    ? allProviders().flatMap(({ name, inbound }) => (inbound ? operation.replace('{provider}', name) : []))
    : [operation]

describe.each(CALLERS)('%s', (name) => {
  const caller = () => world.callers.find((each) => each.name === name) as MatrixCaller

  test('gets what the role says from every operation', async () => {
    const wrong: object[] = []
    const check = async (operation: PermissionOperation) => {
      const { method } = operation
      const path = await concretePath(world, operation)
      const body = await bodyFor(world, operation)
      const token = endsSession(operation) ? await caller().login?.() : caller().token
      const stranger = caller().role === undefined && operation.path.includes('{id}')
      const before = stranger ? await seenByAdmin(world, operation, path) : undefined
      const { status, text } = await onceAvailable(() => world.call(method, path, { token, body }))
      const expected = expectedStatuses(caller(), operation)
      const leaked = caller().role === undefined && text.includes(MARK)
      if (!expected.includes(status) || leaked) wrong.push({ method, path, status, expected, leaked })
      if (stranger) expect([path, await seenByAdmin(world, operation, path)]).toEqual([path, before])
    }
    await sideBySide(
      operations.filter((each) => !endsSession(each)),
      check,
    )
    for (const operation of operations.filter(endsSession)) await check(operation)
    expect(wrong).toEqual([])
  })

  test('gets nothing from any other method, and from HEAD no more than from GET', async () => {
    const wrong: object[] = []
    const token = await caller().login?.()
    const nothing = token === undefined ? [401, ...UNKNOWN] : UNKNOWN
    const paths = [...new Set(operations.map((each) => each.path))]
    await sideBySide(paths, async (path) => {
      for (const method of METHODS.filter((each) => !listed.includes(`${each} ${path}`))) {
        const read = method === 'HEAD' && operations.find((each) => nameOf(each) === `GET ${path}`)
        const at = read ? await concretePath(world, read) : path.replaceAll(/[{}]/g, '')
        const { status } = await world.call(method, at, { token })
        const expected = read ? [405, ...expectedStatuses(caller(), read)] : nothing
        if (!expected.includes(status)) wrong.push({ method, path, status, expected })
      }
    })
    expect(wrong).toEqual([])
  })
})

/** Most of a request is waiting for the database. */
async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const goesOn = (count: number) => count < items.length
  await closedLoop({ workers: AT_ONCE, goesOn, send: (index) => work(items[index] as T) })
}

function endsSession({ path }: PermissionOperation): boolean {
  return ['/api/auth/password', '/api/auth/logout', '/api/auth/sessions/end'].includes(path)
}

/** Operations that need consent at another server, or a state that no document made here is in. */
const NEEDS_MORE =
  /^POST .*\/connect(ed)?$|^POST \/rest\/campaigns\/.*\/(unschedule|pause|resume|cancel)$|^DELETE \/rest\/messages\//

/** The statuses that an operation may answer a caller with, who sends what it takes to a document that is there. */
function expectedStatuses({ name, role }: MatrixCaller, operation: PermissionOperation): number[] {
  const { path, access, resource } = operation
  // Providers say who they are by a signature of the body or a token of the channel, which this is without.
  if (path.includes('{slug}')) return [404]
  if (access === 'nothing') return [200]
  if (name === 'nobody') return [401]
  // The channel that it names is of the workspace under test.
  if (role === undefined && nameOf(operation) === 'POST /rest/templates') return [422]
  if (role === undefined) return [mayToOthers(operation) === 'no' ? 404 : 200]
  if (mayByDefault(role, operation)) return [NEEDS_MORE.test(nameOf(operation)) ? 409 : 200]
  // For a document that may not be read at all, the answer need not even say that it does not exist.
  return path.includes('{id}') && !grantsByDefault(role, resource, 'read') ? [403, 404] : [403]
}

interface Layer {
  rawPath: unknown
  route?: { path: string; methods: Record<string, boolean> }
  handle: { stack?: Layer[] }
}

/** Returns operations that an app handles and the gateway admits, as `GET /rest/users/{id}`, read off its routers. */
function routedOperations(app: Pick<Express, 'router'>): string[] {
  const findRoute = createRouter(routes)
  return operationsBelow('', (app as unknown as { router: { stack: Layer[] } }).router.stack).filter(
    (name) => {
      const [method = '', path = ''] = name.split(' ')
      const route = findRoute(path.replaceAll(/[{}]/g, ''), method)
      return route?.methods.includes(method)
    },
  )
}

/** The same without asking the gateway's table. */
function operationsBelow(prefix: string, stack: readonly Layer[]): string[] {
  return stack.flatMap((layer) => {
    if (layer.route !== undefined) {
      const { methods } = layer.route
      const path = (prefix + layer.route.path).replace(/(?<=.)\/$/, '').replaceAll(/:(\w+)/g, '{$1}')
      const named = Object.keys(methods).filter((method) => methods[method] && method !== '_all')
      return named.map((method) => `${method.toUpperCase()} ${path}`)
    }
    const { stack: inner } = layer.handle
    if (inner === undefined) return []
    return [layer.rawPath].flat().flatMap((mount) => {
      if (typeof mount !== 'string') throw new Error('a router is mounted under what is no plain path')
      return operationsBelow(prefix + (mount === '/' ? '' : mount), inner)
    })
  })
}
