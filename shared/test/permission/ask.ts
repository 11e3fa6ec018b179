import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { decide } from '@parley/shared/permission/decide'
import { evaluate } from '@parley/shared/permission/evaluate'
import { parse } from '@parley/shared/permission/parse'
import { grants, workspaceOf } from '@parley/shared/permission/values'
import { mongo } from 'mongoose'

export type Doc = Record<string, unknown>

/** Documents, in memory and in MongoDB. */
export interface DocumentsByResource {
  docs: (Doc & { _id: number })[]
  collection: mongo.Collection<Doc & { _id: number }>
}

/** An expression, asked for reading a resource. */
interface RuleQuestion {
  source: string
  account: object
  resource?: string
}

/** A connection for a test file, which closes it, with collections of its own. */
export async function connectDocuments() {
  const client = await mongo.MongoClient.connect((await testServers()).mongoUrl)
  const database = client.db(freshDatabase('permission'))
  let collections = 0
  return {
    /** Stores documents in a collection of their own, numbered in their order unless they have an id; what is undefined is not there. */
    async store(docs: object[]): Promise<DocumentsByResource> {
      const collection = database.collection<Doc & { _id: number }>(`documents${collections++}`)
      await collection.insertMany(
        docs.map((doc, _id) => ({ _id, ...doc })),
        { ignoreUndefined: true },
      )
      return { collection, docs: await collection.find().sort({ _id: 1 }).toArray() }
    },
    async close() {
      await database.dropDatabase()
      await client.close()
    },
  }
}

/** Returns the value of the expression. */
export function comesTo({ source, account, resource = 'a' }: RuleQuestion, doc: Doc): unknown {
  const parsed = parse(source)
  if ('error' in parsed) throw new Error(`${source}: ${parsed.error.message}`)
  return evaluate(parsed.expression, { resource, account, doc })
}

/** The ids of the documents that the expression grants, by the evaluator. */
export function granted(question: RuleQuestion, { docs }: DocumentsByResource): number[] {
  const workspace = workspaceOf(question.account)
  return docs.filter((doc) => grants(comesTo(question, doc), workspace)).map(({ _id }) => _id)
}

/** The same by MongoDB. */
export async function found(
  { source, account, resource = 'a' }: RuleQuestion,
  documents: DocumentsByResource,
): Promise<number[]> {
  const { docs, collection } = documents
  const permissions = [{ schema: 'true', read: source }]
  const decision = decide({ permissions, resource, account, access: 'read' })
  if (decision.kind !== 'some') return decision.kind === 'all' ? docs.map(({ _id }) => _id) : []
  const options = { projection: { _id: 1 }, sort: { _id: 1 } } as const
  return (await collection.find(decision.filter, options).toArray()).map(({ _id }) => _id)
}
