import { CONFIGURATION_RESOURCES, pathsOf } from '@parley/shared/configuration-resources'
import type { ServiceName } from '@parley/shared/internal-token'
import { MESSAGE_PATHS } from '@parley/shared/message'

export type Upstream = Exclude<ServiceName, 'gateway'>

/** One line of the route table. */
export interface Route {
  path: string
  upstream: Upstream
  /** `public`: no token is looked at, and the service sees none. `optional`: one that does not hold is dropped. */
  access: 'public' | 'optional' | 'authenticated'
  /**
   * `exact`: the path alone. `below`: whatever lies under it too. A number: exactly so many segments under it. `ofEach`:
   * one segment under it, then this name, and with `below` whatever lies under that. `child`: this one segment under it.
   */
  match: 'exact' | 'below' | number | { ofEach: string; below?: true } | { child: string }
  methods: readonly string[]
  /** Bodies that say they are larger are refused here; the service counts what really comes. */
  maxBytes: number
  /** Its own limit in place of the one for tokens or addresses. */
  limit?: 'credentials' | 'webhook'
  /** The response lasts for as long as its reader likes, and its caller is watched meanwhile. */
  isStream?: true
  /** Its body is a file, which takes as long as it goes on coming. */
  isUpload?: true
}

const KIB = 1024
const MIB = 1024 * KIB
const AUTH_BYTES = 64 * KIB
const REST_BYTES = 4 * MIB
// A message of 1 MiB and 16 MiB of audio, with room for escapes.
const MESSAGE_BYTES = 24 * MIB
// The most that the campaigns service can be set to take.
const UPLOAD_BYTES = 64 * 1024 * MIB

const COLLECTION_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const CONFIGURATION_PATHS = [...CONFIGURATION_RESOURCES.flatMap(pathsOf), 'check', 'export', 'import']
const IDENTITY_RESOURCES = ['users', 'roles', 'teams', 'workspaces', 'invitations', 'audit']
const DISPATCHER_RESOURCES = ['messages', 'threads', 'usage']
const WEBHOOK_RESOURCES = ['hooks']
const CAMPAIGNS_RESOURCES = ['people', 'segments', 'templates', 'campaigns']

const toIdentity = (path: string, access: Route['access'], ...methods: string[]): Route => ({
  path,
  upstream: 'identity',
  access,
  match: 'exact',
  methods,
  maxBytes: AUTH_BYTES,
})

const collection = (upstream: Upstream) => (name: string) =>
  ({
    path: `/rest/${name}`,
    upstream,
    access: 'authenticated',
    match: 'below',
    methods: COLLECTION_METHODS,
    maxBytes: REST_BYTES,
  }) as const

/** Routes of an assistant where its agents are: the dispatcher has them, configuration the assistant itself. */
const ofAssistants: Route[] = ['prompt', 'try'].flatMap((ofEach) =>
  pathsOf('assistant').map((name) => ({ ...collection('dispatcher')(name), match: { ofEach } })),
)

/** Routes of what was sent to a subscription: the dispatcher has it, configuration the subscription itself. */
const ofSubscriptions: Route[] = ['deliveries', 'replay', 'test'].map((ofEach) => ({
  ...collection('dispatcher')('subscriptions'),
  match: { ofEach, below: true },
}))
/** Routes of an action that call its server: the dispatcher has them, configuration the action itself. */
const ofActions: Route[] = ['connect', 'connected', 'test'].map((ofEach) => ({
  ...collection('dispatcher')('actions'),
  match: { ofEach },
}))
/** The route that looks for what an action can be made of. */
const ofNewActions: Route = {
  ...collection('dispatcher')('actions'),
  match: { child: 'discover' },
}
/** Routes of a channel at its provider: the dispatcher has them, configuration the channel itself. */
const ofChannels: Route[] = ['notices', 'test'].map((ofEach) => ({
  ...collection('dispatcher')('channels'),
  match: { ofEach },
}))
const eventStream = {
  upstream: 'dispatcher',
  access: 'authenticated',
  methods: ['GET'],
  maxBytes: AUTH_BYTES,
  isStream: true,
} as const

