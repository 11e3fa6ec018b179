import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ownServers } from '@parley/local/testing/test-servers'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { mongo } from 'mongoose'
import { findOwned } from '../src/processes/owned.ts'
import type { Server } from '../src/servers/server.ts'
import type { Servers } from '../src/servers/start-servers.ts'

const QUEUE = 'survives'

let servers: Servers

beforeAll(async () => {
  servers = await ownServers()
})

afterAll(async () => {
  await servers.stop()
})

// Each waits for another server.
describe('servers that are killed come back with their data and their URL:', () => {
  test.concurrent('MongoDB has all acknowledged writes', async () => {
    await inDatabase((database) =>
      database.collection('kept').insertOne({ stored: true }, { writeConcern: { w: 'majority' } }),
    )
    await killAndRestart(servers.mongo)
    await expect(
      inDatabase((database) => database.collection('kept').countDocuments({ stored: true })),
    ).resolves.toBe(1)
  })

  test.concurrent('RabbitMQ has all confirmed messages', async () => {
    await inChannel(async (channel) => {
      await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    })
    // RabbitMQ 3.10 writes down half a second later that a quorum queue exists; a clean stop does it at once.
    await servers.rabbitmq.restart()
    await inChannel(async (channel) => {
      channel.sendToQueue(QUEUE, Buffer.from('kept'), { persistent: true })
      await channel.waitForConfirms()
    })
    await killAndRestart(servers.rabbitmq)
    const message = await inChannel((channel) => channel.get(QUEUE, { noAck: true }))
    expect(message ? message.content.toString() : undefined).toBe('kept')
  })

  test.concurrent('Redis has all acknowledged commands', async () => {
    await inRedis((client) => client.set('kept', 'yes'))
    await killAndRestart(servers.redis)
    await expect(inRedis((client) => client.get('kept'))).resolves.toBe('yes')
  })
})

/** Kills the process itself, waits for its end, and has it started again: under another id, at the same URL. */
async function killAndRestart(server: Server): Promise<void> {
  const { pid, url } = server
  if (pid === undefined) return server.restart()
  process.kill(pid, 'SIGKILL')
  await server.exited
  expect(findOwned('/').map((owned) => owned.pid)).not.toContain(pid)
  await server.restart()
  expect(server.pid).not.toBe(pid)
  expect(server.url).toBe(url)
}

async function inDatabase<T>(use: (database: mongo.Db) => Promise<T>): Promise<T> {
  const client = await new mongo.MongoClient(servers.mongo.url).connect()
  try {
    return await use(client.db('servers'))
  } finally {
    await client.close()
  }
}

type ConfirmChannel = Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createConfirmChannel']>>

async function inChannel<T>(use: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
  const connection = await connect(`${servers.rabbitmq.url}/t0`)
  try {
    return await use(await connection.createConfirmChannel())
  } finally {
    await connection.close()
  }
}

async function inRedis<T>(use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(servers.redis.url)
  try {
    return await use(client)
  } finally {
    client.disconnect()
  }
}
