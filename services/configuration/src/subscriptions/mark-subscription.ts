import { z } from 'zod'
import type { Dependencies } from '../documents/dependencies.ts'
import { subscription as definition } from '../resources/subscription.ts'
import type { Database } from '../store/database.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import { type Address, LIVE, liveDocument, type ResourceDocument } from '../store/stored-document.ts'

const PAGE = 200

/** The state of a subscription that results from its deliveries. */
export const subscriptionMark = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('working') }),
  z.strictObject({ state: z.literal('failing'), since: z.iso.datetime(), reason: z.string().max(1_024) }),
  z.strictObject({ state: z.literal('full'), since: z.iso.datetime(), reason: z.string().max(1_024) }),
  z.strictObject({ state: z.literal('not_full') }),
  z.strictObject({ state: z.literal('disabled'), at: z.iso.datetime(), reason: z.string().max(1_024) }),
])

/**
 * Marks a subscription, in one write that its next event reports; false where it is gone, off, or marked so already.
 */
export async function markSubscription(
  { database, writes }: Pick<Dependencies, 'database' | 'writes'>,
  address: Address,
  mark: z.output<typeof subscriptionMark>,
): Promise<boolean> {
  const change = { database, definition, address }
  const marked = (doc: ResourceDocument) => {
    const next = markedBy(doc, mark)
    return next && { ...next, updatedAt: new Date().toISOString() }
  }
  return writes.run(`subscriptions/${address.workspace}/${address.id}`, () => changeAsRuntime(change, marked))
}

/** Undefined where it stays as it is. */
function markedBy(
  doc: ResourceDocument,
  mark: z.output<typeof subscriptionMark>,
): ResourceDocument | undefined {
  if (doc.active === false) return undefined
  if (mark.state === 'working') return without(doc, 'failing')
  if (mark.state === 'not_full') return without(doc, 'full')
  const { state, ...said } = mark
  if (state === 'disabled') return { ...doc, active: false, disabled: said }
  return doc[state] === undefined ? { ...doc, [state]: said } : undefined
}

function without(doc: ResourceDocument, mark: 'failing' | 'full'): ResourceDocument | undefined {
  const { [mark]: marked, ...unmarked } = doc
  return marked === undefined ? undefined : (unmarked as ResourceDocument)
}

/** The subscriptions of all workspaces after an address, lowest first, at most 200: the dispatcher's replicas catch up by it. */
export async function findSubscriptions(database: Database, after: Address): Promise<object[]> {
  const { workspace, id } = after
  const found = await database
    .documents('subscriptions')
    .find({
      $or: [{ '_id.workspace': workspace, '_id.id': { $gt: id } }, { '_id.workspace': { $gt: workspace } }],
      ...LIVE,
    })
    .sort({ '_id.workspace': 1, '_id.id': 1 })
    .limit(PAGE)
    .toArray()
  return found.flatMap((stored) => {
    const live = liveDocument(stored)
    return live === undefined ? [] : { workspace: stored._id.workspace, ...live.doc, version: live.version }
  })
}
