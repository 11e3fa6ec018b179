import type { Authorizer } from '@parley/shared/authorizer'
import type { Connection } from 'mongoose'
import type { Passwords } from './passwords/passwords.ts'
import type { Collections } from './store/collections.ts'
import type { Throttles } from './throttles.ts'

/** The dependencies of the routes that administer a workspace. */
export interface Administration {
  connection: Connection
  collections: Collections
  authorizer: Authorizer
  passwords: Passwords
  throttles: Throttles
  minPasswordLength: number
}
