import type { Decision } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import type { Dependencies } from '../dependencies.ts'
import { type TemplateRecord, templateKey, templatesOf } from './template-store.ts'

const QUERY_MS = 5_000

type Res = Parameters<typeof callerOf>[0]

/** Selects the templates that a caller may read, or write as well. */
export async function templatesVisibleTo(
  { authorizer }: Pick<Dependencies, 'authorizer'>,
  res: Res,
  access: 'read' | 'write',
): Promise<mongo.Filter<TemplateRecord>> {
  const caller = callerOf(res)
  const decisions: Decision[] = [await authorizer.require(caller, 'templates', access)]
  if (access === 'write') decisions.push(await authorizer.require(caller, 'templates', 'read'))
  const filters = decisions.flatMap((one) => (one.kind === 'some' ? [one.filter] : []))
  const workspace = caller.workspace._id
  return filters.length === 0 ? { workspace } : { workspace, $and: filters }
}

/** The template with an id that a caller may read, or write as well. Throws `not_found`. */
export async function requireTemplate(
  dependencies: Pick<Dependencies, 'authorizer' | 'connection'>,
  res: Res,
  { id, access }: { id: string; access: 'read' | 'write' },
): Promise<TemplateRecord> {
  const visible = await templatesVisibleTo(dependencies, res, access)
  const _id = templateKey(callerOf(res).workspace._id, id)
  const found = await templatesOf(dependencies.connection).findOne(
    { ...visible, _id },
    { maxTimeMS: QUERY_MS },
  )
  if (found === null) throw new Problem('not_found')
  return found
}
