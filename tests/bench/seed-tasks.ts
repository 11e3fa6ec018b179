import { task } from '@parley/configuration/resources/task'
import { indexesOf, toStored } from '@parley/configuration/store/stored-document'
import mongoose from 'mongoose'

const BATCH = 5_000

export const taskBody = {
  workflow: 7,
  currentStep: 7,
  status: 'active',
  name: 'Onboard 7',
  description: 'Onboard a customer, with their papers and what they asked for',
  extId: 'thread-7',
  context: { steps: { 1: { answer: 'yes', at: '2026-01-01T00:00:00.000Z' } }, plan: 'gold' },
}

/** Values that more than half of the seeded tasks share, so that a filter by them has as many pages as half of them. */
export const COMMON: Record<string, string | number> = {
  workflow: 7,
  currentStep: 7,
  status: 'active',
  name: 'Onboard 7',
  extId: 'thread-7',
  updatedAt: '2026-01-01T00:00:00.000Z',
}

/** Six tasks of ten share a value, for each field other ones. */
const isCommon = (id: number, field: number): boolean => (id * 7 + Math.floor(id / 10) * field) % 10 < 6

/** The seed's task of that id, counted from 1. */
export function taskAt(id: number) {
  const pick = <T>(field: number, common: T, other: T): T => (isCommon(id, field) ? common : other)
  const time = new Date(Date.UTC(2026, 1, 1) + id * 1_000).toISOString()
  const updatedAt = pick(6, String(COMMON.updatedAt), time)
  return {
    _id: id,
    ...taskBody,
    workflow: pick(1, taskBody.workflow, id % 1_000),
    currentStep: pick(2, taskBody.currentStep, id % 50),
    status: pick(3, taskBody.status, id % 2 ? 'pending' : 'failed'),
    name: pick(4, taskBody.name, `Onboard ${id % 10_000}`),
    extId: pick(5, taskBody.extId, `thread-${id}`),
    createdAt: updatedAt,
    updatedAt,
  }
}

/** Makes a workspace's tasks as the service would have stored them, and their indexes. */
export async function seedTasks(options: {
  mongo: { url: string; database: string }
  workspace: number
  count: number
  progress(done: number): void
}): Promise<void> {
  const { mongo, workspace, count, progress } = options
  const client = await mongoose.mongo.MongoClient.connect(mongo.url)
  const tasks = client.db(mongo.database).collection<ReturnType<typeof toStored>>('tasks')
  for (let first = 1; first <= count; first += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, count - first + 1) }, (_, at) => first + at)
    await tasks.insertMany(ids.map(storedTask(workspace)), { ordered: false })
    if ((first - 1) % (BATCH * 20) === 0) progress(first - 1 + ids.length)
  }
  await tasks.createIndexes(indexesOf(task))
  await client.close()
}

function storedTask(workspace: number) {
  const by = { _id: 1, username: 'bench@example.com' }
  return (id: number) => {
    const doc = taskAt(id)
    const written = { as: 'created' as const, at: doc.updatedAt, by }
    return toStored({ definition: task, address: { workspace, id }, version: 1, written, doc })
  }
}
