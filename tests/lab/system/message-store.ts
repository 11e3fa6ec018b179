import mongoose from 'mongoose'

/** Looks into the dispatcher's database, which survives that the server is killed. */
export interface Store {
  /** How many messages are in each state. */
  states(): Promise<Record<string, number>>
  /** How many messages the pipeline still has work with. */
  open(): Promise<number>
  /** True if it has at least so many messages, with those that the broker still had, and is done with all. */
  isSettled(accepted: number): Promise<boolean>
  /** The terms of the leases, by partition; without those that no instance has. */
  terms(): Promise<Map<number, number>>
  /** How many partitions each instance leases. */
  shares(): Promise<number[]>
  /** Of each message how many turns are stored, and how many tries to have a model respond failed and were stored. */
  modelResults(): Promise<MessageResults[]>
  /** Texts that people wrote in all messages, in the order of each thread. */
  inputs(): Promise<string[]>
  /** The calls of tools that models made, with what came of each. */
  toolCalls(): Promise<StoredCall[]>
  close(): Promise<void>
}

/** The stored results of a message's model. */
export interface MessageResults {
  /** The person's text, as the model's log has it: no two messages have the same. */
  text: string
  turns: number
  failures: number
}

export interface StoredCall {
  tool: string
  /** JSON text. */
  args: string
  result?: { state: 'done' | 'failed'; uncertain?: true }
}

/** Characters of what a person wrote that the model's log has. */
const LOGGED_TEXT = 200
const SELECTION_MS = 5_000
const IN_PROGRESS = ['received', 'handled', 'sending', 'sent']

export async function openStore(mongoUrl: string): Promise<Store> {
  const options = { serverSelectionTimeoutMS: SELECTION_MS, socketTimeoutMS: SELECTION_MS }
  const client = await mongoose.mongo.MongoClient.connect(mongoUrl, options)
  const database = client.db('dispatcher')
  const messages = database.collection('messages')
  const leased = () =>
    database
      .collection<{ _id: number; owner: string | null; term: number }>('partitions')
      .find({ $expr: { $and: [{ $ne: ['$owner', null] }, { $gt: ['$expiresAt', '$$NOW'] }] } })
      .toArray()
  const states = async (): Promise<Record<string, number>> => {
    const groups = await messages.aggregate([{ $group: { _id: '$state', count: { $sum: 1 } } }]).toArray()
    return Object.fromEntries(groups.map(({ _id, count }) => [String(_id), Number(count)]))
  }
  const open = () => messages.countDocuments({ open: true })
  return {
    states,
    open,
    async isSettled(accepted) {
      const counts = await states()
      const stored = Object.values(counts).reduce((sum, count) => sum + count, 0)
      const isInProgress = IN_PROGRESS.some((state) => counts[state])
      return stored >= accepted && !isInProgress && (await open()) === 0
    },
    terms: async () => new Map((await leased()).map(({ _id, term }) => [_id, term])),
    shares: async () =>
      [...Map.groupBy(await leased(), ({ owner }) => owner).values()].map(({ length }) => length),
    async modelResults() {
      const turns = { $size: { $ifNull: ['$turns', []] } }
      const failures = { $filter: { input: '$attempts', cond: { $eq: ['$$this.step', 'model'] } } }
      const fields = { _id: 0, body: 1, turns, failures: { $size: failures } }
      const found = await messages
        .find<{ body: string; turns: number; failures: number }>({}, { projection: fields })
        .toArray()
      return found.map(({ body, ...counts }) => ({
        ...counts,
        text: JSON.parse(body).input.slice(0, LOGGED_TEXT),
      }))
    },
    async inputs() {
      const found = messages.find<{ body: string }>({}, { projection: { body: 1 } })
      const stored = await found.sort({ order: 1 }).allowDiskUse().toArray()
      return stored.map(({ body }) => JSON.parse(body).input)
    },
    toolCalls: () =>
      messages
        .aggregate<StoredCall>([
          { $unwind: '$turns' },
          { $unwind: '$turns.calls' },
          { $replaceRoot: { newRoot: '$turns.calls' } },
        ])
        .toArray(),
    close: () => client.close(),
  }
}
