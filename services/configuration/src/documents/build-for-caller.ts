import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { allows } from '@parley/shared/permission/decide'
import { requireMayBecome, type WriteAccess } from '../access/access.ts'
import { bindCredentials } from '../credentials/bind-credentials.ts'
import { originsOfWrite } from '../credentials/credential-origins.ts'
import { requireMayRefer } from '../references/require-may-refer.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import { buildDocument } from './body.ts'
import type { Dependencies } from './dependencies.ts'

/** One version of a document that a caller wants written. */
export interface CallersWrite {
  definition: ResourceDefinition
  caller: Caller
  access: WriteAccess
  current: ResourceDocument | undefined
  id: number
  key?: string | undefined
  fields: JsonObject
  /** The same as the caller says it: what a patch leaves out stays sealed in it. */
  sent?: JsonObject | undefined
}

/**
 * The document as it may be written over `current`, which is what its permissions are decided by. Throws
 * `validation_failed`, `forbidden` and `reference_forbidden`.
 */
export async function checkedDocument(
  { database, authorizer, secrets }: Pick<Dependencies, 'database' | 'authorizer' | 'secrets'>,
  write: CallersWrite,
): Promise<ResourceDocument> {
  const { definition, caller, access, current } = write
  const doc = buildDocument({ ...write, secrets, workspace: caller.workspace._id })
  requireMayBecome(access, doc)
  await requireMayRefer({ database, authorizer, caller }, { definition, current, doc })
  return doc
}

/** The same, right before it is written: it says where its secrets go, and no other's follow an address that it changes. */
export async function documentToWrite(
  dependencies: Pick<Dependencies, 'database' | 'authorizer' | 'secrets' | 'specs'>,
  write: CallersWrite,
): Promise<ResourceDocument> {
  const doc = await checkedDocument(dependencies, write)
  const { definition, caller, current, fields, sent = fields } = write
  const workspace = caller.workspace._id
  const writable = await dependencies.authorizer.decide(caller, 'configs', 'write')
  const mayGive = (credentials: ResourceDocument) => allows(writable, credentials)
  await bindCredentials(dependencies, { definition, workspace, before: current, after: doc, mayGive })
  const origins = await originsOfWrite(dependencies, { definition, workspace, current, doc, sent })
  return { ...doc, ...defined({ origins }) }
}

/** After the write: what could not be bound before, because there was no address yet, is bound to the first one. */
export async function settleCredentials(
  dependencies: Pick<Dependencies, 'database' | 'specs'>,
  written: { definition: ResourceDefinition; workspace: number; doc: ResourceDocument },
): Promise<void> {
  const { definition, workspace, doc } = written
  // The document is written, whatever comes of this, and the next write of the address does it as well.
  await bindCredentials(dependencies, { definition, workspace, before: undefined, after: doc }).catch(
    () => {},
  )
}
