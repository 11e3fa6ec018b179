import type { mongo } from 'mongoose'

const COUNT = 1_000

/** Makes every query for people take minutes, while `work` runs: each of them is compared with all pairs of some numbers. */
export async function withSlowPeople(database: mongo.Db, work: () => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: COUNT }, (_, number) => ({ number }))
  await database.collection('numbers').insertMany(numbers)
  const joined = (pipeline: object[]) => ({
    $lookup: {
      ...{ from: 'numbers', as: 'found', let: { outer: '$number' } },
      pipeline: [{ $match: { $expr: { $ne: ['$number', '$$outer'] } } }, ...pipeline],
    },
  })
  const none = { $match: { found: [] } }
  const never = { $match: { $expr: { $eq: ['$number', '$$outer'] } } }
  const pipeline = [joined([joined([joined([never]), none]), none])]
  await database.collection('people').rename('quick')
  await database.createCollection('people', { viewOn: 'quick', pipeline })
  try {
    await work()
  } finally {
    await database.collection('people').drop()
    await database.collection('quick').rename('people')
    await database.collection('numbers').drop()
  }
}
