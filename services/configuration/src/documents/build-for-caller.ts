import type { ResourceName } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { type Access, allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { documentFilter, requireMayBecome, type WriteAccess } from '../access/access.ts'
import { bindCredentials } from '../credentials/bind-credentials.ts'
import { originsOfWrite } from '../credentials/credential-origins.ts'
import { addressesOf, type FoundReference, type Lookup, referencesIn } from '../references/find-referenced.ts'
import { type Reference, type ResourceDefinition, valueAt } from '../resources/definition.ts'
import { LIVE, type ResourceDocument } from '../store/stored-document.ts'
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

/**
 * Throws `reference_forbidden` where `doc` names what its writer may not read (or, by a reference that changes what it
 * names, not write), unless `current` names it by the same field already. Who may do that to the whole resource may name
 * what is not there; from others the answer is the same whether it is there or not.
 */
async function requireMayRefer(
  lookup: Lookup,
  change: {
    definition: ResourceDefinition
    current: ResourceDocument | undefined
    doc: ResourceDocument
  },
): Promise<void> {
  const { definition, current, doc } = change
  const refused: FoundReference[] = []
  for (const reference of [...definition.references, ...(definition.freeReferences ?? [])])
    refused.push(...(await refusedOf(lookup, addedBy(reference, current, doc), accessesOf(reference))))
  if (refused.length === 0) return
  throw new Problem('reference_forbidden', {
    detail: `The role may not name ${refused.length === 1 ? 'a document' : `${refused.length} documents`} that the request refers to.`,
    errors: refused.map(({ path, to, id }) => ({
      path,
      code: 'reference_forbidden',
      message: `the role does not let the caller name ${to}/${id} here`,
    })),
  })
}

/** A reference that is one because of another field is a new one where that field says something else. */
function addedBy(
  reference: Reference,
  current: ResourceDocument | undefined,
  doc: ResourceDocument,
): FoundReference[] {
  const one = { references: [reference] }
  const kindOf = (of: ResourceDocument) => reference.when && valueAt(of, reference.when.field)
  const isSame = current !== undefined && kindOf(current) === kindOf(doc)
  const there = new Set(isSame ? referencesIn(one, current).map(({ id }) => id) : [])
  return referencesIn(one, doc).filter(({ id }) => !there.has(id))
}

const accessesOf = ({ changes }: Reference): readonly Access[] => (changes ? ['read', 'write'] : ['read'])

async function refusedOf(
  { database, authorizer, caller }: Lookup,
  references: readonly FoundReference[],
  accesses: readonly Access[],
): Promise<readonly FoundReference[]> {
  const [first] = references
  if (first === undefined) return []
  const decisions: Decision[] = []
  for (const access of accesses) decisions.push(await authorizer.decide(caller, first.to, access))
  if (decisions.every(({ kind }) => kind === 'all')) return []
  if (decisions.some(({ kind }) => kind === 'none')) return references
  const allowed = await allowedIds({ database, workspace: caller.workspace._id }, first.to, {
    ids: references.map(({ id }) => id),
    decisions,
  })
  return references.filter(({ id }) => !allowed.has(id))
}

async function allowedIds(
  { database, workspace }: Pick<Lookup, 'database'> & { workspace: number },
  to: ResourceName,
  { ids, decisions }: { ids: readonly number[]; decisions: readonly Decision[] },
): Promise<Set<number>> {
  const allowed = new Set<number>()
  for (const some of addressesOf(workspace, ids)) {
    const found = database
      .documents(to)
      .find({ $and: [{ _id: { $in: some }, ...LIVE }, ...decisions.map(documentFilter)] })
      .project<{ _id: { id: number } }>({ _id: 1 })
    for await (const { _id } of found) allowed.add(_id.id)
  }
  return allowed
}
