import type { Schemas } from '@parley/client'
import { ParleyError } from '@parley/client/parley-error'
import { call } from './api.ts'
import { type Loaded, useLoad } from './load.ts'
import { may } from './rights.ts'
import type { Thread } from './threads.ts'

export type Person = Schemas['Person']

/** The person of a conversation, by one of their addresses; null where there is no record of one that may be read. */
export function usePersonOf({ addresses = [], user }: Thread, isAsked = true): Loaded<Person | null> {
  const digits = user.phone?.replaceAll(/\D/g, '')
  const [address = digits && `phone:${digits}`] = addresses
  const path =
    address && isAsked && may('read', 'people') ? `/rest/people/${encodeURIComponent(address)}` : undefined
  return useLoad(`person ${path}`, async (signal) => {
    if (path === undefined) return null
    try {
      return await call<Person>('GET', path, { signal })
    } catch (error) {
      if (error instanceof ParleyError && [400, 403, 404].includes(error.status)) return null
      throw error
    }
  })
}
