import { findPage } from '../store/find-page.ts'
import type { Batch, Finding } from './finding.ts'

/** Handlers that nothing can call, and channels that another one with the same external id comes before. */
export async function checkChannels(batch: Batch): Promise<Finding[]> {
  const handlers = batch.documents
    .filter(({ handlerUrl }) => !isHandler(String(handlerUrl)))
    .map(({ _id }) => finding('channels', _id, 'bad_handler', '/handlerUrl', HANDLERS))
  const shadowed = await shadowedBy(batch, ({ hook }) => ({ 'doc.hook': hook }))
  return [...handlers, ...shadowed]
}

/** The types of the built-in agents. */
const AGENTS = ['echo', 'chat', 'functionCall', 'taskManager', 'transcriber']
const NATIVE = 'native:agents/'
const HANDLERS = `a handler is an http(s) URL or native:agents/<type>, of type ${AGENTS.join(', ')}`

function isHandler(url: string): boolean {
  return url.startsWith(NATIVE) ? AGENTS.includes(url.slice(NATIVE.length)) : /^https?:/.test(url)
}

/** Active tasks that another active one of the same thread comes before. */
export function checkTasks(batch: Batch): Promise<Finding[]> {
  const documents = batch.documents.filter(({ status, extId }) => status === 'active' && extId)
  return shadowedBy({ ...batch, documents }, () => ({ 'doc.status': 'active' }))
}

/** Of the documents with the same `extId` that are alike, the one with the lowest id comes first. */
async function shadowedBy(
  batch: Batch,
  alike: (doc: Batch['documents'][number]) => Record<string, unknown>,
): Promise<Finding[]> {
  const { database, workspace, definition } = batch
  const first = new Map<string, Promise<number | undefined>>()
  const firstLike = async (extId: string, visible: Record<string, unknown>) => {
    const page = await findPage(database, definition, {
      workspace,
      filters: [['extId', extId]],
      sort: { field: '_id', descending: false },
      limit: 1,
      visible,
    })
    return page.documents[0]?.doc._id
  }
  const findings = batch.documents.map(async (doc) => {
    const extId = String(doc.extId)
    const condition = alike(doc)
    const group = JSON.stringify([extId, condition])
    const known = first.get(group) ?? firstLike(extId, condition)
    first.set(group, known)
    const before = await known
    if (before === undefined || before === doc._id) return []
    const message = `${definition.name}/${before} has the same extId and comes first`
    return [finding(definition.name, doc._id, 'shadowed', '/extId', message)]
  })
  return (await Promise.all(findings)).flat()
}

function finding(
  resource: Finding['resource'],
  _id: number,
  code: Finding['code'],
  path: string,
  message: string,
): Finding {
  return { code, resource, _id, path, message }
}
