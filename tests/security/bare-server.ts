import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'

// What a server that does nothing else takes on this machine at this moment; runs in a thread of its own.
const server = createServer((_req, res) => void res.end('{"status":"live"}'))
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
