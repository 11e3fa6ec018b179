import { randomUUID } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import { type ForgersMaterial, forge } from './forged-tokens.ts'
import type { CallerName, Fill } from './fuzz-case.ts'
import { addUser, ask, type FuzzWorkspace, login, prepareWorkspace, seenOf } from './workspaces.ts'

/** The system under attack, and the texts that no answer of it may show. */
export interface FuzzTarget {
  url: string
  /** Secrets of its own, and addresses inside. */
  hidden: readonly string[]
  /** The key that its services sign with among themselves, where the test knows it. */
  gatewayKey?: Record<string, unknown>
}

export interface FuzzWorld {
  url: string
  own: FuzzWorkspace
  fill: Fill
  hidden: readonly string[]
  /** Marks of what the caller may not see. */
  forbiddenTo(caller: CallerName): string[]
  /** Resolves to true if the workspace that nobody works in is as it was. */
  isWitnessUntouched(): Promise<boolean>
}

const SECRET = () => `secret-${randomUUID()}`

/**
 * Three workspaces: the one under attack, with a user of each role; the stranger's, whose admin attacks as well; and a
 * witness, which nothing may reach.
 */
export async function prepareWorld({ url, hidden, gatewayKey }: FuzzTarget): Promise<FuzzWorld> {
  const [own, other, witness] = [
    await prepareWorkspace(url),
    await prepareWorkspace(url),
    await prepareWorkspace(url),
  ]
  const { tokens, spare } = await logIn(url, { own, other })
  const secret = SECRET()
  await own.call('PUT', '/rest/channels/2', {
    name: 'Sealed',
    description: '',
    extId: 'sealed',
    hook: 'rpc',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
    config: { accessToken: secret },
  })
  const { json } = await ask(url, { method: 'GET', path: '/.well-known/jwks.json' })
  const jwk = json.keys[0]
  const material: ForgersMaterial = { token: own.token, jwk, ...defined({ gatewayKey }) }
  const before = await seenOf(witness)
  return {
    url,
    own,
    hidden,
    fill: fillFrom({ tokens, spare, own, foreign: witness, material }),
    forbiddenTo: (caller) => {
      if (caller === 'nobody') return [own.mark, other.mark, witness.mark, secret]
      if (caller === 'stranger') return [own.mark, witness.mark, secret]
      const mayWrite = caller === 'WORKSPACE_ADMIN' || caller === 'MEMBER'
      return [other.mark, witness.mark, ...(mayWrite ? [] : [secret])]
    },
    isWitnessUntouched: async () => (await seenOf(witness)) === before,
  }
}

const ROLES = ['MEMBER', 'VIEWER', 'PROVIDER'] as const

/** For each caller a token to work with, and one of somebody like them whose sessions may end. */
async function logIn(url: string, { own, other }: { own: FuzzWorkspace; other: FuzzWorkspace }) {
  const tokens = new Map<CallerName, string>([
    ['WORKSPACE_ADMIN', own.token],
    ['stranger', other.token],
  ])
  const newcomer = async (workspace: FuzzWorkspace, role: string) =>
    login(url, await addUser(workspace, role))
  for (const role of ROLES) tokens.set(role, await newcomer(own, role))
  const spare = new Map<CallerName, string>([['stranger', await newcomer(other, 'WORKSPACE_ADMIN')]])
  for (const role of ['WORKSPACE_ADMIN', ...ROLES] as const) spare.set(role, await newcomer(own, role))
  return { tokens, spare }
}

function fillFrom(known: {
  tokens: ReadonlyMap<string, string>
  spare: ReadonlyMap<string, string>
  own: FuzzWorkspace
  foreign: FuzzWorkspace
  material: ForgersMaterial
}): Fill {
  const { tokens, spare, own, foreign, material } = known
  return (name) => {
    const [kind = '', what = ''] = name.split(':')
    const kinds: Record<string, () => string | undefined> = {
      token: () => tokens.get(what),
      spare: () => spare.get(what),
      forged: () => forge(what, material),
      victim: () => own.victims[what],
      foreign: () => foreign.victims[what],
      slug: () => (what === 'own' ? own : foreign).slug,
    }
    return kinds[kind]?.()
  }
}
