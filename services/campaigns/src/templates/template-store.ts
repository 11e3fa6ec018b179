import { parseJson } from '@parley/shared/parse-json'
import type { ProviderTemplate } from '@parley/shared/providers/templates'
import type { Connection, mongo } from 'mongoose'

/** A template of a workspace's account in one language, as the provider had it last. */
export interface TemplateRecord extends Omit<ProviderTemplate, 'components' | 'providerId'> {
  /** `<workspace>/<id>`: two workspaces may share an account. */
  _id: string
  workspace: number
  /** The provider's id of it. */
  id: string
  provider: string
  account: string
  /** As JSON text, whatever its keys. */
  components: string
  /** When the provider was last asked, and when it last said something else. */
  syncedAt: Date
  updatedAt: Date
}

/** An account that a workspace has channels of. */
export interface AccountRecord {
  /** `<workspace>/<provider>/<account>` */
  _id: string
  workspace: number
  provider: string
  account: string
  /** The channels that have it; the first is asked by. */
  channels: number[]
  /** When it is synchronised next. */
  dueAt: Date
  syncedAt?: Date
  /** The provider's message, where it refused. */
  error?: string
  /** Somebody synchronises it until then. */
  leasedUntil?: Date
}

export const templatesOf = (connection: Connection): mongo.Collection<TemplateRecord> =>
  connection.collection('templates') as unknown as mongo.Collection<TemplateRecord>

export const accountsOf = (connection: Connection): mongo.Collection<AccountRecord> =>
  connection.collection('templateAccounts') as unknown as mongo.Collection<AccountRecord>

export const LIST_INDEX = { workspace: 1, name: 1, language: 1, _id: 1 } as const

/** The indexes of each of the collections. */
export const TEMPLATE_INDEXES: Record<string, mongo.IndexDescription[]> = {
  templates: [{ key: LIST_INDEX }, { key: { workspace: 1, account: 1, name: 1 } }],
  templateAccounts: [{ key: { dueAt: 1 } }, { key: { workspace: 1, channels: 1 } }],
}

export const templateKey = (workspace: number, id: string): string => `${workspace}/${id}`

/** A stored template as its provider’s rules take it. */
export const definitionOf = ({ components, id, ...record }: TemplateRecord): ProviderTemplate => ({
  ...{ providerId: id, name: record.name, language: record.language },
  ...{ status: record.status, category: record.category },
  components: parseJson(components) as ProviderTemplate['components'],
  ...(record.parameterFormat !== undefined && { parameterFormat: record.parameterFormat }),
  ...(record.quality !== undefined && { quality: record.quality }),
  ...(record.refusedFor !== undefined && { refusedFor: record.refusedFor }),
})
