import { chmod, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { startNativeServer } from '@parley/local/servers/native-server'
import type { Server } from '@parley/local/servers/server'
import { outputOf } from '../../lab/system/processes.ts'
import type { OutpostParts } from './find-outpost.ts'

/** The account of Debian's package: PostgreSQL does not run as root. */
const ACCOUNT = 'postgres'

/** PostgreSQL with empty data and its defaults, which write through to the disk, on 127.0.0.1. */
export async function startPostgres(options: {
  directory: string
  binaries: OutpostParts['postgres']
  port: number
}): Promise<Server> {
  const { directory, binaries, port } = options
  const data = join(directory, 'data')
  await mkdir(directory, { mode: 0o700 })
  if (isRoot()) {
    await chmod(dirname(directory), 0o711)
    await outputOf('chown', [ACCOUNT, directory], {})
  }
  await outputOf(...asAccount(binaries.initdb, ['-D', data, '-U', ACCOUNT, '--auth=trust']), {})
  const place = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=`]
  const [command, args] = asAccount(binaries.postgres, ['-D', data, ...place])
  const server = await startNativeServer({
    name: 'PostgreSQL',
    url: `postgres://${ACCOUNT}@127.0.0.1:${port}/postgres?sslmode=disable`,
    source: 'PostgreSQL on this machine',
    directory,
    command,
    args,
    env: {},
    logFile: join(directory, 'console.log'),
    isReady: () => isReady(binaries.pg_isready, port),
    // It would wait for its clients to leave after SIGTERM.
    askToStop: async () => {
      if (server.pid !== undefined) process.kill(server.pid, 'SIGINT')
    },
    signal: new AbortController().signal,
  })
  return server
}

const isRoot = () => process.getuid?.() === 0

function asAccount(command: string, args: string[]): [string, string[]] {
  if (!isRoot()) return [command, args]
  return ['setpriv', [`--reuid=${ACCOUNT}`, `--regid=${ACCOUNT}`, '--init-groups', command, ...args]]
}

function isReady(command: string, port: number): Promise<boolean> {
  const asked = outputOf(command, ['-h', '127.0.0.1', '-p', String(port)], {})
  return asked.then(
    () => true,
    () => false,
  )
}
