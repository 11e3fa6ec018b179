import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Connection } from 'mongoose'

/** The dependencies that routes and workers of this service share. */
export interface Dependencies {
  /** Of the service's own database; each folder names its collections in it. */
  connection: Connection
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  dispatcher: Pick<InternalClient, 'post'>
  webhook: Pick<InternalClient, 'post'>
  /** How large a file of people may be. */
  importMaxBytes: number
}
