import { createServer } from 'node:http'
import { parseConfig } from '@parley/shared/config'
import { stopWithParent } from '../processes/stop-with-parent.ts'
import { buildModelSimulator } from './app.ts'
import { config } from './config.ts'

// Longer than callers leave a connection idle.
const KEEP_ALIVE_MS = 65_000
const SHUTDOWN_MS = 1_000

const { HOST, PORT } = parseConfig(config, process.env)
const server = createServer(buildModelSimulator())
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(PORT, HOST)

stopWithParent(() => {
  // Delayed responses would delay the end of the process for as long.
  setTimeout(() => process.exit(0), SHUTDOWN_MS).unref()
  server.close(() => process.exit(0))
  server.closeIdleConnections()
})
