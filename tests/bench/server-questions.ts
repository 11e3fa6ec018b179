import type { Servers } from '@parley/local/servers/start-servers'
import { Redis } from 'ioredis'
import mongoose from 'mongoose'
import { z } from 'zod'

const counters = z.looseObject({ opcounters: z.record(z.string(), z.number()) })

/** How many operations MongoDB and Redis have carried out since their start. */
export async function countQuestions({ mongo, redis }: Pick<Servers, 'mongo' | 'redis'>) {
  return { MongoDB: await askedOfMongo(mongo.url), Redis: await askedOfRedis(redis.url) }
}

async function askedOfMongo(url: string): Promise<number> {
  const client = await mongoose.mongo.MongoClient.connect(url)
  try {
    const { opcounters } = counters.parse(await client.db('admin').command({ serverStatus: 1 }))
    return Object.values(opcounters).reduce((sum, count) => sum + count, 0)
  } finally {
    await client.close()
  }
}

async function askedOfRedis(url: string): Promise<number> {
  const client = new Redis(url)
  try {
    return Number(/^total_commands_processed:(\d+)/m.exec(await client.info('stats'))?.[1])
  } finally {
    client.disconnect()
  }
}
