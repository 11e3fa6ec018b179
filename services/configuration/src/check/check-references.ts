import { type FoundReference, referencesIn } from '../references/find-referenced.ts'
import type { ResourceName } from '../resources/definition.ts'
import { LIVE } from '../store/stored-document.ts'
import type { Batch, Finding } from './finding.ts'

const IDS_PER_QUERY = 5_000
const MAX_PER_DOCUMENT = 100

/** References to documents that are not there, whoever may see them; at most 100 of one document. */
export async function checkReferences(batch: Batch): Promise<Finding[]> {
  const { definition, documents } = batch
  const references = documents.map((doc) => ({ doc, references: referencesIn(definition, doc) }))
  const there = await findThere(
    batch,
    references.flatMap(({ references }) => references),
  )
  return references.flatMap(({ doc, references }) =>
    references
      .filter(({ to, id }) => !there.has(`${to}/${id}`))
      .slice(0, MAX_PER_DOCUMENT)
      .map(({ path, to, id }) => ({
        code: 'dangling_reference' as const,
        resource: definition.name,
        _id: doc._id,
        path,
        message: `there is no ${to}/${id}`,
      })),
  )
}

async function findThere(batch: Batch, references: FoundReference[]): Promise<Set<string>> {
  const there = new Set<string>()
  for (const [to, group] of Map.groupBy(references, ({ to }) => to)) {
    for (const id of await idsThere(batch, to, [...new Set(group.map(({ id }) => id))]))
      there.add(`${to}/${id}`)
  }
  return there
}

async function idsThere({ database, workspace }: Batch, to: ResourceName, ids: number[]): Promise<number[]> {
  const found: number[] = []
  for (let at = 0; at < ids.length; at += IDS_PER_QUERY) {
    const some = ids.slice(at, at + IDS_PER_QUERY).map((id) => ({ workspace, id }))
    const stored = await database
      .documents(to)
      .find({ _id: { $in: some }, ...LIVE })
      .project<{ _id: { id: number } }>({ _id: 1 })
      .toArray()
    found.push(...stored.map(({ _id }) => _id.id))
  }
  return found
}
