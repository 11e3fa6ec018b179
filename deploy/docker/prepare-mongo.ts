// Makes MongoDB ready for the services: the replica set of one, its primary, and a user for each service. Safe to repeat.
import { setTimeout as pause } from 'node:timers/promises'
import { parseConfig } from '@parley/shared/config'
import { mongo } from 'mongoose'
import { z } from 'zod'

const PRIMARY_MS = 60_000
const CHECK_MS = 200
const AUTHENTICATION_FAILED = 18
const USER_NOT_FOUND = 11
const SERVICES = ['identity', 'webhook', 'configuration', 'dispatcher', 'campaigns'] as const

const password = z.string().min(1)
const environment = parseConfig(
  z.object({
    MONGO_URL: z.string(),
    // host:port of the one member; of no use where there is a replica set.
    MEMBER: z.string().optional(),
    ADMIN_PASSWORD: password,
    IDENTITY_PASSWORD: password,
    WEBHOOK_PASSWORD: password,
    CONFIGURATION_PASSWORD: password,
    DISPATCHER_PASSWORD: password,
    CAMPAIGNS_PASSWORD: password,
  }),
  process.env,
)

await connected({}, async (admin) => {
  await becomePrimary(admin)
  await makeFirstUser(admin)
})
await connected(credentials(), async (admin) => {
  for (const name of SERVICES) await giveUser(admin, name)
})
console.log('MongoDB is ready: a primary, and a user for each service')

async function becomePrimary(admin: mongo.Db): Promise<void> {
  const hello = () => admin.command({ hello: 1 })
  if (!(await hello()).setName) {
    const { MEMBER } = environment
    if (MEMBER === undefined)
      throw new Error('MongoDB is no replica set, and no MEMBER is set to make one of')
    const members = [{ _id: 0, host: MEMBER }]
    await admin.command({ replSetInitiate: { _id: 'rs0', members } })
  }
  const deadline = performance.now() + PRIMARY_MS
  while (!(await hello()).isWritablePrimary) {
    if (performance.now() > deadline) throw new Error('MongoDB did not become primary within 60 s')
    await pause(CHECK_MS)
  }
}

/** MongoDB allows it without a password while there is no user at all, from its own machine. */
async function makeFirstUser(admin: mongo.Db): Promise<void> {
  const exists = await connected(credentials(), async () => true).catch((error: unknown) => {
    if (codeOf(error) === AUTHENTICATION_FAILED) return false
    throw error
  })
  if (exists) return
  await admin
    .command({ createUser: 'admin', pwd: environment.ADMIN_PASSWORD, roles: ['root'] })
    .catch((cause: unknown) => {
      throw new Error('MongoDB has users, and refuses the password of its user admin', { cause })
    })
}

/** Its password and its one right are set anew each time. */
async function giveUser(admin: mongo.Db, name: (typeof SERVICES)[number]): Promise<void> {
  const pwd = environment[`${name.toUpperCase() as Uppercase<typeof name>}_PASSWORD`]
  const user = { pwd, roles: [{ role: 'readWrite', db: name }] }
  await admin.command({ updateUser: name, ...user }).catch((error: unknown) => {
    if (codeOf(error) !== USER_NOT_FOUND) throw error
    return admin.command({ createUser: name, ...user })
  })
}

function credentials(): mongo.MongoClientOptions {
  return { auth: { username: 'admin', password: environment.ADMIN_PASSWORD } }
}

async function connected<T>(
  options: mongo.MongoClientOptions,
  work: (admin: mongo.Db) => Promise<T>,
): Promise<T> {
  const client = new mongo.MongoClient(environment.MONGO_URL, options)
  try {
    await client.connect()
    return await work(client.db('admin'))
  } finally {
    await client.close()
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof mongo.MongoServerError ? error.code : undefined
}
