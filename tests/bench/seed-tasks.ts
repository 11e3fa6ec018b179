import { task } from '@parley/configuration/resources/task'
import { toStored } from '@parley/configuration/store/stored-document'
import mongoose from 'mongoose'

const BATCH = 1_000
const STATUSES = ['active', 'pending', 'failed']

export const taskBody = (id: number) => ({
  workflow: id % 1_000,
  currentStep: id % 50,
  status: STATUSES[id % 3],
  name: `Onboard ${id % 10_000}`,
  description: 'Onboard a customer, with their papers and what they asked for',
  extId: `thread-${id}`,
  context: { steps: { 1: { answer: 'yes', at: '2026-01-01T00:00:00.000Z' } }, plan: 'gold' },
})

/** Puts `count` tasks into a workspace's collection as the service would have stored them, and tells nobody. */
export async function seedTasks(options: {
  mongo: { url: string; database: string }
  workspace: number
  count: number
  progress(done: number): void
}): Promise<void> {
  const { mongo, workspace, count } = options
  const client = await mongoose.mongo.MongoClient.connect(mongo.url)
  await holdRelays(client.db(mongo.database))
  const tasks = client.db(mongo.database).collection<ReturnType<typeof toStored>>('tasks')
  const by = { _id: 1, username: 'bench@example.com' }
  for (let first = 1; first <= count; first += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, count - first + 1) }, (_, at) => first + at)
    await tasks.insertMany(
      ids.map((id) => {
        const at = new Date(Date.UTC(2026, 0, 1) + id * 1_000).toISOString()
        return toStored({
          definition: task,
          address: { workspace, id },
          version: 1,
          written: { as: 'created', at, by },
          doc: { _id: id, ...taskBody(id), createdAt: at, updatedAt: at },
        })
      }),
      { ordered: false },
    )
    if ((first - 1) % (BATCH * 100) === 0) options.progress(first - 1 + ids.length)
  }
  await client.close()
}

/** Takes the leases of history and events, so that they are not busy with the seed while lists are measured. */
async function holdRelays(db: mongoose.mongo.Db): Promise<void> {
  const expiresAt = new Date(Date.now() + 86_400_000)
  await db.collection('relays').updateMany({}, { $set: { owner: 'bench', expiresAt } })
}
