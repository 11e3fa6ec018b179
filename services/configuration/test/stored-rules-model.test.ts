import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { decide } from '@parley/shared/permission/decide'
import fc from 'fast-check'
import { ACCOUNT, documents, sources } from '../../../shared/test/permission/arbitraries.ts'
import { connectDocuments } from '../../../shared/test/permission/ask.ts'
import { RANDOM_FILTERS } from '../../../tests/sizes.ts'
import { documentFilter } from '../src/access/access.ts'
import { definitions } from '../src/resources/all-resources.ts'
import { ERASURE, liveDocument, type StoredDocument, toStored } from '../src/store/stored-document.ts'

const DOCUMENTS = 200
const time = new Date(0).toISOString()

let connection: Awaited<ReturnType<typeof connectDocuments>>
beforeAll(async () => {
  connection = await connectDocuments()
})
afterAll(() => connection.close())

const storedAs = (fields: Record<string, unknown>, id: number): StoredDocument =>
  toStored({
    definition: definitions.configs,
    address: { workspace: 7, id },
    version: 1,
    written: { as: 'created', at: time, by: ERASURE },
    doc: { ...fields, _id: id, createdAt: time, updatedAt: time },
  })

test('the database finds what a rule lets through of the documents as they are stored, whatever their keys', async () => {
  const made = fc.sample(documents({ beyondMingo: true, escaped: true }), { numRuns: DOCUMENTS, seed: 7 })
  const { collection } = await connection.store(made.map(storedAs))
  const all = (await collection.find().sort({ _id: 1 }).toArray()) as unknown as StoredDocument[]
  const docs = all.flatMap((stored) => liveDocument(stored)?.doc ?? [])
  expect(docs).toHaveLength(DOCUMENTS)
  let matched = 0
  const isFound = async (read: string) => {
    const permissions = [{ schema: 'true', read }]
    const decision = decide({ permissions, resource: 'configs', account: ACCOUNT, access: 'read' })
    fc.pre(decision.kind === 'some')
    const found = await collection.find(documentFilter(decision), { sort: { _id: 1 } }).toArray()
    const ids = (found as unknown as StoredDocument[]).map(({ _id }) => _id.id)
    const expected = decision.kind === 'some' ? docs.filter(decision.test).map(({ _id }) => _id) : []
    expect({ read, ids }).toEqual({ read, ids: expected })
    matched += expected.length
  }
  await fc.assert(fc.asyncProperty(sources({ beyondMingo: true, escaped: true }), isFound), {
    numRuns: RANDOM_FILTERS,
    maxSkipsPerRun: 10,
  })
  expect(matched).toBeGreaterThan(RANDOM_FILTERS)
})
