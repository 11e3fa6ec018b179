import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'

const REQUEST_MS = 30_000
const KNOWN_MS = 20_000
const ASK_AGAIN_MS = 500
/** Statuses of versions before 3.13 for a path that they don't have. */
const NO_SUCH_PATH = [404, 405]
/** More members than that make a queue slower, and bear no more failures that matter here. */
const MEMBERS = 3

const nodes = z.array(z.looseObject({ name: z.string(), running: z.boolean() }))
const queues = z.array(
  z.looseObject({ name: z.string(), type: z.string().optional(), members: z.array(z.string()).optional() }),
)

/** The management API, and who asks. */
export interface ManagementApi {
  /** Without a slash at its end. */
  url: string
  user: string
  password: string
}

/**
 * Gives each quorum queue and stream of a virtual host as many members as the cluster has running nodes, three at
 * most, where the server can (RabbitMQ 3.13 and later, quorum queues), and spreads their leaders over the nodes.
 * Returns those that still have fewer: with the loss of one node they may stand still. Rejects when the API refuses.
 */
export async function spreadQueues(api: ManagementApi, vhost: string): Promise<string[]> {
  const running = nodes
    .parse(await read(api, '/api/nodes'))
    .flatMap((node) => (node.running ? [node.name] : []))
  const path = encodeURIComponent(vhost)
  for (const queue of await lackingMembers(api, path, running)) {
    if (queue.type === 'quorum') await grow(api, path, queue)
  }
  const lacking = await lackingMembers(api, path, running)
  requireOk('/api/rebalance/queues', await ask(api, '/api/rebalance/queues', { method: 'POST' }))
  return lacking.map(
    ({ name, members }) => `${name} has ${members.length} of ${fullMembers(running)} members`,
  )
}

interface LackingQueue {
  name: string
  type: string | undefined
  members: string[]
  /** The running nodes that it has no member on. */
  without: string[]
}

const fullMembers = (running: string[]) => Math.min(MEMBERS, running.length)

async function lackingMembers(api: ManagementApi, vhost: string, running: string[]): Promise<LackingQueue[]> {
  const replicated = await replicatedQueues(api, vhost)
  return replicated.flatMap(({ name, type, members = [] }) => {
    if (members.length >= fullMembers(running)) return []
    return [{ name, type, members, without: running.filter((node) => !members.includes(node)) }]
  })
}

/** Those with members. The API knows the members of a queue some seconds after it was declared. */
async function replicatedQueues(api: ManagementApi, vhost: string) {
  const deadline = performance.now() + KNOWN_MS
  for (;;) {
    const all = queues.parse(await read(api, `/api/queues/${vhost}`))
    const replicated = all.filter(({ type }) => type === 'quorum' || type === 'stream')
    if (replicated.every(({ members }) => members !== undefined) || performance.now() > deadline)
      return replicated
    await pause(ASK_AGAIN_MS)
  }
}

/** https://www.rabbitmq.com/docs/http-api-reference */
async function grow(
  api: ManagementApi,
  vhost: string,
  { name, members, without }: LackingQueue,
): Promise<void> {
  for (const node of without.slice(0, Math.max(0, MEMBERS - members.length))) {
    const path = `/api/queues/quorum/${vhost}/${encodeURIComponent(name)}/replicas/add`
    const response = await ask(api, path, { method: 'POST', body: JSON.stringify({ node }) })
    if (NO_SUCH_PATH.includes(response.status)) return
    requireOk(path, response)
  }
}

async function read(api: ManagementApi, path: string): Promise<unknown> {
  const response = await ask(api, path, { method: 'GET' })
  requireOk(path, response)
  return response.json()
}

function requireOk(path: string, { ok, status }: Response): void {
  if (!ok) throw new Error(`RabbitMQ refused ${path}: HTTP status ${status}`)
}

function ask(
  api: ManagementApi,
  path: string,
  request: { method: string; body?: string },
): Promise<Response> {
  const credentials = Buffer.from(`${api.user}:${api.password}`).toString('base64')
  return fetch(`${api.url}${path}`, {
    ...request,
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(REQUEST_MS),
  })
}