/** All that the gateway lets in. */
export const routes: readonly Route[] = [
  { ...toIdentity('/api/auth/register', 'public', 'POST'), limit: 'credentials' },
  { ...toIdentity('/api/auth/login', 'public', 'POST'), limit: 'credentials' },
  { ...toIdentity('/api/auth/accept-invitation', 'public', 'POST'), limit: 'credentials' },
  { ...toIdentity('/api/auth/forgot-password', 'public', 'POST'), limit: 'credentials' },
  { ...toIdentity('/api/auth/reset-password', 'public', 'POST'), limit: 'credentials' },
  toIdentity('/api/auth/refresh', 'public', 'POST'),
  toIdentity('/api/auth/logout', 'optional', 'POST'),
  toIdentity('/api/auth/password', 'authenticated', 'POST'),
  toIdentity('/.well-known/jwks.json', 'public', 'GET', 'HEAD'),
  toIdentity('/api/auth/me', 'authenticated', 'POST', 'PATCH'),
  toIdentity('/api/auth/colleagues', 'authenticated', 'GET', 'HEAD'),
  { ...toIdentity('/api/auth/sessions', 'authenticated', 'GET', 'POST'), match: 'below' },
  {
    path: '/api/auth/tokens',
    upstream: 'identity',
    access: 'authenticated',
    match: 'below',
    methods: ['GET', 'HEAD', 'POST', 'DELETE'],
    maxBytes: AUTH_BYTES,
  },
  ...MESSAGE_PATHS.map(
    (path): Route => ({
      path,
      upstream: 'webhook',
      access: 'authenticated',
      match: 'exact',
      methods: ['POST'],
      maxBytes: MESSAGE_BYTES,
      limit: 'webhook',
    }),
  ),
  {
    path: '/api/hooks',
    upstream: 'webhook',
    access: 'public',
    match: 3,
    methods: ['GET', 'POST'],
    maxBytes: REST_BYTES,
    limit: 'webhook',
  },
  {
    path: '/asyncapi.json',
    upstream: 'webhook',
    access: 'public',
    match: 'exact',
    methods: ['GET', 'HEAD'],
    maxBytes: AUTH_BYTES,
  },
  { ...eventStream, path: '/rest/events', match: 'exact' },
  { ...eventStream, path: '/rest/threads', match: { ofEach: 'events' } },
  ...IDENTITY_RESOURCES.map(collection('identity')),
  ...ofAssistants,
  ...ofSubscriptions,
  ...ofChannels,
  ...ofActions,
  ofNewActions,
  ...CONFIGURATION_PATHS.map(collection('configuration')),
  ...DISPATCHER_RESOURCES.map(collection('dispatcher')),
  ...WEBHOOK_RESOURCES.map(collection('webhook')),
  {
    ...collection('campaigns')('people'),
    ...{ match: { child: 'imports' }, methods: ['POST'], maxBytes: UPLOAD_BYTES, isUpload: true },
  },
  ...CAMPAIGNS_RESOURCES.map(collection('campaigns')),
]

const MAX_PREFIX_SEGMENTS = 3

export type FindRoute = (path: string, method?: string) => Route | undefined

/**
 * Makes the lookup from a canonical path (without query) and a method to its route: the first one that covers the path
 * and has the method, else the last one that covers the path. No route has a path that ends in a slash: a service's
 * framework would take it for the path without. It costs a few map reads, however long the table is.
 */
export function createRouter(table: readonly Route[]): FindRoute {
  const byPath = new Map<string, Route[]>()
  for (const route of table) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  return (path, method = '') => {
    if (path.endsWith('/')) return undefined
    let end = 0
    for (let segments = 1; segments <= MAX_PREFIX_SEGMENTS && end < path.length; segments++) {
      const slash = path.indexOf('/', end + 1)
      end = slash === -1 ? path.length : slash
      const found = byPath.get(path.slice(0, end))?.filter((route) => covers(route, path.slice(end))) ?? []
      if (found.length > 0) return found.find(({ methods }) => methods.includes(method)) ?? found.at(-1)
    }
    return undefined
  }
}

function covers({ match }: Route, rest: string): boolean {
  if (match === 'below') return true
  if (match === 'exact') return rest === ''
  const segments = rest.split('/').slice(1)
  if (typeof match === 'object' && 'child' in match)
    return segments.length === 1 && segments[0] === match.child
  if (typeof match === 'object')
    return (match.below || segments.length === 2) && segments[1] === match.ofEach && segments[0] !== ''
  return segments.length === match
}
