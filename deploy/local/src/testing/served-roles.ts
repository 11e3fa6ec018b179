import type { Caller } from '@parley/shared/internal-token'
import { DEFAULT_ROLES, type PermissionEntry } from '@parley/shared/permission/entry'
import { type Listening, listen } from './service-under-test.ts'

/** The entries of roles, by their names. */
export type Roles = Record<string, readonly PermissionEntry[]>

/** Roles as identity serves them: those that every workspace begins with, and further ones. */
export interface ServedRoles extends Listening {
  /** An account of a workspace (1) in a role (WORKSPACE_ADMIN). */
  caller(role?: string, workspace?: number): Caller
}

/** Serves roles for one service under test. */
export async function serveRoles(further: Roles = {}): Promise<ServedRoles> {
  const defaults = DEFAULT_ROLES.map(({ name, permissions }) => [name, permissions] as const)
  const roles: Roles = { ...Object.fromEntries(defaults), ...further }
  const names = Object.keys(roles)
  const listening = await listen((req, res) => {
    const id = /^\/internal\/roles\/(\d+)\/versions\/1$/.exec(req.url ?? '')?.[1]
    const permissions = id === undefined ? undefined : roles[names[Number(id)] ?? '']
    res.writeHead(permissions === undefined ? 404 : 200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ permissions }))
  })
  const caller: ServedRoles['caller'] = (role = 'WORKSPACE_ADMIN', workspace = 1) => ({
    account: { _id: 10 + workspace, username: 'ana@example.com', name: 'Ana', profile: 1, context: {} },
    workspace: { _id: workspace, name: 'Acme', namespace: 'acme', host: 'acme.example.com' },
    role: { _id: names.indexOf(role), name: role, version: 1 },
  })
  return { ...listening, caller }
}
