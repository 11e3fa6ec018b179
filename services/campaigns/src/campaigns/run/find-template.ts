import { providerNamed } from '@parley/shared/providers/registry'
import type { Connection } from 'mongoose'
import { accountsOf, definitionOf, type TemplateRecord, templatesOf } from '../../templates/template-store.ts'
import type { FindTemplate } from './campaign-facts.ts'

const QUERY_MS = 5_000

/** A campaign's template as it was synchronised last; undefined where its channel's account is not known, or has none. */
export async function findTemplateRecord(
  connection: Connection,
  { workspace, channel, name, language }: Parameters<FindTemplate>[1],
): Promise<TemplateRecord | undefined> {
  const options = { maxTimeMS: QUERY_MS }
  const account = await accountsOf(connection).findOne({ workspace, channels: channel }, options)
  if (account === null) return undefined
  const found = await templatesOf(connection).findOne(
    { workspace, account: account.account, provider: account.provider, name, language },
    options,
  )
  return found ?? undefined
}

/** Finds a template with the properties that decide about sends of it. */
export const findTemplate: FindTemplate = async (connection, asked) => {
  const found = await findTemplateRecord(connection, asked)
  if (found === undefined) return undefined
  const definition = definitionOf(found)
  const { status, category, quality } = definition
  return { status, category, quality, shape: providerNamed(found.provider)?.templates?.shapeOf(definition) }
}
