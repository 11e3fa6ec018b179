import { isDeepStrictEqual } from 'node:util'
import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { allows, type Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import type { Connection } from 'mongoose'
import { visibleImports } from '../../imports/find-import.ts'
import { importsOf } from '../../imports/import-record.ts'
import { viewOf as segmentView } from '../../segments/find-segment.ts'
import { segmentsOf } from '../../segments/segment-store.ts'
import { viewOf as templateView } from '../../templates/template-schema.ts'
import type { RunServices } from '../run/campaign-step.ts'
import { findTemplateRecord } from '../run/find-template.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'

const QUERY_MS = 5_000

interface Needed {
  connection: Connection
  authorizer: Authorizer
  campaigns: Pick<RunServices, 'configuration'>
}

type Naming = Pick<CampaignRecord, 'workspace' | 'channel' | 'definition'>

/** A field of a campaign that names something. */
interface CampaignReference {
  path: string
  /** The resource that the caller has to be allowed to read. */
  resource: string
  /** The name; undefined where there is none. */
  nameIn(campaign: Naming): unknown
  /** Returns true if the caller's read rule, which lets some documents through, lets this one through. */
  isReadable(needed: Needed, asked: { caller: Caller; read: Decision; campaign: Naming }): Promise<boolean>
}

const REFERENCES: readonly CampaignReference[] = [
  {
    path: '/channel',
    resource: 'channels',
    nameIn: ({ channel }) => channel,
    async isReadable({ campaigns }, { read, campaign: { workspace, channel } }) {
      const found = await campaigns.configuration.get(`/internal/workspaces/${workspace}/channels/${channel}`)
      return found !== undefined && allows(read, found as object)
    },
  },
  {
    path: '/template',
    resource: 'templates',
    nameIn: ({ channel, definition: { template } }) => ({ channel, ...template }),
    async isReadable({ connection }, { read, campaign: { workspace, channel, definition } }) {
      const found = await findTemplateRecord(connection, { workspace, channel, ...definition.template })
      return found !== undefined && allows(read, templateView(found))
    },
  },
  {
    path: '/audience/segment',
    resource: 'segments',
    nameIn: ({ definition: { audience } }) => ('segment' in audience ? audience.segment : undefined),
    async isReadable({ connection }, { read, campaign: { workspace, definition } }) {
      const { segment: id } = definition.audience as { segment: string }
      const found = await segmentsOf(connection).findOne({ _id: { workspace, id } }, { maxTimeMS: QUERY_MS })
      return found !== null && allows(read, segmentView(found))
    },
  },
  {
    path: '/audience/import',
    resource: 'people',
    nameIn: ({ definition: { audience } }) => ('import' in audience ? audience.import : undefined),
    async isReadable({ connection }, { caller, read, campaign: { definition } }) {
      const { import: _id } = definition.audience as { import: string }
      const visible = { _id, ...visibleImports(caller, read) }
      return (await importsOf(connection).findOne(visible, { maxTimeMS: QUERY_MS })) !== null
    },
  },
]

/**
 * Throws `reference_forbidden` where a campaign names what its writer may not read, unless `before` names it already. Who may
 * read the whole resource may name what is not there; for others the answer is the same whether it is there or not.
 */
export async function requireMayName(
  needed: Needed,
  { caller, before, campaign }: { caller: Caller; before?: Naming; campaign: Naming },
): Promise<void> {
  const added = REFERENCES.filter(({ nameIn }) => {
    const name = nameIn(campaign)
    return name !== undefined && (before === undefined || !isDeepStrictEqual(name, nameIn(before)))
  })
  const errors: { path: string; code: string; message: string }[] = []
  for (const reference of added) {
    const { path, resource } = reference
    if (await mayRead(needed, reference, { caller, campaign })) continue
    const message = `the role does not let the caller name this of ${resource}`
    errors.push({ path, code: 'reference_forbidden', message })
  }
  if (errors.length > 0) throw new Problem('reference_forbidden', { errors })
}

async function mayRead(
  needed: Needed,
  { resource, isReadable }: CampaignReference,
  asked: { caller: Caller; campaign: Naming },
): Promise<boolean> {
  const read = await needed.authorizer.decide(asked.caller, resource, 'read')
  return read.kind === 'all' || (read.kind === 'some' && (await isReadable(needed, { ...asked, read })))
}
