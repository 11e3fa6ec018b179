import type { Schemas } from '@parley/client'
import { type Access, decide } from '@parley/shared/permission/decide'
import { createStore } from './store.ts'

/** The caller, as `POST /api/auth/me` says. */
export interface Me {
  _id: number
  username: string
  name: string
  profile: number
  workspace: { _id: number; name: string; namespace: string; host: string }
  role: { _id: number; name: string; permissions: { schema?: unknown; read?: unknown; write?: unknown }[] }
  context?: object | null
  preferences: Schemas['Preferences']
  simulatorUrl?: string
}

export const me = createStore<Me | undefined>(undefined)

/**
 * Whether the caller's role grants an access to some document of a resource at least; decided by the same code as in
 * the services, so what the console shows is what they allow.
 */
export function may(access: Access, resource: string): boolean {
  return decided(access, resource) !== 'none'
}

/** True if the role grants that access to every document of the resource. */
export function mayAll(access: Access, resource: string): boolean {
  return decided(access, resource) === 'all'
}

function decided(access: Access, resource: string): 'all' | 'some' | 'none' {
  const caller = me.get()
  if (caller === undefined) return 'none'
  return decide({ permissions: caller.role.permissions, resource, account: caller, access }).kind
}
