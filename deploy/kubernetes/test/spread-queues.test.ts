import { afterEach, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { spreadQueues } from '../../docker/spread-queues.ts'

const NODES = ['rabbit@a', 'rabbit@b', 'rabbit@c']
const ADMIN = { user: 'admin', password: 'of the test' }
const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** The management API of RabbitMQ 4, as far as it is asked here; the server of the tests has no command to add members. */
async function startManagement(options: {
  running: string[]
  members: Record<string, string[]>
  adding?: number
}) {
  const { running, members, adding = 202 } = options
  const calls: string[] = []
  const { url, close } = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const [, name] = /^\/api\/queues\/quorum\/%2F\/([^/]+)\/replicas\/add$/.exec(req.url ?? '') ?? []
      if (name !== undefined) {
        if (adding >= 300) return void res.writeHead(adding).end()
        const { node } = JSON.parse(Buffer.concat(chunks).toString())
        calls.push(`${name} ${node}`)
        members[name]?.push(node)
        return void res.writeHead(adding).end()
      }
      if (req.url === '/api/rebalance/queues') {
        calls.push('rebalance')
        return void res.writeHead(204).end()
      }
      const found = {
        '/api/nodes': NODES.map((node) => ({ name: node, running: running.includes(node) })),
        '/api/queues/%2F': Object.entries(members).map(([queue, of]) => ({
          name: queue,
          type: 'quorum',
          members: of,
        })),
      }[req.url ?? '']
      res.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? {}))
    })
  })
  closing.push(close)
  return { api: { url, ...ADMIN }, calls }
}

test('a queue gets a member on each running node that it has none on, three in all, and the leaders are spread after that', async () => {
  const members = { whole: [...NODES], alone: ['rabbit@b'] }
  const { api, calls } = await startManagement({ running: NODES, members })
  expect(await spreadQueues(api, '/')).toEqual([])
  expect(calls).toEqual(['alone rabbit@a', 'alone rabbit@c', 'rebalance'])
})

test('a queue needs no more members than nodes run', async () => {
  const { api, calls } = await startManagement({ running: ['rabbit@a'], members: { alone: ['rabbit@a'] } })
  expect(await spreadQueues(api, '/')).toEqual([])
  expect(calls).toEqual(['rebalance'])
})

test('a server that can add none is asked once, and the queue is named; one that refuses to add is an error', async () => {
  const options = { running: NODES, members: { alone: ['rabbit@b'] } }
  const earlier = await startManagement({ ...options, adding: 404 })
  expect(await spreadQueues(earlier.api, '/')).toEqual(['alone has 1 of 3 members'])
  const refusing = await startManagement({ ...options, adding: 401 })
  await expect(spreadQueues(refusing.api, '/')).rejects.toThrow('HTTP status 401')
})
